// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_ENDPOINT_CUH
#define CHEVRON_TRANSPORT_CUDA_ENDPOINT_CUH

//! @file
//! One rank's end of a group of devices, on the host's side: its device, what its kernels are told, its windows, and which
//! kernels are loaded. The transports differ only in how memory gets mapped.

#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/options.hpp>
#include <chevron/sync/failure.hpp>
#include <chevron/sync/flag.hpp>
#include <chevron/transport/cuda_residency.cuh>
#include <chevron/transport/cuda_segment.hpp>

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace chevron {

//! @brief Makes a zeroed segment of this rank's ready: no word is written, the bare packets are empty, and the steps begin
//! where they shall.
[[nodiscard]] inline Result<void> prepare_segment(std::byte* segment, CudaSegmentLayout const& layout,
                                                  int ranks, Epoch first, cudaStream_t stream,
                                                  char const* during) {
  std::vector<std::uint64_t> const steps(static_cast<std::size_t>(layout.lanes()),
                                         CudaSteps{first - 1, 0}.word());
  cudaError_t status = cudaMemcpyAsync(segment + CudaSegmentLayout::steps_at(0), steps.data(),
                                       steps.size() * sizeof(steps[0]), cudaMemcpyHostToDevice, stream);
  std::size_t const inboxes = static_cast<std::size_t>(layout.lanes()) * static_cast<std::size_t>(ranks);
  if (status == cudaSuccess) {
    status = cudaMemset2DAsync(segment + layout.inbox_at(0, 0), layout.inbox_bytes(),
                               unwritten_byte(first - 1), layout.packets_at(2), inboxes, stream);
  }
  if (status == cudaSuccess) {
    std::size_t const width = layout.bare_packets_at(2) - layout.bare_packets_at(0);
    status = cudaMemset2DAsync(segment + layout.inbox_at(0, 0) + layout.bare_packets_at(0),
                               layout.inbox_bytes(), 0xff, width, inboxes, stream);
  }
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  return cuda_result(status, during);
}

//! @brief The state that every device transport shares, for one rank.
template <int NRanks>
class CudaEndpoint {
 public:
  using View = CudaView<NRanks>;

  CudaEndpoint(int rank, int device, CudaOptions const& options, Residency residency)
      : rank_(rank), device_(device), options_(options), residency_(std::move(residency)) {
    view_.rank = rank;
    view_.deadline_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(options.deadline).count());
    view_.layout = CudaSegmentLayout(NRanks, residency_.most(), options.packet_bytes, options.chunk_bytes);
    int major = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    has_dependent_launch_ = major >= 9;
  }
  CudaEndpoint(CudaEndpoint const&) = delete;
  CudaEndpoint& operator=(CudaEndpoint const&) = delete;
  virtual ~CudaEndpoint() {
    if (order_ != nullptr) (void)cudaEventDestroy(order_);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] static constexpr int ranks() { return NRanks; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] CudaOptions const& options() const { return options_; }
  [[nodiscard]] View const& view() const { return view_; }
  //! The least compute capability of the group's devices, times ten: the same on all ranks.
  [[nodiscard]] int architecture() const { return residency_.architecture; }
  [[nodiscard]] bool has_dependent_launch() const { return has_dependent_launch_; }

  //! Memory of this rank that all ranks can reach, at least `size_bytes` (which may differ by rank). Returns the window's
  //! number, the same on every rank. Collective.
  virtual Result<std::uint32_t> allocate(std::size_t size_bytes) = 0;
  //! The same for memory that is there already.
  virtual Result<std::uint32_t> register_window(void* data, std::size_t size_bytes) = 0;
  //! This rank is done with a window.
  virtual void release(std::uint32_t window) = 0;
  //! This rank's part of one of its windows.
  [[nodiscard]] virtual std::byte* window_data(std::uint32_t number) const = 0;
  //! Where a buffer of this rank lies; in no window where it is not known to lie in one.
  [[nodiscard]] virtual Location locate(void const* buffer, std::size_t size_bytes) const = 0;
  //! Whether a rank's process is known to have ended.
  [[nodiscard]] virtual bool has_ended(int /*rank*/) const { return false; }

  //! The failure that ended this communicator, if one did.
  [[nodiscard]] std::optional<Failure> failure() const {
    std::uint64_t const word = HostAccess::load_acquire(*status_[rank_]);
    if (word == 0) return std::nullopt;
    Failure failure = Failure::of(word);
    // A kernel can't tell why a peer does not come.
    if (failure.code == Errc::timeout && has_ended(failure.rank)) failure.code = Errc::peer_died;
    return failure;
  }

  //! The same as a result; `during` says what was attempted.
  [[nodiscard]] Result<void> status(char const* during) const {
    if (auto const ended = failure()) return ended->error(during);
    return {};
  }

  //! Tells every rank that the communicator is over; kernels that wait see it.
  Failure fail(Failure const& failure) {
    std::uint64_t const mine = failure.word();
    std::uint64_t const stands =
        HostAccess::replace(*status_[0], 0, mine) ? mine : HostAccess::load_acquire(*status_[0]);
    for (int peer = 1; peer < NRanks; ++peer) HostAccess::replace(*status_[peer], 0, stands);
    return Failure::of(stands);
  }

  //! Ends the communicator because this rank wants so.
  void abort() {
    fail({.code = Errc::aborted,
          .rank = static_cast<std::uint8_t>(rank_),
          .reporter = static_cast<std::uint8_t>(rank_)});
  }

  //! Contract C6: one caller at a time. False when another thread is inside a call of this communicator.
  [[nodiscard]] bool enter() { return !busy_.exchange(true, std::memory_order_acquire); }
  void leave() { busy_.store(false, std::memory_order_release); }

  //! Contract C6: the calls of a communicator run one after the other, also when they are made on several streams. What is
  //! captured runs when its graph is launched: then the order is the caller's.
  [[nodiscard]] Result<void> follow(cudaStream_t stream, char const* during) {
    if (used_ && stream == last_stream_) return {};
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    if (auto known = cuda_result(cudaStreamIsCapturing(stream, &capturing), during, rank_); !known)
      return known;
    if (capturing != cudaStreamCaptureStatusNone) return {};
    if (used_) {
      if (order_ == nullptr) {
        if (auto made = cuda_result(cudaEventCreateWithFlags(&order_, cudaEventDisableTiming), during, rank_);
            !made) {
          return made;
        }
      }
      if (auto known = cuda_result(cudaStreamIsCapturing(last_stream_, &capturing), during, rank_); !known)
        return known;
      if (capturing == cudaStreamCaptureStatusNone) {
        if (auto done = cuda_result(cudaEventRecord(order_, last_stream_), during, rank_); !done) return done;
        if (auto done = cuda_result(cudaStreamWaitEvent(stream, order_, 0), during, rank_); !done)
          return done;
      }
    }
    used_ = true;
    last_stream_ = stream;
    return {};
  }

  //! Loads a kernel: done for all that a communicator may launch before a peer can spin, since loading waits for kernels
  //! that run.
  [[nodiscard]] Result<void> load(std::span<void const* const> kernels, char const* during) {
    DeviceGuard const guard(device_);
    for (void const* const kernel : kernels) {
      cudaFuncAttributes attributes{};
      if (auto known = cuda_result(cudaFuncGetAttributes(&attributes, kernel), during, rank_); !known)
        return known;
      loaded_.push_back(kernel);
    }
    return {};
  }
  //! The lanes that a kernel may have, 0 for one that is not loaded.
  [[nodiscard]] int lanes_of(void const* kernel) const {
    for (std::size_t i = 0; i < loaded_.size(); ++i) {
      if (loaded_[i] == kernel) return residency_.lanes[i];
    }
    return 0;
  }
  [[nodiscard]] int early_lanes() const { return residency_.early_lanes; }

 protected:
  //! Where the status words lie, a line for each rank: as the host addresses them, and as the device does.
  void put_status_words(std::byte* host, std::byte* device) {
    for (int peer = 0; peer < NRanks; ++peer) {
      std::size_t const at = static_cast<std::size_t>(peer) * CudaSegmentLayout::line;
      status_[peer] = reinterpret_cast<std::uint64_t*>(host + at);
      view_.status[peer] = reinterpret_cast<std::uint64_t*>(device + at);
    }
  }

  View view_{};

 private:
  PerRank<std::uint64_t*, NRanks> status_{};
  int rank_;
  int device_;
  CudaOptions options_;
  Residency residency_;
  bool has_dependent_launch_ = false;
  std::vector<void const*> loaded_{};  //!< in the order of residency_.lanes
  std::atomic<bool> busy_{false};
  bool used_ = false;
  cudaStream_t last_stream_ = nullptr;
  cudaEvent_t order_ = nullptr;
};

}  // namespace chevron

#endif

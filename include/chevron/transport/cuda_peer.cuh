// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_PEER_CUH
#define CHEVRON_TRANSPORT_CUDA_PEER_CUH

//! @file
//! Ranks that are devices of one process. A device may repeat: then several ranks share it.

#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/options.hpp>
#include <chevron/transport/concept.hpp>
#include <chevron/transport/cuda_endpoint.cuh>
#include <chevron/transport/cuda_kernels.cuh>
#include <chevron/transport/cuda_lane.cuh>
#include <chevron/transport/cuda_residency.cuh>

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chevron {

namespace detail {

//! @brief What the ranks of a process share.
template <int NRanks>
struct PeerGroup {
  std::array<DeviceMemory, NRanks> segments{};
  PinnedMemory status{};
};

//! @brief The end of a rank whose peers are in this process: all device memory has one address on all ranks.
template <int NRanks>
class PeerEndpoint final : public CudaEndpoint<NRanks> {
  using Base = CudaEndpoint<NRanks>;

 public:
  PeerEndpoint(int rank, int device, CudaOptions const& options, Residency residency, bool one_device,
               std::shared_ptr<PeerGroup<NRanks>> group)
      : Base(rank, device, options, std::move(residency)), one_device_(one_device), group_(std::move(group)) {
    this->put_status_words(group_->status.data(), group_->status.data());
    for (int peer = 0; peer < NRanks; ++peer) {
      this->view_.segments[peer] = group_->segments[static_cast<std::size_t>(peer)].data();
    }
  }

  Result<std::uint32_t> allocate(std::size_t size_bytes) override {
    auto memory = DeviceMemory::zeroed(this->device(), size_bytes, "allocating a window");
    if (!memory) return memory.error();
    std::byte* const data = memory->data();
    return add({data, size_bytes, std::move(*memory)});
  }
  Result<std::uint32_t> register_window(void* data, std::size_t size_bytes) override {
    return add({static_cast<std::byte*>(data), size_bytes, {}});
  }
  void release(std::uint32_t window) override { windows_[window] = {}; }
  [[nodiscard]] std::byte* window_data(std::uint32_t number) const override { return windows_[number].data; }

  //! An address is all that peers need. On one device every rank reaches whatever it names; elsewhere only windows are
  //! known to be in reach.
  [[nodiscard]] Location locate(void const* buffer, std::size_t size_bytes) const override {
    Location const here{0, reinterpret_cast<std::uintptr_t>(buffer)};
    if (one_device_ || size_bytes == 0) return here;
    auto const address = static_cast<std::byte const*>(buffer);
    for (Range const& window : windows_) {
      if (window.data == nullptr || address < window.data) continue;
      auto const offset = static_cast<std::size_t>(address - window.data);
      if (offset <= window.size_bytes && size_bytes <= window.size_bytes - offset) return here;
    }
    return {};
  }

 private:
  struct Range {
    std::byte* data = nullptr;
    std::size_t size_bytes = 0;
    DeviceMemory memory{};
  };

  std::uint32_t add(Range range) {
    windows_.push_back(std::move(range));
    return static_cast<std::uint32_t>(windows_.size() - 1);
  }

  bool one_device_;
  std::shared_ptr<PeerGroup<NRanks>> group_;
  std::vector<Range> windows_{};
};

//! @brief Writes where only a peer can read it back: the proof that a device really reaches another one's memory.
static __global__ void write_through(std::uint64_t* to, std::uint64_t value) {
  DeviceAccess<cuda::thread_scope_system>::store_release(*to, value);
}

}  // namespace detail

//! @brief A group of `NRanks` devices of this process.
//! @tparam NRanks  1 to 32
//! @tparam Scope   thread_scope_system; or thread_scope_device, which is faster, for ranks that are all on one device
template <int NRanks, cuda::thread_scope Scope = cuda::thread_scope_system>
class CudaPeer {
  static_assert(RankCountInRange<NRanks>,
                "chevron: a rank count must be 1 to 32; got another for CudaPeer; see chevron/core/rank.hpp");

 public:
  using Endpoint = CudaEndpoint<NRanks>;
  static constexpr bool every_pointer_is_in_a_window = Scope == cuda::thread_scope_device;
  template <int PacksInFlight>
  using DeviceLane =
      CudaLane<NRanks, Scope,
               every_pointer_is_in_a_window ? WindowReach::everywhere : WindowReach::by_address,
               PacksInFlight>;

  static constexpr int ranks = NRanks;
  static constexpr char const* name = "cuda_peer";
  static constexpr MemorySpace memory_space = MemorySpace::device;
  static constexpr Requirements offers = DeviceLane<1>::offers;

  //! @brief Makes the communicators of all ranks: communicator r is for calls on device `devices[r]`.
  //! @tparam Choices  the selectors and algorithms that calls will use: their kernels are loaded now
  //! @param devices   CUDA device numbers, one per rank; they may repeat
  //! Memory: device memory for mailboxes on every device: lanes * NRanks * (6 * packet_bytes + 4 * chunk_bytes) per rank
  //! Sync:   none; each rank's calls may then be made by one thread or by several
  //! Errors: bad_argument, no_device, no_peer_access (naming the rank that can't be reached), not_resident,
  //!         not_compiled_for_device, no_memory, cuda
  template <class... Choices>
  [[nodiscard]] static Result<std::vector<Communicator<CudaPeer>>> create(
      std::array<int, NRanks> const& devices, CudaOptions const& options = {}) {
    static_assert(sizeof...(Choices) > 0,
                  "chevron: a communicator must be told which selectors and algorithms its calls will use; "
                  "got none; see "
                  "chevron/transport/cuda_peer.cuh");
    constexpr char const* during = "making communicators";
    if (auto bad = check(options)) return *bad;
    if (auto found = check_devices(devices); !found) return found.error();
    std::vector<void const*> kernels;
    (detail::add_kernels<Choices, CudaPeer>(kernels), ...);

    std::optional<Residency> residency;
    for (int const device : devices) {
      auto const here = static_cast<int>(std::count(devices.begin(), devices.end(), device));
      if (here > hardware_queues()) {
        return Error{.code = Errc::not_resident,
                     .during = during,
                     .detail = std::to_string(here) + " ranks share device " + std::to_string(device) +
                               ": CUDA_DEVICE_MAX_CONNECTIONS must be at least that when the program starts"};
      }
      auto fit = residency_on(device, here, kernels, options, during);
      if (!fit) return fit.error();
      if (residency) fit->limit_to(*residency);
      residency = std::move(*fit);
    }

    if (auto bad = detail::not_compiled_for<CudaPeer, Choices...>(residency->architecture, during))
      return *bad;

    auto group = std::make_shared<detail::PeerGroup<NRanks>>();
    auto status = PinnedMemory::zeroed(NRanks * std::size_t{128}, during);
    if (!status) return status.error();
    group->status = std::move(*status);
    CudaSegmentLayout const layout(NRanks, residency->most(), options.packet_bytes, options.chunk_bytes);
    if (layout.segment_bytes() > CudaSegmentLayout::most_bytes) {
      return Error{
          .code = Errc::bad_argument, .during = during, .detail = "the mailboxes would exceed 4 GiB"};
    }
    for (int rank = 0; rank < NRanks; ++rank) {
      auto const r = static_cast<std::size_t>(rank);
      auto segment = DeviceMemory::zeroed(devices[r], layout.segment_bytes(), during);
      if (!segment) return segment.error();
      group->segments[r] = std::move(*segment);
      DeviceGuard const guard(devices[r]);
      if (auto ready = prepare_segment(group->segments[r].data(), layout, NRanks, options.first_epoch,
                                       cudaStreamPerThread, during);
          !ready) {
        return ready.error();
      }
    }
    if (auto reached = prove_access(devices, *group, during); !reached) return reached.error();

    std::vector<Communicator<CudaPeer>> all;
    bool const one_device = std::count(devices.begin(), devices.end(), devices[0]) == NRanks;
    for (int rank = 0; rank < NRanks; ++rank) {
      auto endpoint = std::make_shared<detail::PeerEndpoint<NRanks>>(
          rank, devices[static_cast<std::size_t>(rank)], options, *residency, one_device, group);
      if (auto loaded = endpoint->load(kernels, during); !loaded) return loaded.error();
      all.emplace_back(std::move(endpoint));
    }
    return all;
  }

 private:
  [[nodiscard]] static Result<void> check_devices(std::array<int, NRanks> const& devices) {
    int count = 0;
    if (auto counted = cuda_result(cudaGetDeviceCount(&count), "looking for devices"); !counted)
      return counted;
    for (int rank = 0; rank < NRanks; ++rank) {
      int const device = devices[static_cast<std::size_t>(rank)];
      auto const error = [&](Errc code, char const* detail) {
        return Error{.code = code,
                     .rank = static_cast<std::int16_t>(rank),
                     .during = "making communicators",
                     .detail = detail};
      };
      if (device < 0 || device >= count) return error(Errc::no_device, "");
      if (Scope == cuda::thread_scope_device && device != devices[0]) {
        return error(Errc::bad_argument, "thread_scope_device needs all ranks on one device");
      }
    }
    for (int rank = 0; rank < NRanks; ++rank) {
      for (int const other : devices) {
        if (auto enabled = enable_access(devices[static_cast<std::size_t>(rank)], other); !enabled) {
          return Error{.code = Errc::no_peer_access,
                       .rank = static_cast<std::int16_t>(rank),
                       .during = "making communicators"};
        }
      }
    }
    return {};
  }

  [[nodiscard]] static Result<void> enable_access(int from, int to) {
    if (from == to) return {};
    DeviceGuard const guard(from);
    cudaError_t const enabled = cudaDeviceEnablePeerAccess(to, 0);
    if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
      (void)cudaGetLastError();
      return {};
    }
    return cuda_result(enabled, "enabling peer access");
  }

  //! Each rank's device writes into each other rank's segment, and the owner's device is asked what came.
  [[nodiscard]] static Result<void> prove_access(std::array<int, NRanks> const& devices,
                                                 detail::PeerGroup<NRanks> const& group, char const* during) {
    for (std::size_t from = 0; from < NRanks; ++from) {
      for (std::size_t to = 0; to < NRanks; ++to) {
        if (devices[from] == devices[to]) continue;
        auto const word = reinterpret_cast<std::uint64_t*>(group.segments[to].data());
        std::uint64_t const sent = 0x5eed0000 + from * NRanks + to;
        std::uint64_t received = 0;
        {
          DeviceGuard const guard(devices[from]);
          detail::write_through<<<1, 1>>>(word, sent);
          if (auto ran = cuda_result(cudaDeviceSynchronize(), during, static_cast<int>(from)); !ran)
            return ran;
        }
        DeviceGuard const guard(devices[to]);
        if (auto read =
                cuda_result(cudaMemcpy(&received, word, sizeof(received), cudaMemcpyDeviceToHost), during);
            !read) {
          return read;
        }
        if (received != sent) {
          return Error{.code = Errc::no_peer_access,
                       .rank = static_cast<std::int16_t>(to),
                       .reporter = static_cast<std::int16_t>(from),
                       .during = during,
                       .detail = "what was written did not arrive"};
        }
        if (auto cleared = cuda_result(cudaMemset(word, 0, sizeof(received)), during); !cleared)
          return cleared;
      }
    }
    return {};
  }
};

}  // namespace chevron

#endif

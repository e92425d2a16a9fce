// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_IPC_ENDPOINT_CUH
#define CHEVRON_TRANSPORT_CUDA_IPC_ENDPOINT_CUH

//! @file
//! The end of a rank on a device whose peers are other processes: it maps everybody's segments and windows.

#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/processes.hpp>
#include <chevron/host/cuda_driver.cuh>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/cuda_shared_host_memory.cuh>
#include <chevron/host/cuda_sharing.cuh>
#include <chevron/host/memory.hpp>
#include <chevron/host/options.hpp>
#include <chevron/sync/failure.hpp>
#include <chevron/transport/cuda_access.cuh>
#include <chevron/transport/cuda_endpoint.cuh>
#include <chevron/transport/cuda_residency.cuh>
#include <chevron/transport/cuda_segment.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace chevron::detail {

//! What a rank writes into a peer's segment to prove that it reaches it.
[[nodiscard]] CHEVRON_HD constexpr std::uint64_t proof_of(int writer, int owner) {
  return std::uint64_t{0x5eed'0000} << 32 | static_cast<std::uint64_t>(writer) << 8 |
         static_cast<std::uint64_t>(owner);
}
template <int NRanks>
__global__ void write_proofs(__grid_constant__ CudaView<NRanks> const view) {
  int const owner = static_cast<int>(threadIdx.x);
  std::byte* const to = view.segments[owner] + view.layout.inbox_at(0, view.rank);
  DeviceAccess<cuda::thread_scope_system>::store_release(*reinterpret_cast<std::uint64_t*>(to),
                                                         proof_of(view.rank, owner));
}

//! @brief Whether all ranks have succeeded; on a rank that has not, its error in full.
[[nodiscard]] inline Result<void> agree_in_full(Processes& processes, std::optional<Error> mine, int rank,
                                                char const* during) {
  auto agreed = processes.agree(mine, during);
  if (agreed || !mine || agreed.error().rank != rank) return agreed;
  mine->rank = static_cast<std::int16_t>(rank);
  mine->reporter = mine->rank;
  return *mine;
}

template <class Value>
[[nodiscard]] std::optional<Error> error_in(Result<Value> const& result) {
  if (result) return std::nullopt;
  return result.error();
}

//! @brief The end of a rank whose peers are processes.
//!
//! Windows keep their numbers for good, and the table of them has its full size from the start: a captured graph knows where
//! the table lies and names windows by number, so it finds windows that were made later, and finds nothing where one has gone.
template <int NRanks>
class IpcEndpoint final : public CudaEndpoint<NRanks> {
  using Base = CudaEndpoint<NRanks>;
  using Window = CudaWindow<NRanks>;

 public:
  static constexpr std::uint32_t most_windows = 4096;

  IpcEndpoint(int rank, int device, CudaOptions const& options, Residency residency, Processes processes,
              CudaDriver const& driver)
      : Base(rank, device, options, std::move(residency)),
        processes_(std::move(processes)),
        driver_(driver) {}
  ~IpcEndpoint() override {
    DeviceGuard const guard(this->device());
    OutsideCapture const outside;
    (void)
        cudaDeviceSynchronize();  // as cudaFree does: kernels of this rank may still use what is unmapped now
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
    (void)cudaGetLastError();
  }

  //! Collective: makes this rank's segment and the table, maps everybody's segments, and tries them.
  [[nodiscard]] Result<void> set_up() {
    constexpr char const* during = "joining";
    DeviceGuard const guard(this->device());
    OutsideCapture const outside;
    if (auto shared = share_status_words(during); !shared) return shared;
    std::size_t const size_bytes = this->view_.layout.segment_bytes();
    if (size_bytes > CudaSegmentLayout::most_bytes) {  // on all ranks alike
      return Error{.code = Errc::bad_argument,
                   .rank = static_cast<std::int16_t>(this->rank()),
                   .during = during,
                   .detail = "the mailboxes would exceed 4 GiB"};
    }
    auto made = make_memory(size_bytes, during);
    auto mine = made ? CudaExport::of(driver_, segment_.data(), size_bytes, during)
                     : Result<CudaExport>(made.error());
    auto shared = share(mine, segment_.data(), during);
    if (!shared) return shared.error();
    this->view_.segments = shared->window.base;
    peer_segments_ = std::move(shared->imports);
    return prove_access(during);
  }

  //! Collective: ends the joining.
  [[nodiscard]] Result<void> finish_joining(std::optional<Error> const& mine) {
    auto agreed = agree(mine, "joining");
    if (!agreed && !mine) tell_who_went_on(agreed.error());
    return agreed;
  }

  Result<std::uint32_t> allocate(std::size_t size_bytes) override {
    constexpr char const* during = "allocating a window";
    DeviceGuard const guard(this->device());
    OutsideCapture const outside;
    auto memory = DeviceMemory::zeroed(this->device(), whole_blocks(size_bytes), during);
    if (!memory) return add(Result<CudaExport>(memory.error()), {}, during);
    std::byte* const data = memory->data();
    return add(CudaExport::of(driver_, data, size_bytes, during),
               {.data = data, .memory = std::move(*memory)}, during);
  }

  Result<std::uint32_t> register_window(void* data, std::size_t size_bytes) override {
    constexpr char const* during = "registering a window";
    DeviceGuard const guard(this->device());
    OutsideCapture const outside;
    auto mine = CudaExport::of(driver_, data, size_bytes, during);
    Range range{.data = static_cast<std::byte*>(data)};
    if (mine) range.parts = mine->parts();
    return add(mine, std::move(range), during);
  }

  void release(std::uint32_t number) override {
    DeviceGuard const guard(this->device());
    OutsideCapture const outside;
    (void)write_entry(number, {}, "releasing a window");
    windows_[number] = {};
    in_use_.erase(std::remove(in_use_.begin(), in_use_.end(), number), in_use_.end());
  }

  [[nodiscard]] std::byte* window_data(std::uint32_t number) const override { return windows_[number].data; }

  //! A range is only taken for a window's while it is the memory that was registered: an address may have been freed and
  //! given out again.
  [[nodiscard]] Location locate(void const* buffer, std::size_t size_bytes) const override {
    if (size_bytes == 0) return {0, 0};  // nothing, wherever it is, needs no window
    auto const address = static_cast<std::byte const*>(buffer);
    for (std::uint32_t const number : in_use_) {
      Range const& window = windows_[number];
      if (address < window.data) continue;
      auto const offset = static_cast<std::size_t>(address - window.data);
      if (offset > window.size_bytes || size_bytes > window.size_bytes - offset) continue;
      auto const is_same = [&](CudaExport::Part const& part) {
        return is_what_it_was(driver_, part, buffer, size_bytes);
      };
      if (std::all_of(window.parts.begin(), window.parts.end(), is_same)) return {number, offset};
    }
    return {};
  }

  [[nodiscard]] bool has_ended(int rank) const override {
    return rank < NRanks && rank != this->rank() && processes_.has_ended(rank);
  }

 private:
  //! This rank's part of a window, and where its peers' parts are mapped.
  struct Range {
    std::byte* data = nullptr;
    std::size_t size_bytes = 0;
    DeviceMemory memory{};                  //!< where the window owns it
    std::vector<CudaExport::Part> parts{};  //!< where it does not
    std::vector<CudaImport> peers{};
  };
  struct Shared {
    Window window{};
    std::vector<CudaImport> imports{};
  };

  //! Who gets a handle can map the whole block that an allocation lies in: so nothing else shall lie there.
  [[nodiscard]] static constexpr std::size_t whole_blocks(std::size_t size_bytes) {
    constexpr std::size_t block = std::size_t{2} << 20;
    return (size_bytes + block - 1) / block * block;
  }

  [[nodiscard]] Result<void> agree(std::optional<Error> const& mine, char const* during) {
    return agree_in_full(processes_, mine, this->rank(), during);
  }

  [[nodiscard]] Result<void> share_status_words(char const* during) {
    std::size_t const size_bytes = NRanks * CudaSegmentLayout::line;
    auto made = shared_memory(size_bytes);
    if (auto agreed = agree(error_in(made), during); !agreed) return agreed;
    own_file_ = std::move(*made);
    // All use rank 0's.
    auto files = processes_.all_gather(std::uint64_t{size_bytes}, own_file_.get(), during);
    if (!files) return files.error();
    auto registered = RegisteredMemory::of_file(files->descriptors[0], size_bytes, during);
    if (registered) {
      status_words_ = std::move(*registered);
      this->put_status_words(status_words_.data(), status_words_.device_data());
    }
    return agree(error_in(registered), during);
  }

  [[nodiscard]] Result<void> make_memory(std::size_t segment_bytes, char const* during) {
    auto made = cuda_result(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), during);
    if (!made) return made;
    auto segment = DeviceMemory::zeroed(this->device(), whole_blocks(segment_bytes), during);
    if (!segment) return segment.error();
    auto table = DeviceMemory::zeroed(this->device(), most_windows * sizeof(Window), during);
    if (!table) return table.error();
    segment_ = std::move(*segment);
    table_ = std::move(*table);
    this->view_.windows = reinterpret_cast<Window const*>(table_.data());
    this->view_.window_count = most_windows;
    return prepare_segment(segment_.data(), this->view_.layout, NRanks, this->options().first_epoch, stream_,
                           during);
  }

  //! Copies to the device, beside whatever its streams do.
  [[nodiscard]] Result<void> copy_in(std::byte* to, void const* from, std::size_t size_bytes,
                                     char const* during) const {
    cudaError_t status = cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyHostToDevice, stream_);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream_);
    return cuda_result(status, during);
  }
  [[nodiscard]] Result<void> write_entry(std::uint32_t number, Window const& entry,
                                         char const* during) const {
    return copy_in(table_.data() + number * sizeof(Window), &entry, sizeof(Window), during);
  }

  //! Collective: maps each rank's range on all. It is there when this succeeds.
  [[nodiscard]] Result<Shared> share(Result<CudaExport> const& mine, std::byte* data, char const* during) {
    if (auto agreed = agree(error_in(mine), during); !agreed) return agreed.error();
    auto const offers = processes_.all_gather(mine->offer(), -1, during);
    if (!offers) return offers.error();
    Shared shared;
    std::optional<Error> failed;
    std::uint32_t exchanges = 0;
    for (int peer = 0; peer < NRanks; ++peer) {
      CudaOffer const& offer = offers->messages[peer];
      exchanges = std::max(exchanges, offer.descriptors);
      shared.window.size_bytes[peer] = offer.size_bytes;
      if (failed || peer == this->rank()) {
        shared.imports.emplace_back();
        continue;
      }
      auto import = CudaImport::of(driver_, offer, this->device(), during);
      if (!import) failed = unreachable(import.error(), peer);
      shared.imports.push_back(import ? std::move(*import) : CudaImport());
    }
    for (std::uint32_t i = 0; i < exchanges; ++i) {
      auto done = exchange(i, *mine, offers->messages, shared, failed, during);
      if (!done) return done.error();
    }
    for (int peer = 0; peer < NRanks; ++peer) {
      shared.window.base[peer] =
          peer == this->rank() ? data : shared.imports[static_cast<std::size_t>(peer)].data();
    }
    if (auto agreed = agree(failed, during); !agreed) return agreed.error();
    return shared;
  }

  //! Collective: the ranks that still have descriptors to give give the next one. What fails is told when all are through.
  [[nodiscard]] Result<void> exchange(std::uint32_t number, CudaExport const& mine,
                                      PerRank<CudaOffer, max_ranks> const& offers, Shared& shared,
                                      std::optional<Error>& failed, char const* during) {
    // Every rank sends a descriptor, so that they can be told apart by their order.
    OwnedFd descriptor;
    std::uint64_t size_bytes = 0;  // of what the descriptor stands for; 0 where this rank gives none
    if (number < mine.offer().descriptors && !failed) {
      auto exported = mine.descriptor(driver_, number, during);
      if (!exported) {
        failed = exported.error();
      } else {
        descriptor = std::move(*exported);
        size_bytes = mine.parts()[number].size_bytes;
      }
    }
    auto all = processes_.all_gather(size_bytes, (descriptor ? descriptor : own_file_).get(), during);
    if (!all) return all.error();
    for (int peer = 0; peer < NRanks && !failed; ++peer) {
      auto const index = static_cast<std::size_t>(peer);
      std::uint64_t const theirs = all->messages[peer];
      if (peer == this->rank() || number >= offers[peer].descriptors || theirs == 0) continue;
      auto added = shared.imports[index].add(all->descriptors[index], theirs, during);
      if (!added) failed = unreachable(added.error(), peer);
    }
    return {};
  }

  [[nodiscard]] static Error unreachable(Error error, int peer) {
    if (error.code == Errc::cuda) {
      error.code = Errc::no_peer_access;
      error.native = 0;  // the detail has it in words
    }
    error.detail += "; the memory of rank " + std::to_string(peer) + " can't be mapped";
    return error;
  }

  //! Collective: each rank's device writes into each segment, and each rank looks into its own for what came.
  [[nodiscard]] Result<void> prove_access(char const* during) {
    write_proofs<NRanks><<<1, NRanks, 0, stream_>>>(this->view_);
    cudaError_t status = cudaGetLastError();
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream_);
    if (auto agreed = agree(error_in(cuda_result(status, during)), during); !agreed) return agreed;
    std::optional<Error> failed;
    for (int writer = 0; writer < NRanks && !failed; ++writer) {
      std::byte* const word = segment_.data() + this->view_.layout.inbox_at(0, writer);
      std::uint64_t received = 0;
      status = cudaMemcpyAsync(&received, word, sizeof(received), cudaMemcpyDeviceToHost, stream_);
      // Zero would pass for a word of epoch 0.
      int const nothing = unwritten_byte(this->options().first_epoch - 1);
      if (status == cudaSuccess) status = cudaMemsetAsync(word, nothing, sizeof(received), stream_);
      if (status == cudaSuccess) status = cudaStreamSynchronize(stream_);
      failed = error_in(cuda_result(status, during));
      if (!failed && received != proof_of(writer, this->rank())) {
        failed = Error{.code = Errc::no_peer_access,
                       .during = during,
                       .detail = "what rank " + std::to_string(writer) + " wrote did not arrive"};
      }
    }
    return agree(failed, during);
  }

  //! Collective: a window of everybody's ranges.
  [[nodiscard]] Result<std::uint32_t> add(Result<CudaExport> const& mine, Range range, char const* during) {
    auto const number = static_cast<std::uint32_t>(windows_.size());
    if (number == most_windows) {  // on all ranks alike
      return Error{.code = Errc::no_memory,
                   .rank = static_cast<std::int16_t>(this->rank()),
                   .during = during,
                   .detail = "a communicator makes 4096 windows at most, freed ones included"};
    }
    auto shared = share(mine, range.data, during);
    if (!shared) {
      tell_who_went_on(shared.error());
      return shared.error();
    }
    auto const written = write_entry(number, shared->window, during);
    if (auto agreed = agree(error_in(written), during); !agreed) {
      if (written) (void)write_entry(number, {}, during);
      tell_who_went_on(agreed.error());
      return agreed.error();
    }
    range.size_bytes = shared->window.size_bytes[this->rank()];
    range.peers = std::move(shared->imports);
    windows_.push_back(std::move(range));
    in_use_.push_back(number);
    return number;
  }

  //! A rank that got lost may have been heard by some before: these have gone on, into a call, and learn of it there.
  void tell_who_went_on(Error const& error) {
    if (error.code != Errc::peer_died && error.code != Errc::timeout) return;
    this->fail({.code = error.code,
                .rank = static_cast<std::uint8_t>(error.rank),
                .reporter = static_cast<std::uint8_t>(this->rank())});
  }

  Processes processes_;
  CudaDriver driver_;
  OwnedFd own_file_{};
  RegisteredMemory status_words_{};
  cudaStream_t stream_ = nullptr;
  DeviceMemory segment_{};
  DeviceMemory table_{};
  std::vector<CudaImport> peer_segments_{};
  std::vector<Range> windows_{};
  std::vector<std::uint32_t> in_use_{};
};

}  // namespace chevron::detail

#endif

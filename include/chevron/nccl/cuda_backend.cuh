// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_CUDA_BACKEND_CUH
#define CHEVRON_NCCL_CUDA_BACKEND_CUH

//! @file
//! The backend on devices: ranks of one process are a CudaPeer, ranks that are processes a CudaIpc.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/options.hpp>
#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/cuda_member.cuh>
#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/real_library.cuh>
#include <chevron/nccl/rendezvous.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/transport/cuda_access.cuh>
#include <chevron/transport/cuda_ipc.cuh>
#include <chevron/transport/cuda_peer.cuh>

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace chevron::nccl {

//! @brief Groups of devices for rank counts and selectors that are named when the library is compiled.
//! @tparam Counts     RankCounts<...>, at least two each
//! @tparam Scope      thread_scope_system; or thread_scope_device for ranks that are all on one device, and no others
//! @tparam Selectors  the first one that has a call's element and operation chooses; all have these rank counts
template <class Counts, cuda::thread_scope Scope, class... Selectors>
class CudaBackend;

template <int... Counts, cuda::thread_scope Scope, class... Selectors>
class CudaBackend<RankCounts<Counts...>, Scope, Selectors...> final : public Backend {
 public:
  [[nodiscard]] std::vector<int> rank_counts() const override { return {1, Counts...}; }

  [[nodiscard]] Result<std::unique_ptr<Member>> join(Seat const& seat) override {
    if (seat.ranks == 1) return std::unique_ptr<Member>(std::make_unique<detail::LoneMember>(seat.device));
    Result<std::unique_ptr<Member>> joined = Error{.code = Errc::rank_count_not_compiled, .during = "joining"};
    auto const try_one = [&]<int NRanks>(std::integral_constant<int, NRanks>) {
      if (NRanks == seat.ranks) joined = seat.one_process ? join_here<NRanks>(seat) : join_as_process<NRanks>(seat);
    };
    (try_one(std::integral_constant<int, Counts>{}), ...);
    return joined;
  }

  [[nodiscard]] Result<int> device() const override {
    int device = 0;
    auto known = cuda_result(cudaGetDevice(&device), "asking for the device");
    if (!known) return known.error();
    return device;
  }
  [[nodiscard]] Result<void> set_device(int device) const override {
    return cuda_result(cudaSetDevice(device), "choosing a device");
  }
  [[nodiscard]] Result<void> synchronize(int device) const override {
    DeviceGuard const guard(device);
    return cuda_result(cudaDeviceSynchronize(), "waiting for a device");
  }
  //! Whole blocks of 2 MiB, so that nothing else lies where peers reach.
  [[nodiscard]] Result<void*> allocate(std::size_t size_bytes) const override {
    constexpr std::size_t block = std::size_t{2} << 20;
    void* data = nullptr;
    auto done = cuda_result(cudaMalloc(&data, (size_bytes + block - 1) / block * block), "allocating memory");
    if (!done) return done.error();
    return data;
  }
  [[nodiscard]] Result<void> free(void* data) const override { return cuda_result(cudaFree(data), "freeing memory"); }

  [[nodiscard]] std::optional<std::vector<std::uint64_t>> all_gather(ncclComm_t real, int ranks,
                                                                    std::uint64_t mine) const override {
    auto* const gather = RealLibrary::get().find<decltype(ncclAllGather)>("ncclAllGather");
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
    std::uint64_t* memory = nullptr;
    std::size_t const size_bytes = all.size() * sizeof(mine);
    bool good = gather != nullptr && cudaMalloc(&memory, sizeof(mine) + size_bytes) == cudaSuccess &&
                cudaMemcpy(memory, &mine, sizeof(mine), cudaMemcpyHostToDevice) == cudaSuccess &&
                gather(memory, memory + 1, 1, ncclUint64, real, cudaStreamPerThread) == ncclSuccess &&
                cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess &&
                cudaMemcpy(all.data(), memory + 1, size_bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
    (void)cudaFree(memory);
    if (!good) return std::nullopt;
    return all;
  }

 private:
  [[nodiscard]] static CudaOptions options_for(Seat const& seat) {
    return {.deadline = seat.deadline, .communicators = Settings::get().communicators};
  }

  template <int NRanks>
  using Meeting = Rendezvous<int, std::unique_ptr<Communicator<CudaPeer<NRanks, Scope>>>>;

  template <int NRanks>
  [[nodiscard]] Result<std::unique_ptr<Member>> join_here(Seat const& seat) {
    using Transport = CudaPeer<NRanks, Scope>;
    static Meeting<NRanks> meeting;
    auto met = meeting.meet(seat.key.text(), seat.rank, NRanks, seat.device, seat.deadline,
                            [&](std::vector<int> const& given) {
                              using Made = std::vector<std::unique_ptr<Communicator<Transport>>>;
                              std::array<int, NRanks> devices{};
                              std::copy(given.begin(), given.end(), devices.begin());
                              auto made = Transport::template create<Selectors...>(devices, options_for(seat));
                              if (!made) return Result<Made>(made.error());
                              Made all;
                              for (auto& each : *made) {
                                all.push_back(std::make_unique<Communicator<Transport>>(std::move(each)));
                              }
                              return Result<Made>(std::move(all));
                            });
    if (!met) return met.error();
    return std::unique_ptr<Member>(
        std::make_unique<detail::CudaMember<Transport, Selectors...>>(std::move(**met), true));
  }

  template <int NRanks>
  [[nodiscard]] Result<std::unique_ptr<Member>> join_as_process(Seat const& seat) {
    using Transport = CudaIpc<NRanks, Scope>;
    auto joined =
        Transport(seat.key).template join<Selectors...>(seat.rank, seat.device, options_for(seat));
    if (!joined) return joined.error();
    return std::unique_ptr<Member>(
        std::make_unique<detail::CudaMember<Transport, Selectors...>>(std::move(*joined), false));
  }
};

}  // namespace chevron::nccl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_CUDA_BACKEND_CUH
#define CHEVRON_NCCL_CUDA_BACKEND_CUH

//! @file
//! The backend on devices: ranks of one process are a CudaPeer, ranks that are processes a CudaIpc.

#include <chevron/collective/all_reduce.cuh>
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/options.hpp>
#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/errors.cuh>
#include <chevron/nccl/real_library.cuh>
#include <chevron/nccl/rendezvous.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/transport/cuda_ipc.cuh>
#include <chevron/transport/cuda_peer.cuh>

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace chevron::nccl {

namespace detail {

//! @brief Calls `function.template operator()<T>()` for the element that NCCL's number stands for.
template <class Function>
void with_element(ncclDataType_t type, Function&& function) {
  switch (type) {
    case ncclInt8:
      return function.template operator()<std::int8_t>();
    case ncclUint8:
      return function.template operator()<std::uint8_t>();
    case ncclInt32:
      return function.template operator()<std::int32_t>();
    case ncclUint32:
      return function.template operator()<std::uint32_t>();
    case ncclInt64:
      return function.template operator()<std::int64_t>();
    case ncclUint64:
      return function.template operator()<std::uint64_t>();
    case ncclFloat16:
      return function.template operator()<half>();
    case ncclBfloat16:
      return function.template operator()<bfloat16>();
    case ncclFloat32:
      return function.template operator()<float>();
    case ncclFloat64:
      return function.template operator()<double>();
    case ncclFloat8e4m3:
      return function.template operator()<float8_e4m3>();
    case ncclFloat8e5m2:
      return function.template operator()<float8_e5m2>();
    default:
      return;
  }
}

//! @brief The same for an operation.
template <class Function>
void with_operation(ncclRedOp_t operation, Function&& function) {
  switch (operation) {
    case ncclSum:
      return function.template operator()<Sum>();
    case ncclProd:
      return function.template operator()<Prod>();
    case ncclMax:
      return function.template operator()<Max>();
    case ncclMin:
      return function.template operator()<Min>();
    case ncclAvg:
      return function.template operator()<Avg>();
    default:
      return;
  }
}

template <class T>
__global__ void multiply_elements(T const* in, T* out, std::size_t count, Factor const factor) {
  T scalar;
  void const* const from = factor.on_device != nullptr ? factor.on_device : &factor.bits;
  std::memcpy(&scalar, from, sizeof(T));
  using Traits = ElementTraits<T>;
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = Traits::narrow(Prod::combine(Traits::widen(in[i]), Traits::widen(scalar)));
  }
}

//! @brief out = in * factor, as one kernel.
[[nodiscard]] inline Result<void> multiply_on_device(void const* in, void* out, std::size_t count,
                                                     ncclDataType_t type, Factor const& factor,
                                                     cudaStream_t stream) {
  if (count == 0) return {};
  constexpr char const* during = "multiplying before a sum";
  if (in == nullptr || out == nullptr) return Error{.code = Errc::null_pointer, .during = during};
  cudaError_t status = cudaErrorInvalidValue;
  with_element(type, [&]<class T>() {
    constexpr unsigned threads = 256;
    constexpr std::size_t most_blocks = 1056;
    std::size_t const blocks = std::min(most_blocks, (count + threads - 1) / threads);
    multiply_elements<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
        static_cast<T const*>(in), static_cast<T*>(out), count, factor);
    status = cudaGetLastError();
  });
  return cuda_result(status, during);
}

//! @brief A rank on a device, with the selectors that its calls are looked for in, one after the other.
template <class Transport, class... Selectors>
class CudaMember final : public Member {
 public:
  CudaMember(Communicator<Transport> communicator, bool one_process)
      : communicator_(std::move(communicator)), one_process_(one_process) {
    if (!one_process) watch_ = std::thread([this] { watch(); });
  }
  ~CudaMember() override {
    leaving_.store(true);
    if (watch_.joinable()) watch_.join();
  }

  [[nodiscard]] bool can(ncclDataType_t type, ncclRedOp_t operation) const override {
    bool known = false;
    with_call(type, operation, [&]<class Selector, class T, class Op>() { known = true; });
    return known;
  }
  [[nodiscard]] Result<void> all_reduce(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                        ncclRedOp_t operation, cudaStream_t stream) override {
    Result<void> result;
    with_call(type, operation, [&]<class Selector, class T, class Op>() {
      result = chevron::all_reduce<Selector>(communicator_, static_cast<T const*>(in), static_cast<T*>(out), count,
                                             stream, Op{});
    });
    return result;
  }
  [[nodiscard]] Result<void> multiply(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                      Factor const& factor, cudaStream_t stream) override {
    DeviceGuard const guard(communicator_.endpoint().device());
    return multiply_on_device(in, out, count, type, factor, stream);
  }
  [[nodiscard]] Result<void> status() const override { return communicator_.status(); }
  void abort() override { communicator_.abort(); }
  [[nodiscard]] bool registers_alone() const override { return one_process_; }
  [[nodiscard]] Result<std::uint32_t> register_window(void* data, std::size_t size_bytes) override {
    return communicator_.endpoint().register_window(data, size_bytes);
  }
  void release(std::uint32_t window) override { communicator_.endpoint().release(window); }

 private:
  //! Calls the function with the first selector that has the element and the operation; not at all where none has.
  template <class Function>
  static void with_call(ncclDataType_t type, ncclRedOp_t operation, Function&& function) {
    bool done = false;
    with_element(type, [&]<class T>() {
      with_operation(operation, [&]<class Op>() {
        auto const try_one = [&]<class Selector>() {
          if constexpr (Selector::Types::template contains<T> && Selector::OperationList::template contains<Op>) {
            if (!std::exchange(done, true)) function.template operator()<Selector, T, Op>();
          }
        };
        (try_one.template operator()<Selectors>(), ...);
      });
    });
  }

  //! A kernel can't see that a peer's process has ended. What the peer still did arrives in the time that is left.
  void watch() {
    constexpr std::chrono::milliseconds pause(20);
    constexpr int pauses_left_to_it = 25;
    auto& endpoint = communicator_.endpoint();
    std::array<int, Transport::ranks> seen{};
    while (!leaving_.load() && !endpoint.failure()) {
      for (int peer = 0; peer < Transport::ranks; ++peer) {
        int& pauses = seen[static_cast<std::size_t>(peer)];
        if (peer == communicator_.rank() || !endpoint.has_ended(peer)) continue;
        if (++pauses < pauses_left_to_it) continue;
        endpoint.fail({.code = Errc::peer_died,
                       .rank = static_cast<std::uint8_t>(peer),
                       .reporter = static_cast<std::uint8_t>(communicator_.rank())});
        return;
      }
      std::this_thread::sleep_for(pause);
    }
  }

  Communicator<Transport> communicator_;
  bool one_process_;
  std::atomic<bool> leaving_{false};
  std::thread watch_{};
};

}  // namespace detail

//! @brief Groups of devices for rank counts and selectors that are named when the library is compiled.
//! @tparam Counts     RankCounts<...>, at least two each
//! @tparam Selectors  the first one that has a call's element and operation chooses; all have these rank counts
template <class Counts, class... Selectors>
class CudaBackend;

template <int... Counts, class... Selectors>
class CudaBackend<RankCounts<Counts...>, Selectors...> final : public Backend {
 public:
  [[nodiscard]] std::vector<int> rank_counts() const override { return {Counts...}; }

  [[nodiscard]] Result<std::unique_ptr<Member>> join(Seat const& seat) override {
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
  using Meeting = Rendezvous<int, std::unique_ptr<Communicator<CudaPeer<NRanks>>>>;

  template <int NRanks>
  [[nodiscard]] Result<std::unique_ptr<Member>> join_here(Seat const& seat) {
    using Transport = CudaPeer<NRanks>;
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
    using Transport = CudaIpc<NRanks>;
    auto joined =
        Transport(seat.key).template join<Selectors...>(seat.rank, seat.device, options_for(seat));
    if (!joined) return joined.error();
    return std::unique_ptr<Member>(
        std::make_unique<detail::CudaMember<Transport, Selectors...>>(std::move(*joined), false));
  }
};

}  // namespace chevron::nccl

#endif

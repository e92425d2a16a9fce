// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_RUN_ON_DEVICE_CUH
#define CHEVRON_COLLECTIVE_RUN_ON_DEVICE_CUH

//! @file
//! What every call on a device transport does around an algorithm's body: the kernel, and its launch.

#include <chevron/collective/call_fits.hpp>
#include <chevron/collective/check_buffers.hpp>
#include <chevron/collective/chosen_body.hpp>
#include <chevron/collective/run_on_host.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/communicator.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/select/policy.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/transport/cuda_residency.cuh>
#include <chevron/transport/cuda_segment.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace chevron {

namespace detail {

//! @brief Packs that a thread of a body loads before it stores the first.
template <class Body, int NRanks>
inline constexpr int packs_in_flight = usual_packs_in_flight<NRanks>;
template <class Algorithm, int Packs, int NRanks>
inline constexpr int packs_in_flight<InFlight<Algorithm, Packs>, NRanks> = Packs;
template <class Algorithm, int NRanks>
inline constexpr int packs_in_flight<Anywhere<Algorithm>, NRanks> = packs_in_flight<Algorithm, NRanks>;
template <class InWindows, class Elsewhere, int NRanks>
inline constexpr int packs_in_flight<ByWindows<InWindows, Elsewhere>, NRanks> =
    packs_in_flight<InWindows, NRanks>;

//! @brief Blocks that a multiprocessor should have room for: two where what a thread has in flight leaves the registers.
template <class Body, int NRanks>
inline constexpr int blocks_per_processor = 1;
template <class Algorithm, int NRanks>
requires(Algorithm::needs == Requirements{.direct_access = true} &&
         NRanks * packs_in_flight<Algorithm, NRanks> <=
             4) inline constexpr int blocks_per_processor<Anywhere<Algorithm>, NRanks> = 2;

//! @brief A function of the device alone, so that nvcc refuses what it calls where that is of the host alone: in the bodies,
//! which are of both, it would let it pass. The name is what the error says.
template <class Op, class E, class T>
CHEVRON_DEVICE void functions_of_operations_and_epilogues_must_be_CHEVRON_HD(Call<T, E> const& call) {
  using A = accumulator_t<T>;
  if constexpr (requires(A a) { Op::combine(a, a); }) (void)Op::combine(A{}, A{});
  if constexpr (requires(A a) { Op::finish(a, 1); }) (void)Op::finish(A{}, 1);
  if constexpr (requires(A a) { call.epilogue(a, call.count); }) (void)call.epilogue(A{}, call.count);
  (void)ElementTraits<T>::narrow(ElementTraits<T>::widen(T{}));
}

//! @brief The operation of a body.
template <class Algorithm>
struct OperationOfBody {
  using type = operation_of_t<Algorithm>;
};
template <class Algorithm>
struct OperationOfBody<Anywhere<Algorithm>> : OperationOfBody<Algorithm> {};
template <class InWindows, class Elsewhere>
struct OperationOfBody<ByWindows<InWindows, Elsewhere>> : OperationOfBody<Elsewhere> {};
template <class Algorithm, int Packs>
struct OperationOfBody<InFlight<Algorithm, Packs>> : OperationOfBody<Algorithm> {};

//! @brief One call on one rank: a block is a lane.
template <class Body, class Lane, class T, class E>
__global__ void __launch_bounds__(max_lane_threads, blocks_per_processor<Body, Lane::ranks>)
    run_lanes(__grid_constant__ typename Lane::View const view, __grid_constant__ Call<T, E> const call,
              __grid_constant__ CallGreeting const greeting, CudaManner manner) {
  if (false)
    functions_of_operations_and_epilogues_must_be_CHEVRON_HD<typename OperationOfBody<Body>::type>(call);
  __shared__ typename Lane::Shared shared;
  Lane lane(view, greeting, manner, shared);
  Body::run(lane, call, call.stores);
  lane.finish();
}

template <class Transport, class Body>
using lane_for_t = typename Transport::template DeviceLane<packs_in_flight<Body, Transport::ranks>>;

//! @brief A kernel's address, by which the runtime knows it. nvcc gives each file that uses a kernel template a kernel of its
//! own, at another address; this function, which is not inlined, is the same one in all files and so gives one address.
template <class Transport, class Body, class T, class E>
[[nodiscard, gnu::noinline]] void const* kernel_of() {
  return reinterpret_cast<void const*>(&run_lanes<Body, lane_for_t<Transport, Body>, T, E>);
}

//! @brief The lanes and threads of a call: the policy's where it names them, else by the size of the data.
struct LaunchShape {
  int lanes;
  int threads;

  [[nodiscard]] static LaunchShape of(CudaGeometry const& geometry, std::size_t size_bytes, int ranks,
                                      int most_lanes) {
    // Every thread that greets is a thread of the block, and half a block is whole warps.
    int const least = (ranks - 1) * CudaInbox::greeting_words;
    int const threads = std::clamp((std::max(geometry.threads, least) + 63) / 64 * 64, 64, max_lane_threads);
    if (geometry.lanes != 0) return {std::min(geometry.lanes, most_lanes), threads};
    std::size_t const lane_bytes = static_cast<std::size_t>(threads) * 16;
    std::size_t const wanted = (size_bytes + lane_bytes - 1) / lane_bytes;
    return {static_cast<int>(std::clamp<std::size_t>(wanted, 1, static_cast<std::size_t>(most_lanes))),
            threads};
  }
};

//! @brief Checks the arguments and launches `Body`. What goes wrong later, on the device, is told by the next call and by
//! Communicator::status().
template <class Body, class Transport, class T, class E>
[[nodiscard]] Result<void> run_on_device(Communicator<Transport> const& communicator, char const* during,
                                         CallIdentity const& identity, Call<T, E>& call, cudaStream_t stream,
                                         CudaGeometry const& geometry) {
  using Lane = lane_for_t<Transport, Body>;
  auto& endpoint = communicator.endpoint();
  InCall const in_call(endpoint);
  auto const rank = static_cast<std::int16_t>(endpoint.rank());
  if (!in_call.entered()) {
    return Error{.code = Errc::concurrent_use, .rank = rank, .reporter = rank, .during = during};
  }
  if (auto const earlier = endpoint.failure()) return earlier->error(during);
  if (Errc const bad = check_buffers(call.in, call.out, call.count, sizeof(T), alignof(T)); bad != Errc::ok) {
    auto const me = static_cast<std::uint8_t>(rank);
    return endpoint.fail({.code = bad, .rank = me, .reporter = me}).error(during);
  }
  void const* const address = kernel_of<Transport, Body, T, E>();
  int const lanes = endpoint.lanes_of(address);
  if (lanes == 0) return Error{.code = Errc::not_loaded, .rank = rank, .during = during};
  std::size_t const size_bytes = call.count * sizeof(T);
  call.in_at = endpoint.locate(call.in, size_bytes);
  call.out_at = endpoint.locate(call.out, size_bytes);

  DeviceGuard const guard(endpoint.device());
  if (auto ordered = endpoint.follow(stream, during); !ordered) return ordered;
  CudaManner manner{geometry.ordering, geometry.let_go, geometry.packets};
  LaunchShape const shape = LaunchShape::of(geometry, size_bytes, Transport::ranks, lanes);
  if (shape.lanes > endpoint.early_lanes()) manner.let_go = LetGo::when_met;
  using Kernel = void (*)(typename Lane::View, Call<T, E>, CallGreeting, CudaManner);
  auto const kernel = reinterpret_cast<Kernel>(const_cast<void*>(address));
  cudaLaunchAttribute dependent{};
  dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  dependent.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.lanes));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.stream = stream;
  config.attrs = &dependent;
  config.numAttrs = geometry.dependent_launch && endpoint.has_dependent_launch() ? 1 : 0;
  return cuda_result(
      cudaLaunchKernelEx(&config, kernel, endpoint.view(), call, CallGreeting::of(identity), manner), during,
      rank);
}

}  // namespace detail

}  // namespace chevron

#endif

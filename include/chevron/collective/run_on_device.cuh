// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_RUN_ON_DEVICE_CUH
#define CHEVRON_COLLECTIVE_RUN_ON_DEVICE_CUH

//! @file
//! What every call on a device transport does around an algorithm's body: the kernel, and its launch.

#include <chevron/collective/check_buffers.hpp>
#include <chevron/collective/run_on_host.hpp>
#include <chevron/core/call.hpp>
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

//! @brief An algorithm whose threads have `Packs` packs in flight where another number than the usual suits.
template <class Algorithm, int Packs>
struct InFlight : Algorithm {};

namespace detail {

//! @brief Packs that a thread loads before it stores the first: as many as keep the memory busy and the registers few.
template <class Body, int NRanks>
inline constexpr int packs_in_flight = NRanks <= 4 ? 2 : 1;
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
         NRanks * packs_in_flight<Algorithm, NRanks> <= 4) inline constexpr int blocks_per_processor<Anywhere<Algorithm>, NRanks> = 2;

//! @brief One call on one rank: a block is a lane.
template <class Body, class Lane, class T, class E>
__global__ void __launch_bounds__(max_lane_threads, blocks_per_processor<Body, Lane::ranks>)
    run_lanes(__grid_constant__ typename Lane::View const view, __grid_constant__ Call<T, E> const call,
              __grid_constant__ CallGreeting const greeting, CudaManner manner) {
  __shared__ typename Lane::Shared shared;
  Lane lane(view, greeting, manner, shared);
  Body::run(lane, call, call.stores);
  lane.finish();
}

template <class Transport, class Body>
using lane_for_t = typename Transport::template DeviceLane<packs_in_flight<Body, Transport::ranks>>;

template <class Transport, class Body, class T, class E>
[[nodiscard]] void const* kernel_of() {
  return reinterpret_cast<void const*>(&run_lanes<Body, lane_for_t<Transport, Body>, T, E>);
}

//! @brief The lanes and threads of a call: the policy's where it names them, else by the size of the data.
struct LaunchShape {
  int lanes;
  int threads;

  [[nodiscard]] static LaunchShape of(CudaGeometry const& geometry, std::size_t size_bytes, int ranks,
                                      int most_lanes) {
    // Every thread that greets is a thread of the block, and half of a block is whole warps.
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
  auto const kernel = &run_lanes<Body, Lane, T, E>;
  int const lanes = endpoint.lanes_of(reinterpret_cast<void const*>(kernel));
  if (lanes == 0) return Error{.code = Errc::not_loaded, .rank = rank, .during = during};
  std::size_t const size_bytes = call.count * sizeof(T);
  call.in_at = endpoint.locate(call.in, size_bytes);
  call.out_at = endpoint.locate(call.out, size_bytes);

  DeviceGuard const guard(endpoint.device());
  if (auto ordered = endpoint.follow(stream, during); !ordered) return ordered;
  CudaManner manner{geometry.ordering, geometry.let_go};
  LaunchShape const shape = LaunchShape::of(geometry, size_bytes, Transport::ranks, lanes);
  if (shape.lanes > endpoint.early_lanes()) manner.let_go = LetGo::when_met;
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

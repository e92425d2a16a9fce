// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_LAUNCHES_HPP
#define CHEVRON_PERF_CUDA_LAUNCHES_HPP

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

#include <chevron/select/policy.hpp>
#include <perf/cuda/group.hpp>
#include <perf/cuda/settings.hpp>
#include <perf/cuda/stage.hpp>
#include <perf/row.hpp>

//! @file
//! From the names of the command line to launches, and back; and batches of calls.

namespace perf {

template <std::size_t N>
std::size_t place_of(std::string const& name, std::string_view const (&names)[N]) {
  return static_cast<std::size_t>(std::find(std::begin(names), std::end(names), name) - std::begin(names));
}

//! @brief The names are in the order of the enumerators.
inline chevron::CudaGeometry geometry_of(int lanes, int threads, std::string const& ordering,
                                         std::string const& let_go) {
  chevron::CudaGeometry geometry;
  geometry.lanes = lanes;
  geometry.threads = threads;
  geometry.ordering = static_cast<chevron::Ordering>(place_of(ordering, ordering_names));
  geometry.dependent_launch = let_go != "never";
  if (geometry.dependent_launch)
    geometry.let_go = static_cast<chevron::LetGo>(place_of(let_go, let_go_names));
  return geometry;
}

inline Launch launch_of(chevron::Policy const& policy, int packs) {
  auto const& cuda = policy.cuda;
  auto const let_go = let_go_names[static_cast<std::size_t>(cuda.let_go)];
  return {.lanes = cuda.lanes,
          .threads = cuda.threads,
          .packs = packs,
          .ordering = std::string(ordering_names[static_cast<std::size_t>(cuda.ordering)]),
          .let_go = cuda.dependent_launch ? std::string(let_go) : "never"};
}

//! @brief So many calls of a candidate on all ranks.
inline Batch batch_of(Stage& stage, DeviceGroup& group, std::size_t bytes, bool in_place,
                      Candidate const& candidate, long calls, bool graph) {
  auto const call = group.find(candidate);
  auto const once = [&stage, &group, call, bytes, in_place, geometry = candidate.geometry] {
    for (int rank = 0; rank < stage.ranks(); ++rank) {
      void* const out = in_place ? group.in_place(rank) : group.out(rank);
      void const* const in = in_place ? out : group.in(rank);
      auto const called = call(group.communicator(rank), in, out, bytes / group.element_bytes(),
                               stage.stream(rank), geometry);
      if (!called) return called.error().message();
    }
    return std::string();
  };
  return Batch(stage, once, calls, graph);
}

//! @brief Calls in a batch, where none were asked for: enough that the batch's ends don't count.
inline long calls_in_batch(int ranks, std::size_t bytes) {
  auto const moved = bytes * static_cast<std::size_t>(ranks);
  return moved >= 256 << 20 ? 4 : moved >= 16 << 20 ? 16 : moved >= 1 << 20 ? 64 : 200;
}

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_ONE_SHOT_PULL_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_ONE_SHOT_PULL_HPP

//! @file
//! All-reduce for buffers of middle size in windows: each rank reads everybody's input and writes its own output.
//!
//! ```
//! step       | rank 0                             | rank 1
//! arrive     | tell 1 where my buffers lie, wait  | tell 0 where my buffers lie, wait
//! move       | out0 = in0 + in1                   | out1 = in0 + in1
//! depart     | tell 1 I have read its input, wait | tell 0 I have read its input, wait
//! ```
//! Where a rank reduces in place, its output is what others still read: then all ranks, who know it from the arrival, share
//! the data out as in ReduceScatterAllGatherZeroCopy, where each element is read and written by one rank alone.

#include <chevron/algorithm/all_reduce/arrive_and_move.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather_zero_copy.hpp>
#include <chevron/algorithm/all_reduce/reduce_to_all.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/identity.hpp>

CHEVRON_BODIES_BEGIN

namespace chevron {

//! @brief All-reduce in which every rank pulls all inputs.
//! @tparam NRanks  1 to 32
//! Shape:  in [count] elements per rank, out [count]; out == in is allowed, on any subset of the ranks
//! Memory: in and out lie in windows (anywhere, where ranks share an address space); aligned to the element
//! Sync:   every rank must arrive; on return every rank has read this rank's input, and out is complete
//! Errors: not_in_window, unknown_window, buffers_overlap, timeout and the mismatches
//! Cost:   per rank: reads N * count elements, writes count elements of its own memory alone; 2 (N - 1) flags, one barrier
//!         at each end
//! Source: the one-stage all-reduces of vLLM and SGLang
template <int NRanks, Element T, class Op = Sum, class E = Identity>
requires RankCountInRange<NRanks> && ReductionOp<Op, T> && ElementEpilogue<E, T>
struct OneShotPull {
  static constexpr char const* name = "one_shot_pull";
  static constexpr Requirements needs = {.direct_access = true};

  template <class Lane>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call) {
    detail::arrive_and_move<OneShotPull>(lane, call);
  }

  //! What is left to do once everybody has arrived.
  template <class Lane>
  CHEVRON_HD static void move(Lane& lane, Call<T, E> const& call, Arrival<T, NRanks> const& all) {
    if (somebody_is_in_place(all)) {
      return ReduceScatterAllGatherZeroCopy<NRanks, T, Op, E>::move(lane, call, all);
    }
    detail::reduce_to_all<Op>(lane, Workers::all_lanes, all.in, PerRank<T*, 1>{{call.out}}, call.count, 0,
                              call.epilogue, call.stores);
    lane.depart(call.stores, Wrote::own);
  }

 private:
  //! The ranks agree on it, but for a call of no elements: there both ways do nothing but depart.
  CHEVRON_HD static bool somebody_is_in_place(Arrival<T, NRanks> const& all) {
    bool found = false;
    for (int rank = 0; rank < NRanks; ++rank) found = found || all.in[rank] == all.out[rank];
    return found;
  }
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_SCATTER_ALL_GATHER_ZERO_COPY_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_SCATTER_ALL_GATHER_ZERO_COPY_HPP

//! @file
//! All-reduce for large buffers in windows: each rank reduces its shard out of everybody's inputs and writes
//! the result into everybody's outputs. Nothing is copied on the way.
//!
//! ```
//! step       | rank 0                             | rank 1
//! arrive     | tell 1 where my buffers lie, wait  | tell 0 where my buffers lie, wait
//! move       | out0[A] = out1[A] = in0[A]+in1[A]  | out0[B] = out1[B] = in0[B]+in1[B]
//! depart     | tell 1 I am done, wait for 1       | tell 0 I am done, wait for 0
//! ```

#include <chevron/algorithm/all_reduce/arrive_and_move.hpp>
#include <chevron/algorithm/all_reduce/reduce_to_all.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/epilogue/identity.hpp>

CHEVRON_BODIES_BEGIN

namespace chevron {

//! @brief All-reduce as a fused reduce-scatter and all-gather on the callers' buffers.
//! @tparam NRanks  1 to 32
//! Shape:  in [count] elements per rank, out [count]; out == in is allowed, on any subset of the ranks
//! Memory: in and out lie in windows (anywhere, where ranks share an address space); aligned to the element
//! Sync:   every rank must arrive; on return every rank has finished with this rank's buffers, and out is complete
//! Errors: not_in_window, unknown_window, buffers_overlap, timeout and the mismatches
//! Cost:   per rank: reads count elements in all, writes count elements in all; 2 (N - 1) flags, one barrier at
//!         each end
//! Source: MSCCL++'s rsag_zero_copy all-reduce, with an arrival message that carries windows and offsets
template <int NRanks, Element T, class Op = Sum, class E = Identity>
requires RankCountInRange<NRanks> && ReductionOp<Op, T> && ElementEpilogue<E, T>
struct ReduceScatterAllGatherZeroCopy {
  static constexpr char const* name = "reduce_scatter_all_gather_zero_copy";
  static constexpr Requirements needs = {.direct_access = true};

  template <class Lane>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call) {
    detail::arrive_and_move<ReduceScatterAllGatherZeroCopy>(lane, call);
  }

  //! What is left to do once everybody has arrived.
  template <class Lane>
  CHEVRON_HD static void move(Lane& lane, Call<T, E> const& call, Arrival<T, NRanks> const& all) {
    Shard const shard = shard_of<NRanks>(call.count, lane.rank(), Lane::template granule<T>);
    if (!shard.empty()) {
      detail::reduce_to_all<Op>(lane, Workers::all_lanes, detail::advanced(all.in, shard.begin),
                                detail::advanced(all.out, shard.begin), shard.size(), shard.begin,
                                call.epilogue, call.stores);
    }
    lane.depart(call.stores);
  }
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

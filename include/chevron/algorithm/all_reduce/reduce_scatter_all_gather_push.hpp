// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_SCATTER_ALL_GATHER_PUSH_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_SCATTER_ALL_GATHER_PUSH_HPP

//! @file
//! All-reduce for links that carry stores faster than loads: what goes from rank to rank is stores alone. Inputs go through
//! the owners' mailboxes, chunk by chunk; results go straight into everybody's output.
//!
//! ```
//! threads that | rank 0                                          | rank 1
//! contribute   | chunk c of in0's shard 1 into 1's mailbox, flag | chunk c of in1's shard 0 into 0's mailbox, flag
//! reduce       | chunk c of out0 = out1 = in0 + mailbox, flag    | chunk c of out0 = out1 = mailbox + in1, flag
//! ```
//! A mailbox has two chunks, used in turn. The owner's flag for a chunk says two things: the results of that chunk are in
//! this rank's output, and its place in the mailbox is free. A rank that has seen the flags of all chunks is done; there is no
//! barrier at the end.

#include <chevron/algorithm/all_reduce/mailbox_chunks.hpp>
#include <chevron/algorithm/all_reduce/reduce_to_all.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/sync/epoch.hpp>

CHEVRON_BODIES_BEGIN

namespace chevron {

//! @brief All-reduce whose reduce-scatter goes through mailboxes and whose all-gather goes into the callers' outputs.
//! @tparam NRanks  1 to 32
//! Shape:  in [count] elements per rank, out [count]; out == in is allowed, on any subset of the ranks
//! Memory: in and out lie in windows (anywhere, where ranks share an address space); aligned to the element
//! Sync:   every rank must arrive; on return every rank has finished with this rank's buffers, and out is complete
//! Errors: not_in_window, unknown_window, buffers_overlap, timeout and the mismatches
//! Cost:   2 (N - 1) / N * count elements sent per rank, half of them copied once more on arrival; 2 (N - 1) flags a
//!         chunk, one barrier at the beginning
//! Source: the chunked, flow-controlled pushes of NCCL's simple protocol, with results that go to their final place
template <int NRanks, Element T, class Op = Sum, class E = Identity>
requires RankCountInRange<NRanks> && ReductionOp<Op, T> && ElementEpilogue<E, T>
struct ReduceScatterAllGatherPush {
  static constexpr char const* name = "reduce_scatter_all_gather_push";
  static constexpr Requirements needs = {.direct_access = true, .mailbox = true};

  template <class Lane>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call) {
    Chunks<Lane> const chunks{lane, call};
    Epoch const steps = 1 + chunks.count();
    lane.announce(call, steps);
    Roles const roles = lane.split_up();
    Arrival<T, NRanks> all;
    if (roles.reduces) {  // inputs are on their way meanwhile: the mailboxes are known
      all = lane.hear(call, steps);
      if (lane.ok() && !all.direct()) lane.fail(Errc::not_in_window, all.outside);
    }
    if (lane.ok()) work(lane, roles, call, chunks, all);
  }

  //! What is left to do once everybody has arrived.
  template <class Lane>
  CHEVRON_HD static void move(Lane& lane, Call<T, E> const& call, Arrival<T, NRanks> const& all) {
    work(lane, lane.split_up(), call, {lane, call}, all);
  }

 private:
  template <class Lane>
  using Chunks = detail::MailboxChunks<NRanks, T, E, Lane>;

  //! @param all  looked at where this thread reduces
  template <class Lane>
  CHEVRON_HD static void work(Lane& lane, Roles roles, Call<T, E> const& call, Chunks<Lane> const& chunks,
                              Arrival<T, NRanks> const& all) {
    Epoch const count = chunks.count();
    if (roles.contributes) chunks.contribute(0);
    for (Epoch chunk = 0; chunk < count && lane.ok(); ++chunk) {
      if (roles.contributes && chunk + 1 < count) contribute(lane, chunks, chunk + 1);
      if (roles.reduces && lane.ok()) reduce(lane, call, chunks, all, chunk);
    }
    if (roles.contributes && lane.ok()) {
      if (count > 1) lane.await_results(chunks.step(count - 2));
      if (lane.ok()) lane.await_results(chunks.step(count - 1));
    }
    lane.end_steps(count);
  }

  //! A chunk's place in a mailbox is free once its owner has sent the results of the chunk before last.
  template <class Lane>
  CHEVRON_HD static void contribute(Lane& lane, Chunks<Lane> const& chunks, Epoch chunk) {
    if (chunk >= 2 && !lane.await_results(chunks.step(chunk - 2))) return;
    chunks.contribute(chunk);
  }

  template <class Lane>
  CHEVRON_HD static void reduce(Lane& lane, Call<T, E> const& call, Chunks<Lane> const& chunks,
                                Arrival<T, NRanks> const& all, Epoch chunk) {
    Epoch const step = chunks.step(chunk);
    if (!lane.await_contributions(step)) return;
    Shard const mine = chunks.piece(lane.rank(), chunk);
    detail::reduce_to_all<Op>(lane, Workers::this_lane, chunks.inputs(mine, chunk),
                              detail::advanced(all.out, mine.begin), mine.size(), mine.begin, call.epilogue,
                              call.stores);
    lane.post_results(step);
    lane.ring(NRanks);
  }
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

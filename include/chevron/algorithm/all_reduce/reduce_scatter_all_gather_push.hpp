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

#include <chevron/algorithm/all_reduce/reduce_to_all.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>

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
    Epoch const chunks = chunks_of(lane, call.count);
    lane.announce(call, 1 + chunks);
    Roles const roles = lane.split_up();
    Arrival<T, NRanks> all;
    if (roles.reduces) {  // inputs are on their way meanwhile: the mailboxes are known
      all = lane.hear(call, 1 + chunks);
      if (lane.ok() && !all.direct()) lane.fail(Errc::not_in_window, all.outside);
    }
    if (lane.ok()) work(lane, roles, {lane, call, all}, chunks);
  }

  //! What is left to do once everybody has arrived.
  template <class Lane>
  CHEVRON_HD static void move(Lane& lane, Call<T, E> const& call, Arrival<T, NRanks> const& all) {
    Epoch const chunks = chunks_of(lane, call.count);
    Roles const roles = lane.split_up();
    work(lane, roles, {lane, call, all}, chunks);
  }

 private:
  template <class Lane>
  struct Chunks;

  template <class Lane>
  CHEVRON_HD static void work(Lane& lane, Roles roles, Chunks<Lane> const& chunk_of, Epoch chunks) {
    if (roles.contributes) chunk_of.contribute(0);
    for (Epoch chunk = 0; chunk < chunks && lane.ok(); ++chunk) {
      if (roles.contributes && chunk + 1 < chunks) chunk_of.contribute(chunk + 1);
      if (roles.reduces && lane.ok()) chunk_of.reduce(chunk);
    }
    if (roles.contributes && lane.ok()) {
      if (chunks > 1) lane.await_results(chunk_of.step(chunks - 2));
      if (lane.ok()) lane.await_results(chunk_of.step(chunks - 1));
    }
    lane.end_steps(chunks);
  }

  template <class Lane>
  CHEVRON_HD static Shard share(Lane const& lane, std::size_t count, int owner) {
    return lane.template share_of<T>(shard_of<NRanks>(count, owner, Lane::template granule<T>));
  }

  //! The same on every rank: rank 0's share is the longest. At least one, so that ranks with no data meet.
  template <class Lane>
  CHEVRON_HD static Epoch chunks_of(Lane const& lane, std::size_t count) {
    return static_cast<Epoch>(steps_for(share(lane, count, 0).size(), lane.template chunk_capacity<T>()));
  }

  template <class Lane>
  struct Chunks {
    Lane& lane;
    Call<T, E> const& call;
    Arrival<T, NRanks> const& all;

    //! Chunk `chunk` of what `owner`'s lane owns.
    CHEVRON_HD Shard piece(int owner, Epoch chunk) const {
      return step_of(share(lane, call.count, owner), chunk, lane.template chunk_capacity<T>());
    }

    //! Chunk c is step c + 1 from where the ranks arrived.
    CHEVRON_HD static constexpr Epoch step(Epoch chunk) { return chunk + 1; }

    CHEVRON_HD void contribute(Epoch chunk) const {
      if (chunk >= 2 && !lane.await_results(step(chunk - 2))) return;
      lane.for_each_peer([&](int owner) {
        Shard const part = piece(owner, chunk);
        lane.copy_to_mailbox(lane.template contribution_at<T>(owner, step(chunk)), call.in + part.begin,
                             part.size());
      });
      lane.post_contributions(step(chunk));
      lane.ring(NRanks);
    }

    CHEVRON_HD void reduce(Epoch chunk) const {
      if (!lane.await_contributions(step(chunk))) return;
      Shard const mine = piece(lane.rank(), chunk);
      PerRank<T const*, NRanks> from;
      for (int rank = 0; rank < NRanks;
           ++rank) {  // by a constant index each, so that the pointers stay in registers
        from[rank] = rank == lane.rank() ? call.in + mine.begin
                                         : lane.template contribution_from<T>(rank, step(chunk));
      }
      detail::reduce_to_all<Op>(lane, Workers::this_lane, from, detail::advanced(all.out, mine.begin),
                                mine.size(), mine.begin, call.epilogue, call.stores);
      lane.post_results(step(chunk));
      lane.ring(NRanks);
    }
  };
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_SCATTER_ALL_GATHER_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_SCATTER_ALL_GATHER_HPP

//! @file
//! All-reduce for large buffers that lie anywhere: the data goes through the mailboxes in chunks.
//!
//! ```
//! step      | every rank r
//! contribute| chunk c of each other rank's shard into that rank's mailbox        (runs one chunk ahead)
//! reduce    | chunk c of my shard: my input and what lies in my mailbox -> my output and everybody's mailbox
//! gather    | chunk c of each other rank's shard: from my mailbox to my output
//! ```
//! Why two buffers are enough: a contribution for chunk c+2 is written after the results of chunk c have
//! come, so after its reader has reduced chunk c; a result for chunk c+2 is written after the contributions
//! for chunk c+2 have come, which their senders posted after they had gathered chunk c.

#include <chevron/algorithm/all_reduce/mailbox_chunks.hpp>
#include <chevron/algorithm/all_reduce/reduce_to_all.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>

CHEVRON_BODIES_BEGIN

namespace chevron {

//! @brief All-reduce as a reduce-scatter and all-gather staged through mailboxes.
//! @tparam NRanks  1 to 32
//! Shape:  in [count] elements per rank, out [count]; out == in is allowed
//! Memory: any, aligned to the element
//! Sync:   on return out is complete and in may be overwritten
//! Errors: timeout and the mismatches
//! Cost:   2 (N - 1) / N * count elements sent per rank, and as many copied once more on arrival; 2 (N - 1) flags a
//!         chunk
//! Source: the staged RS+AG of MSCCL++; double buffering without credits as argued above
template <int NRanks, Element T, class Op = Sum, class E = Identity>
requires RankCountInRange<NRanks> && ReductionOp<Op, T> && ElementEpilogue<E, T>
struct ReduceScatterAllGather {
  static constexpr char const* name = "reduce_scatter_all_gather";
  static constexpr Requirements needs = {.mailbox = true};

  template <class Lane>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call) {
    Staging<Lane> const staging{lane, call, {lane, call}};
    Epoch const chunks = staging.chunks.count();
    lane.begin(chunks);
    staging.chunks.contribute(0);
    for (Epoch chunk = 0; chunk < chunks && lane.ok(); ++chunk) {
      if (chunk + 1 < chunks) staging.chunks.contribute(chunk + 1);
      staging.reduce(chunk);
      if (lane.ok()) staging.gather(chunk);
    }
    lane.end_steps(chunks);
  }

 private:
  template <class Lane>
  struct Staging {
    Lane& lane;
    Call<T, E> const& call;
    detail::MailboxChunks<NRanks, T, E, Lane> chunks;

    CHEVRON_HD void reduce(Epoch chunk) const {
      Epoch const step = chunks.step(chunk);
      if (!lane.await_contributions(step)) return;
      Shard const mine = chunks.piece(lane.rank(), chunk);
      T* const result = call.out + mine.begin;
      detail::reduce_to_all<Op>(lane, Workers::this_lane, chunks.inputs(mine, chunk),
                                PerRank<T*, 1>{{result}}, mine.size(), mine.begin, call.epilogue,
                                Stores::temporal);
      if (!lane.agree()) return;  // the threads of a lane copy what others of it have reduced
      lane.for_each_peer([&](int peer) {
        lane.copy_to_mailbox(lane.template result_at<T>(peer, step), result, mine.size());
      });
      lane.post_results(step);
      lane.ring(NRanks);
    }

    CHEVRON_HD void gather(Epoch chunk) const {
      Epoch const step = chunks.step(chunk);
      if (!lane.await_results(step)) return;
      lane.for_each_peer([&](int owner) {
        Shard const part = chunks.piece(owner, chunk);
        lane.copy_from_mailbox(call.out + part.begin, lane.template result_from<T>(owner, step), part.size());
      });
    }
  };
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

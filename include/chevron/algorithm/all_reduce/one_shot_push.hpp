// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_ONE_SHOT_PUSH_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_ONE_SHOT_PUSH_HPP

//! @file
//! All-reduce for small buffers: every rank pushes its data into every peer's mailbox inside flagged packets,
//! and reduces what arrives. There is no barrier: a packet's flag is in the packet.
//!
//! ```
//! step    | rank 0                                   | rank 1
//! push    | packets of in0 into 1's mailbox          | packets of in1 into 0's mailbox
//! receive | as each packet of 1 comes: out0 = in0+in1| as each packet of 0 comes: out1 = in0+in1
//! ```
//! A mailbox has two buffers, used in turn by epoch: a rank that pushes for step e+2 has received everybody's
//! packets of step e+1, which they sent after they had read those of step e.

#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>

CHEVRON_BODIES_BEGIN

namespace chevron {

//! @brief All-reduce by pushing everything to everybody, for latency.
//! @tparam NRanks  1 to 32
//! Shape:  in [count] elements per rank, out [count]; out == in is allowed
//! Memory: any, aligned to the element
//! Sync:   on return out is complete and in may be overwritten; peers may still be reading their mailboxes
//! Errors: timeout and the mismatches
//! Cost:   (N - 1) * count elements sent per rank, in packets whose flags take an eighth more; no barrier
//! Source: the flagged-data (LL) protocols of NCCL, and the one-shot pushes of TensorRT-LLM and SGLang
template <int NRanks, Element T, class Op = Sum, class E = Identity>
requires RankCountInRange<NRanks> && ReductionOp<Op, T> && ElementEpilogue<E, T>
struct OneShotPush {
  static constexpr char const* name = "one_shot_push";
  static constexpr Requirements needs = {.packets = true};

  template <class Lane>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call) {
    Shard const mine = lane.template share_of<T>({0, call.count});
    std::size_t const capacity = lane.template packet_capacity<T>();
    std::size_t const steps = steps_for(mine.size(), capacity);
    lane.begin(static_cast<Epoch>(steps));
    for (std::size_t step = 0;; ++step) {
      Shard const part = step_of(mine, step, capacity);
      lane.begin_step();
      lane.exchange_part(part, call.in, call.out, [&](auto at, auto const& all) CHEVRON_INLINE_LAMBDA {
        return finish_pack<T>(call.epilogue, reduce_in_rank_order<Op>(all), at.index, at.valid);
      });
      // All of the lane has received this step before it pushes the next.
      if (step + 1 == steps || !lane.agree()) return;
    }
  }
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

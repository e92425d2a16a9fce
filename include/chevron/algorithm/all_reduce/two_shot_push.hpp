// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_TWO_SHOT_PUSH_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_TWO_SHOT_PUSH_HPP

//! @file
//! All-reduce for buffers of middle size that lie anywhere: shards are pushed to their owners, and the owners push the
//! results back, all of it in flagged packets and without a barrier.
//!
//! ```
//! step   | rank 0                                       | rank 1
//! push   | packets of in0[B] into 1's mailbox           | packets of in1[A] into 0's mailbox
//! reduce | as each packet comes: out0[A] = in0[A]+in1[A]| as each packet comes: out1[B] = in0[B]+in1[B]
//!        | ... and into 1's mailbox                     | ... and into 0's mailbox
//! gather | as each packet of 1 comes: out0[B]           | as each packet of 0 comes: out1[A]
//! ```
//! A round takes two epochs, so contributions and results have one of the mailbox's two buffers each. The next round's
//! contribution is pushed after this round's result has come, which its owner sent after it had read the contribution; the
//! next round's result is pushed after the next contribution has come, which was sent after this round's result was read.

#include <chevron/algorithm/all_reduce/mailbox_chunks.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>

CHEVRON_BODIES_BEGIN

namespace chevron {

//! @brief All-reduce as a reduce-scatter and an all-gather by flagged packets.
//! @tparam NRanks  1 to 32
//! Shape:  in [count] elements per rank, out [count]; out == in is allowed
//! Memory: any, aligned to the element
//! Sync:   on return out is complete and in may be overwritten; peers may still be reading their mailboxes
//! Errors: timeout and the mismatches
//! Cost:   2 (N - 1) / N * count elements sent per rank, in packets with flags; no barrier
//! Source: the two-shot LL protocols of NCCL, MSCCL++ and TensorRT-LLM
template <int NRanks, Element T, class Op = Sum, class E = Identity>
requires RankCountInRange<NRanks> && ReductionOp<Op, T> && ElementEpilogue<E, T>
struct TwoShotPush {
  static constexpr char const* name = "two_shot_push";
  static constexpr Requirements needs = {.packets = true};

  template <class Lane>
  CHEVRON_HD static void run(Lane& lane, Call<T, E> const& call) {
    std::size_t const capacity = lane.template packet_capacity<T>();
    // The same on every rank: rank 0's share is the longest.
    std::size_t const rounds = steps_for(detail::lane_share<NRanks, T>(lane, call.count, 0).size(), capacity);
    lane.begin(static_cast<Epoch>(2 * rounds));
    for (std::size_t round = 0;; ++round) {
      auto const part = [&](int owner) {
        return step_of(detail::lane_share<NRanks, T>(lane, call.count, owner), round, capacity);
      };
      lane.begin_step();
      lane.for_each_peer([&](int owner) {
        lane.template for_each_packet<T>(part(owner),
                                         [&](auto at) { lane.push_to(owner, at, lane.load(call.in, at)); });
      });
      lane.ring(NRanks);
      lane.template await_packets<T>(part(lane.rank()));
      lane.template for_each_packet<T>(part(lane.rank()), [&](auto at) {
        auto const own = lane.load(call.in, at);
        auto const all = lane.receive_from_all(at, own);
        if (!lane.ok()) return;
        auto result = own;
        if (at.valid != 0) {  // an owner of nothing sends an empty packet; there is nothing to reduce
          result = finish_pack<T>(call.epilogue, reduce_in_rank_order<Op>(all), at.index, at.valid);
          lane.store(call.out, at, result);
        }
        lane.push_to_all(at, result, 1);
      });
      lane.ring(NRanks);
      lane.for_each_peer([&](int owner) {
        lane.template for_each_packet<T>(part(owner), [&](auto at) {
          auto const result = lane.template receive_from<T>(owner, at, 1);
          if (lane.ok() && at.valid != 0) lane.store(call.out, at, result);
        });
      });
      lane.end_steps(1);
      if (round + 1 == rounds || !lane.agree()) return;
    }
  }
};

}  // namespace chevron

CHEVRON_BODIES_END

#endif

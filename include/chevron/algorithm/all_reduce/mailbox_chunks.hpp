// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_MAILBOX_CHUNKS_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_MAILBOX_CHUNKS_HPP

//! @file
//! How the algorithms with mailboxes cut what lanes own into chunks, and how inputs get to their owners.

#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/shard.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>

CHEVRON_BODIES_BEGIN

namespace chevron::detail {

//! @brief What this lane of `owner` owns of `count` elements. Rank 0's share is the longest.
template <int NRanks, class T, class Lane>
CHEVRON_HD Shard lane_share(Lane const& lane, std::size_t count, int owner) {
  return lane.template share_of<T>(shard_of<NRanks>(count, owner, Lane::template granule<T>));
}

//! @brief The chunks of a call. Chunk c is step c + 1 from the step at which a lane begins with them.
template <int NRanks, class T, class E, class Lane>
struct MailboxChunks {
  Lane& lane;
  Call<T, E> const& call;

  //! The same on every rank. At least one, so that ranks with no data meet.
  CHEVRON_HD Epoch count() const {
    return static_cast<Epoch>(steps_for(lane_share<NRanks, T>(lane, call.count, 0).size(), capacity()));
  }
  CHEVRON_HD static constexpr Epoch step(Epoch chunk) { return chunk + 1; }

  //! Chunk `chunk` of what `owner`'s lane owns.
  CHEVRON_HD Shard piece(int owner, Epoch chunk) const {
    return step_of(lane_share<NRanks, T>(lane, call.count, owner), chunk, capacity());
  }

  //! Sends each owner its chunk of this rank's input.
  CHEVRON_HD void contribute(Epoch chunk) const {
    lane.for_each_peer([&](int owner) {
      Shard const part = piece(owner, chunk);
      lane.copy_to_mailbox(lane.template contribution_at<T>(owner, step(chunk)), call.in + part.begin,
                           part.size());
    });
    lane.post_contributions(step(chunk));
    lane.ring(NRanks);
  }

  //! Where everybody's input for this rank's chunk `mine` lies once the contributions have come.
  CHEVRON_HD PerRank<T const*, NRanks> inputs(Shard mine, Epoch chunk) const {
    PerRank<T const*, NRanks> from;
    // By a constant index each, so that the pointers stay in registers.
    for (int rank = 0; rank < NRanks; ++rank) {
      from[rank] =
          rank == lane.rank() ? call.in + mine.begin : lane.template contribution_from<T>(rank, step(chunk));
    }
    return from;
  }

 private:
  CHEVRON_HD std::size_t capacity() const { return lane.template chunk_capacity<T>(); }
};

}  // namespace chevron::detail

CHEVRON_BODIES_END

#endif

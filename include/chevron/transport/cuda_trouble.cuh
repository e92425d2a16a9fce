// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_TROUBLE_CUH
#define CHEVRON_TRANSPORT_CUDA_TROUBLE_CUH

//! @file
//! What a device lane does when a word does not come: look for failures, compare calls, watch the deadline, and tell
//! everybody (contract C5).

#include <chevron/core/error.hpp>
#include <chevron/sync/epoch.hpp>
#include <chevron/sync/failure.hpp>
#include <chevron/transport/cuda_access.cuh>
#include <chevron/transport/cuda_segment.hpp>

#include <cstdint>

namespace chevron {

//! @brief The call that a lane is in.
struct CudaMoment {
  Epoch first = 0;   //!< the call's first step
  Epoch epoch = 0;   //!< the step
  Epoch parity = 0;  //!< of the call
};

//! @brief The slow side of waiting. Static functions of values: so the lane itself stays in registers.
template <int NRanks, cuda::thread_scope Scope>
struct CudaTrouble {
  using Access = DeviceAccess<Scope>;
  using View = CudaView<NRanks>;

  [[nodiscard]] CHEVRON_DEVICE static CudaSegmentHead& head(View const& view, int owner) {
    return *reinterpret_cast<CudaSegmentHead*>(view.segments[owner]);
  }
  [[nodiscard]] CHEVRON_DEVICE static CudaInbox& inbox(View const& view, int owner, int source) {
    return *reinterpret_cast<CudaInbox*>(view.segments[owner] +
                                         view.layout.inbox_at(static_cast<int>(blockIdx.x), source));
  }

  //! Ends the communicator for all ranks. Of several failures the first one stays, on all ranks: whose it is shows at
  //! rank 0.
  CHEVRON_DEVICE __noinline__ static void fail(View const& view, Errc code, int culprit, Epoch epoch) {
    Failure const failure{code, static_cast<std::uint8_t>(culprit), static_cast<std::uint8_t>(view.rank),
                          static_cast<std::uint8_t>(blockIdx.x), epoch};
    std::uint64_t const before = Access::replace(head(view, 0).abort, 0, failure.word());
    std::uint64_t const stands = before == 0 ? failure.word() : before;
    for (int peer = 0; peer < NRanks; ++peer) {
      Access::store_relaxed(head(view, peer).abort, stands);
      tell_host(view, peer, stands);
    }
  }

  //! Tells all peers what this lane calls. Lane 0 does it in every call; the others only where something is amiss: then it
  //! matters who has begun, also to those whom this thread does not wait for.
  CHEVRON_DEVICE static void greet(View const& view, CallGreeting const& mine, CudaMoment at) {
    for (int peer = 0; peer < NRanks; ++peer) {
      for (int word = 0; word < CudaInbox::greeting_words && peer != view.rank; ++word) {
        Access::store_relaxed(inbox(view, peer, view.rank).greeting[at.parity][word],
                              std::uint64_t{at.first} << 32 | mine.words[word]);
      }
    }
  }

  //! What a peer's call differs in from mine, as far as it has told: the first word that differs, so that all who look
  //! find the same. False: it differs, and that is everybody's failure now.
  CHEVRON_DEVICE __noinline__ static bool same_call(View const& view, CallGreeting const& mine, CudaMoment at,
                                                    int peer) {
    for (int word = 0; word < CudaInbox::greeting_words; ++word) {
      std::uint64_t const seen = Access::load_relaxed(inbox(view, view.rank, peer).greeting[at.parity][word]);
      auto const theirs = static_cast<std::uint32_t>(seen);
      if (static_cast<Epoch>(seen >> 32) != at.first || theirs == mine.words[word]) continue;
      fail(view, CallGreeting::difference(word, mine.words[word], theirs), peer, at.epoch);
      return false;
    }
    return true;
  }

  //! What a thread does that has looked in vain for a while.
  //! @param since  when it did so first (ns), 0 for never
  //! @return when it did so first; 0 when the communicator has failed
  [[nodiscard]] CHEVRON_DEVICE __noinline__ static std::uint64_t look_around(View const& view,
                                                                             CallGreeting const& mine,
                                                                             CudaMoment at, int peer,
                                                                             std::uint64_t since) {
    std::uint64_t failed = Access::load_relaxed(head(view, view.rank).abort);
    // A host that aborts can only write to its own memory.
    if (failed == 0) failed = DeviceAccess<cuda::thread_scope_system>::load_relaxed(*view.status[view.rank]);
    if (failed != 0) {
      tell_host(view, view.rank, failed);
      return 0;
    }
    // Two kernels of a rank at the same time take the same steps, and words of one are missed by the other.
    if (Access::load_relaxed(head(view, view.rank).kernels) > 1) {
      fail(view, Errc::concurrent_use, view.rank, at.epoch);
      return 0;
    }
    if (!same_call(view, mine, at, peer)) return 0;
    std::uint64_t const now = detail::nanoseconds_now();
    if (since == 0) {
      if (blockIdx.x != 0) greet(view, mine, at);
      return now;
    }
    if (now - since <= view.deadline_ns) return since;
    // Who has not even begun is to blame, not who waits for it in turn.
    int culprit = peer;
    for (int rank = 0; rank < NRanks; ++rank) {
      if (rank == view.rank) continue;
      std::uint64_t const greeting =
          Access::load_relaxed(inbox(view, view.rank, rank).greeting[at.parity][0]);
      if (static_cast<Epoch>(greeting >> 32) != at.first) culprit = rank;
    }
    fail(view, Errc::timeout, culprit, at.epoch);
    return 0;
  }

  //! A peer has arrived with another call: waits until it has told which, and says so to all.
  CHEVRON_DEVICE __noinline__ static void tell_difference(View const& view, CallGreeting const& mine,
                                                          CudaMoment at, int peer) {
    std::uint64_t since = 0;
    if (blockIdx.x != 0) greet(view, mine, at);
    for (int word = 0; word < CudaInbox::greeting_words; ++word) {
      std::uint64_t const& theirs = inbox(view, view.rank, peer).greeting[at.parity][word];
      while (static_cast<Epoch>(Access::load_relaxed(theirs) >> 32) != at.first) {
        since = look_around(view, mine, at, peer, since);
        if (since == 0) return;
      }
    }
    if (same_call(view, mine, at, peer)) fail(view, Errc::algorithm_mismatch, peer, at.epoch);
  }

  CHEVRON_DEVICE static void tell_host(View const& view, int rank, std::uint64_t failure) {
    DeviceAccess<cuda::thread_scope_system>::store_relaxed(*view.status[rank], failure);
  }
};

}  // namespace chevron

#endif

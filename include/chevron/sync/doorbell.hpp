// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SYNC_DOORBELL_HPP
#define CHEVRON_SYNC_DOORBELL_HPP

//! @file
//! How a rank that has nothing to do sleeps, and how a peer that has something for it wakes it.

#include <chevron/sync/flag.hpp>

#include <chrono>
#include <cstdint>

namespace chevron {

//! @brief Lives in the sleeper's memory, where all peers can reach it; one per lane.
//!
//! The peer stores its flag, then asks whether the owner sleeps; the owner says that it sleeps, then looks at
//! the flag once more. The fence between each one's two steps makes at least one of them see the other. A
//! sleep lasts `longest` at most, so that deadlines, aborts and dead peers are noticed as well.
struct alignas(128) Doorbell {
  std::uint32_t rings = 0;     //!< the futex word: counts wake-ups
  std::uint32_t sleeping = 0;  //!< 1 while the owner sleeps, or is about to

  //! Wakes the owner if it sleeps. Call after the flags are stored and after `store_load_fence`.
  template <class Access>
  void ring() {
    if (Access::load_relaxed(sleeping) == 0) return;
    ring_anyway<Access>();
  }

  //! Wakes the owner without asking whether it sleeps.
  template <class Access>
  void ring_anyway() {
    Access::increment(rings);
    Access::wake_sleepers(rings);
  }

  //! Sleeps until somebody rings, `longest` has passed, or at once when `there()` holds already.
  template <class Access, class Condition>
  void sleep_unless(Condition&& there, std::chrono::nanoseconds longest) {
    std::uint32_t const before = Access::load_acquire(rings);
    Access::store_relaxed(sleeping, std::uint32_t{1});
    Access::store_load_fence();
    if (!there()) Access::sleep_while(rings, before, longest);
    Access::store_relaxed(sleeping, std::uint32_t{0});
  }
};

}  // namespace chevron

#endif

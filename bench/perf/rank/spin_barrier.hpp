// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_RANK_SPIN_BARRIER_HPP
#define CHEVRON_PERF_RANK_SPIN_BARRIER_HPP

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace perf {

//! @brief A barrier for the threads of one process, or for processes if it lies in memory that they share.
class SpinBarrier {
 public:
  explicit SpinBarrier(int rank_count)
      : rank_count_(static_cast<std::uint32_t>(rank_count)),
        spins_(static_cast<unsigned>(rank_count) <= std::thread::hardware_concurrency() ? 2000 : 0) {}

  void arrive_and_wait() {
    auto const generation =
        generation_.load(std::memory_order_relaxed);  // can't change before this rank arrives
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == rank_count_) {
      arrived_.store(0, std::memory_order_relaxed);  // published by the release below
      generation_.store(generation + 1, std::memory_order_release);
      return;
    }
    for (int tries = 0; generation_.load(std::memory_order_acquire) == generation; ++tries) {
      if (tries < spins_) {
        pause();
      } else {
        ::sched_yield();  // with more ranks than cores somebody else may still be in a call that is timed
      }
    }
  }

 private:
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  std::uint32_t rank_count_;
  int spins_;
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;
  alignas(64) std::atomic<std::uint32_t> generation_ = 0;
};

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);  // so that processes can share it

}  // namespace perf

#endif

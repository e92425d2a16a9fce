// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SYNC_FLAG_HPP
#define CHEVRON_SYNC_FLAG_HPP

//! @file
//! Accesses to memory that ranks share, on a CPU. Every one goes through this policy, so that the order is
//! visible where it is used and a test can put a scheduler in its place.

#include <chevron/core/config.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace chevron {

//! @brief How a host lane touches shared memory. Words are 64 or 32 bits wide and naturally aligned.
//!
//! Flags are written by one rank only and live in the reader's memory. The functions that only tell
//! (`reading`, `writing`) do nothing here: the interleaving explorer of the tests checks with them that no
//! access to data races.
struct HostAccess {
  //! Everything that the writer of the value did before it is visible after this load.
  template <class Word>
  static Word load_acquire(Word const& word) {
    return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_acquire);
  }

  //! Everything done before is visible to whoever loads this value with acquire.
  template <class Word>
  static void store_release(Word& word, Word value) {
    std::atomic_ref<Word>(word).store(value, std::memory_order_release);
  }

  //! A value nobody orders anything by: diagnostics, and the hint that a peer sleeps.
  template <class Word>
  static Word load_relaxed(Word const& word) {
    return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_relaxed);
  }
  template <class Word>
  static void store_relaxed(Word& word, Word value) {
    std::atomic_ref<Word>(word).store(value, std::memory_order_relaxed);
  }

  //! Replaces `expected` by `value`; false when something else was there.
  static bool replace(std::uint64_t& word, std::uint64_t expected, std::uint64_t value) {
    return std::atomic_ref<std::uint64_t>(word).compare_exchange_strong(expected, value,
                                                                        std::memory_order_acq_rel);
  }
  static void increment(std::uint32_t& word) {
    std::atomic_ref<std::uint32_t>(word).fetch_add(1, std::memory_order_acq_rel);
  }

  //! Orders an earlier store before a later load: only between a flag and the question whether its reader
  //! sleeps. No data depends on it, a wake-up does, and a sleep is bounded all the same.
  static void store_load_fence() {
#if defined(__SANITIZE_THREAD__)
    // The thread sanitizer does not model fences (and g++ refuses them); nothing it checks depends on this
    // one.
    std::atomic<int> own{0};
    own.fetch_add(1, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

  //! Non-temporal stores are not ordered by a release; this makes them so.
  static void non_temporal_fence() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

  //! Copies past the caches; `to` is aligned to 16 bytes. A non_temporal_fence must come before the flag.
  static void copy_non_temporal(void* to, void const* from, std::size_t size_bytes) {
    auto target = static_cast<std::byte*>(to);
    auto source = static_cast<std::byte const*>(from);
#if defined(__SSE2__)
    for (; size_bytes >= sizeof(__m128i); size_bytes -= sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(target),
                       _mm_loadu_si128(reinterpret_cast<__m128i const*>(source)));
      target += sizeof(__m128i);
      source += sizeof(__m128i);
    }
#endif
    if (size_bytes != 0) std::memcpy(target, source, size_bytes);
  }

  //! Tells the core that this is a spin on a word.
  template <class Word>
  static void pause(Word const& /*awaited*/) {
#if defined(__SSE2__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
  }

  //! Asks for a line that another core has, to write it soon.
  template <class Line>
  static void will_write(Line const& line) {
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(line));  // a builtin would make a prefetch for reading of it
#else
    __builtin_prefetch(&line, 1);
#endif
  }

  //! Sleeps while `word` holds `value`, until it is woken or `longest` has passed; also returns for no reason.
  static void sleep_while(std::uint32_t const& word, std::uint32_t value, std::chrono::nanoseconds longest) {
    auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    timespec timeout{};
    timeout.tv_sec = static_cast<time_t>(seconds.count());
    timeout.tv_nsec = static_cast<long>((longest - seconds).count());
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
  }
  static void wake_sleepers(std::uint32_t const& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  static void reading(void const* /*data*/, std::size_t /*size_bytes*/) {}
  static void writing(void const* /*data*/, std::size_t /*size_bytes*/) {}
  static void writing_past_caches(void const* /*data*/, std::size_t /*size_bytes*/) {}
};

}  // namespace chevron

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_EXPLORED_ACCESS_HPP
#define CHEVRON_TESTS_EXPLORE_EXPLORED_ACCESS_HPP

#include "execution.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace chevron::test {

//! @brief The stand-in for HostAccess under which the library's own lanes and bodies are explored.
struct ExploredAccess {
  template <class Word>
  static Word load_acquire(Word const& word) {
    return Execution::current().load(word, true);
  }
  template <class Word>
  static void store_release(Word& word, Word value) {
    Execution::current().store(word, value, true);
  }
  template <class Word>
  static Word load_relaxed(Word const& word) {
    return Execution::current().load(word, false);
  }
  template <class Word>
  static void store_relaxed(Word& word, Word value) {
    Execution::current().store(word, value, false);
  }
  static bool replace(std::uint64_t& word, std::uint64_t expected, std::uint64_t value) {
    auto const change = [&](std::uint64_t was) { return was == expected ? value : was; };
    return Execution::current().update(word, change) == expected;
  }
  static void increment(std::uint32_t& word) {
    Execution::current().update(word, [](std::uint32_t was) { return was + 1; });
  }
  static void store_load_fence() { Execution::current().fence(); }
  static void copy_non_temporal(void* to, void const* from, std::size_t size_bytes) {
    std::memcpy(to, from, size_bytes);
  }
  static void non_temporal_fence() { Execution::current().non_temporal_fence(); }
  template <class Word>
  static void pause(Word const& awaited) {
    Execution::current().pause(awaited);
  }
  template <class Line>
  static void will_write(Line const& /*line*/) {}
  //! There is no clock here: who sleeps is woken, or sleeps for ever.
  static void sleep_while(std::uint32_t const& word, std::uint32_t value,
                          std::chrono::nanoseconds /*longest*/) {
    Execution::current().sleep_on(word, value);
  }
  static void wake_sleepers(std::uint32_t const& word) { Execution::current().wake(word); }
  static void reading(void const* data, std::size_t size_bytes) {
    Execution::current().reading(data, size_bytes);
  }
  static void writing(void const* data, std::size_t size_bytes) {
    Execution::current().writing(data, size_bytes);
  }
  static void writing_past_caches(void const* data, std::size_t size_bytes) {
    Execution::current().writing_past_caches(data, size_bytes);
  }
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_CLOCK_HPP
#define CHEVRON_TESTS_EXPLORE_CLOCK_HPP

#include <array>
#include <cstddef>
#include <cstdint>

namespace chevron::test {

//! The most threads that a program under exploration may have.
inline constexpr int max_threads = 6;

//! @brief A set of threads, one bit each.
using ThreadSet = std::uint32_t;
constexpr ThreadSet only(int thread) { return ThreadSet{1} << thread; }
constexpr bool has(ThreadSet set, int thread) { return (set >> thread & 1u) != 0; }
constexpr int lowest(ThreadSet set) { return __builtin_ctz(set); }

//! @brief A vector clock: up to which of each thread's times everything has happened before.
class Clock {
 public:
  [[nodiscard]] bool covers(int thread, std::uint32_t time) const { return (*this)[thread] >= time; }
  void join(Clock const& other) {
    for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = at_[i] > other.at_[i] ? at_[i] : other.at_[i];
  }
  std::uint32_t& operator[](int thread) { return at_[static_cast<std::size_t>(thread)]; }
  std::uint32_t operator[](int thread) const { return at_[static_cast<std::size_t>(thread)]; }

 private:
  std::array<std::uint32_t, max_threads> at_{};
};

//! @brief One value per thread.
template <class Value>
class PerThread {
 public:
  Value& operator[](int thread) { return of_[static_cast<std::size_t>(thread)]; }
  Value const& operator[](int thread) const { return of_[static_cast<std::size_t>(thread)]; }

 private:
  std::array<Value, max_threads> of_{};
};

}  // namespace chevron::test

#endif

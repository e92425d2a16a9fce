// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_STRATEGY_HPP
#define CHEVRON_TESTS_EXPLORE_STRATEGY_HPP

//! @file
//! What decides which thread goes on: the interface between one execution and the search for the next.

#include "clock.hpp"

#include <cstdint>

namespace chevron::test {

//! @brief What a thread is about to do with a word that others can reach.
struct Op {
  enum Kind : unsigned char { begin, load, store, update, fence };
  Kind kind = begin;
  std::uintptr_t word = 0;

  [[nodiscard]] bool writes() const { return kind == store || kind == update; }
};

//! @brief Whether the order of two threads' operations can make a difference.
inline bool dependent(Op const& a, Op const& b) {
  return a.word != 0 && a.word == b.word && (a.writes() || b.writes());
}

//! @brief A point of an execution at which a thread must be chosen.
struct Crossroads {
  ThreadSet ready = 0;
  PerThread<Op> next{};                    //!< what each thread would do
  PerThread<std::uintptr_t> blocked_on{};  //!< the word whose value a thread waits for, 0 where it does not
};

class Strategy {
 public:
  static constexpr int give_up = -1;

  Strategy() = default;
  Strategy(Strategy const&) = delete;
  Strategy& operator=(Strategy const&) = delete;
  virtual ~Strategy() = default;

  //! Prepares the next execution; false when there is none.
  virtual bool begin() = 0;
  //! One of `at.ready`, or `give_up` where going on can show nothing new.
  virtual int choose(Crossroads const& at) = 0;
  //! The thread that was chosen has done what it was about to do.
  virtual void performed(int thread, Op op) = 0;
  //! It was a look at a word that did not hold what was wanted: as if it had not happened. The thread will
  //! look again once somebody has written to the word.
  virtual void fruitless(int thread, Op op) = 0;
  //! `thread` has put a store into its store buffer, from where `drain` will perform it.
  virtual void buffered(int /*thread*/, int /*drain*/) {}
  //! How to see this execution again, for people.
  [[nodiscard]] virtual char const* name() const = 0;
};

}  // namespace chevron::test

#endif

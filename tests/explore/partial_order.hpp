// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_PARTIAL_ORDER_HPP
#define CHEVRON_TESTS_EXPLORE_PARTIAL_ORDER_HPP

//! @file
//! Every execution that differs in more than the order of operations that do not depend on each other:
//! dynamic partial-order reduction with source sets (Abdulla and others, POPL 2014) and sleep sets.
//!
//! A look that fails is no step of an execution (see Strategy::fruitless): a wait is one operation, which is
//! not ready until the word holds what is waited for. So a program whose flags order everything has one
//! execution.

#include "clock.hpp"
#include "strategy.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace chevron::test {

class PartialOrder final : public Strategy {
 public:
  bool begin() override {
    if (!nodes_.empty() && !advance()) return false;
    if (nodes_.empty() && exhausted_) return false;
    exhausted_ = true;
    depth_ = 0;
    clocks_ = {};
    words_.clear();
    for (int thread = 0; thread < max_threads; ++thread) buffered_[thread].clear();
    drains_ = {};
    return true;
  }

  int choose(Crossroads const& at) override {
    if (depth_ == nodes_.size()) {
      nodes_.push_back(new_node(at));
      choose_first(nodes_.back());
    } else if (nodes_[depth_].choice == none) {
      choose_again(nodes_[depth_]);
    }
    return nodes_[depth_].choice;
  }

  void performed(int thread, Op op) override {
    Clock& clock = clocks_[thread];
    clock_before_ = clock;
    // These wait until the thread's store buffer is empty, so they come after all that its drain has done.
    if ((op.kind == Op::fence || op.kind == Op::update) && drains_[thread] != 0)
      clock.join(clocks_[drains_[thread]]);
    if (op.word != 0) {
      Word& word = words_[op.word];
      find_races(thread, op, word);
      clock[thread] += 1;
      if (!buffered_[thread].empty()) {  // `thread` is the drain of a store buffer
        clock.join(buffered_[thread].front());
        buffered_[thread].pop_front();
      }
      if (!word.writes.empty()) clock.join(word.writes.back().clock);
      if (op.writes()) {
        for (Event const& read : word.reads) clock.join(read.clock);
        word.writes.push_back({depth_, thread, clock});
        word.reads.clear();
      } else {
        word.reads.push_back({depth_, thread, clock});
      }
    } else {
      clock[thread] += 1;
    }
    events_.resize(depth_);
    events_.push_back({depth_, thread, clock});
    ++depth_;
  }

  void fruitless(int thread, Op op) override {
    --depth_;
    clocks_[thread] = clock_before_;
    words_[op.word].reads.pop_back();
    Node& node = nodes_[depth_];
    node.ready &= ~only(thread);
    node.backtrack &= ~only(thread);
    node.blocked_on[thread] = op.word;
    node.choice = none;
    // Another order was to be tried here, and this thread can't go first: any of the others may have to.
    if (node.done != 0) node.backtrack |= node.ready;
  }

  void buffered(int thread, int drain) override {
    buffered_[drain].push_back(clocks_[thread]);
    drains_[thread] = drain;
  }

  [[nodiscard]] char const* name() const override { return "partial-order reduction"; }

 private:
  static constexpr int none = -1;

  struct Node {
    ThreadSet ready = 0;
    ThreadSet sleep = 0;      //!< what these would do first has been explored from here
    ThreadSet backtrack = 0;  //!< to be explored from here
    ThreadSet done = 0;
    int choice = none;
    PerThread<Op> next{};
    PerThread<std::uintptr_t> blocked_on{};
  };
  struct Event {
    std::size_t node;
    int thread;
    Clock clock;

    [[nodiscard]] std::uint32_t time() const { return clock[thread]; }
    [[nodiscard]] bool before(Event const& other) const { return other.clock.covers(thread, time()); }
  };
  struct Word {
    std::vector<Event> writes{};
    std::vector<Event> reads{};  //!< since the last write
  };

  //! Moves to the deepest node from which something is left to explore.
  bool advance() {
    for (; !nodes_.empty(); nodes_.pop_back()) {
      Node& node = nodes_.back();
      if (node.choice != none) node.done |= only(node.choice);
      if (ThreadSet const left = node.backtrack & ~node.done & ~node.sleep; left != 0) {
        node.choice = lowest(left);
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] Node new_node(Crossroads const& at) const {
    Node node;
    node.ready = at.ready;
    node.next = at.next;
    node.blocked_on = at.blocked_on;
    if (nodes_.empty()) return node;
    Node const& parent = nodes_.back();
    Op const step = parent.next[parent.choice];
    for (int thread = 0; thread < max_threads; ++thread) {
      bool const slept = has(parent.sleep | parent.done, thread) && thread != parent.choice;
      if (slept && !dependent(parent.next[thread], step)) node.sleep |= only(thread);
      std::uintptr_t const word = parent.blocked_on[thread];
      if (word != 0 && thread != parent.choice && !(step.writes() && step.word == word)) {
        node.blocked_on[thread] = word;  // a look that failed in an earlier execution would fail again
        node.ready &= ~only(thread);
      }
    }
    return node;
  }

  void choose_first(Node& node) const {
    ThreadSet const left = node.ready & ~node.sleep;
    if (left == 0) return;  // all that is left has been explored elsewhere
    int const last = nodes_.size() < 2 ? none : nodes_[nodes_.size() - 2].choice;
    node.choice = last != none && has(left, last) ? last : lowest(left);
    node.backtrack |= only(node.choice);
  }

  void choose_again(Node& node) const {
    if (node.done == 0) return choose_first(node);
    if (ThreadSet const left = node.backtrack & ~node.done & ~node.sleep; left != 0)
      node.choice = lowest(left);
  }

  //! Where this step might have come before another thread's that it depends on, that order is to be explored
  //! too.
  void find_races(int thread, Op op, Word const& word) {
    auto const unordered = [&](Event const& event) {
      return event.thread != thread && !clocks_[thread].covers(event.thread, event.time());
    };
    for (auto write = word.writes.rbegin(); write != word.writes.rend() && unordered(*write); ++write) {
      if (nodes_[write->node].blocked_on[thread] == op.word)
        continue;  // it could not: this is what it waited for
      if (!op.writes() || word.reads.empty()) reverse(*write, thread, op, word);
      break;
    }
    if (!op.writes()) return;
    for (Event const& read : word.reads) {
      bool immediate = unordered(read);
      for (Event const& later : word.reads)
        immediate = immediate && !(later.thread != read.thread && read.before(later));
      if (immediate) reverse(read, thread, op, word);
    }
  }

  //! Makes sure that what follows without `first`, up to `thread`'s `op`, is explored from where `first` was
  //! taken.
  void reverse(Event const& first, int thread, Op op, Word const& word) {
    Clock clock = clocks_[thread];
    auto const depend_on = [&](Event const& event) {
      if (event.node > first.node && !first.before(event)) clock.join(event.clock);
    };
    for (Event const& write : word.writes) depend_on(write);
    if (op.writes()) {
      for (Event const& read : word.reads) depend_on(read);
    }
    // Which threads may begin: those whose first step comes after none of the others'.
    ThreadSet begun = 0;
    ThreadSet initials = 0;
    std::vector<Event const*> rest;
    auto const append = [&](int who, Clock const& when) {
      bool comes_first = !has(begun, who);
      for (Event const* event : rest) comes_first = comes_first && !when.covers(event->thread, event->time());
      if (comes_first) initials |= only(who);
      begun |= only(who);
    };
    for (std::size_t i = first.node + 1; i < depth_; ++i) {
      if (first.before(events_[i])) continue;
      append(events_[i].thread, events_[i].clock);
      rest.push_back(&events_[i]);
    }
    append(thread, clock);

    Node& node = nodes_[first.node];
    if ((initials & (node.backtrack | node.sleep)) != 0) return;
    ThreadSet const able = initials & node.ready;
    node.backtrack |= able != 0 ? only(has(able, thread) ? thread : lowest(able)) : node.ready;
  }

  std::vector<Node> nodes_{};
  std::vector<Event> events_{};  //!< of this execution, one per node
  std::size_t depth_ = 0;
  bool exhausted_ = false;
  PerThread<Clock> clocks_{};
  Clock clock_before_{};
  std::unordered_map<std::uintptr_t, Word> words_{};
  PerThread<std::deque<Clock>> buffered_{};
  PerThread<int> drains_{};  //!< 0 where a thread has buffered nothing yet
};

}  // namespace chevron::test

#endif

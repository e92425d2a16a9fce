// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_BOUNDED_SEARCH_HPP
#define CHEVRON_TESTS_EXPLORE_BOUNDED_SEARCH_HPP

//! @file
//! Every execution with no more than so many preemptions, depth first (Musuvathi and Qadeer, PLDI 2007). It
//! knows nothing of dependences, except that words which only one thread uses make no difference: so it also
//! checks what the partial-order reduction leaves out.

#include "clock.hpp"
#include "strategy.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace chevron::test {

class BoundedSearch final : public Strategy {
 public:
  explicit BoundedSearch(int most_preemptions) : most_preemptions_(most_preemptions) {}

  bool begin() override {
    if (found_shared_word_) {
      found_shared_word_ = false;
      nodes_.clear();  // what was taken for one thread's own is shared: from the beginning
    } else if (begun_ && !advance()) {
      return false;
    }
    begun_ = true;
    depth_ = 0;
    running_ = none;
    return true;
  }

  int choose(Crossroads const& at) override {
    chose_at_node_ = false;
    for (int thread = 0; thread < max_threads; ++thread) {
      if (has(at.ready, thread) && !is_shared(at.next[thread])) return thread;
    }
    chose_at_node_ = true;
    if (depth_ < nodes_.size()) return nodes_[depth_].choice;
    bool const goes_on = running_ != none && has(at.ready, running_);
    Node node;
    node.running = running_;
    node.preemptions = preemptions_before();
    node.choice = goes_on ? running_ : lowest(at.ready);
    if (!goes_on || node.preemptions < most_preemptions_) node.left = at.ready & ~only(node.choice);
    node.preempts = goes_on;
    nodes_.push_back(node);
    return node.choice;
  }

  void performed(int thread, Op op) override {
    note_user(thread, op);
    if (!chose_at_node_) return;
    ++depth_;
    running_ = thread;
  }

  void fruitless(int /*thread*/, Op) override {
    if (!chose_at_node_) return;
    --depth_;
    running_ = nodes_[depth_].running;
    // The first choice: the same crossroads comes again without the thread that must wait. A later one: what
    // would come next has been explored from here already.
    bool const first = !nodes_[depth_].returned_to;
    if (first) {
      nodes_.pop_back();
    } else {
      nodes_[depth_].choice = give_up;
    }
  }

  [[nodiscard]] char const* name() const override { return "preemption-bounded search"; }

 private:
  static constexpr int none = -1;

  struct Node {
    int running = none;  //!< the thread that ran before
    int choice = none;
    int preemptions = 0;    //!< before
    bool preempts = false;  //!< whether a choice other than `running` is one more
    bool returned_to = false;
    ThreadSet left = 0;
  };

  bool advance() {
    for (; !nodes_.empty(); nodes_.pop_back()) {
      Node& node = nodes_.back();
      if (node.left == 0) continue;
      node.choice = lowest(node.left);
      node.left &= ~only(node.choice);
      node.returned_to = true;
      return true;
    }
    return false;
  }

  [[nodiscard]] int preemptions_before() const {
    if (nodes_.empty()) return 0;
    Node const& last = nodes_.back();
    return last.preemptions + (last.preempts && last.choice != last.running ? 1 : 0);
  }

  struct Users {
    ThreadSet readers = 0;
    ThreadSet writers = 0;
    bool shared = false;
  };

  [[nodiscard]] bool is_shared(Op const& op) const {
    auto const users = users_.find(op.word);
    return users != users_.end() && users->second.shared;
  }

  void note_user(int thread, Op op) {
    if (op.word == 0) return;
    Users& users = users_[op.word];
    (op.writes() ? users.writers : users.readers) |= only(thread);
    ThreadSet const all = users.readers | users.writers;
    if (users.shared || users.writers == 0 || (all & (all - 1)) == 0) return;
    users.shared = found_shared_word_ = true;
  }

  int most_preemptions_;
  std::vector<Node> nodes_{};
  std::size_t depth_ = 0;
  int running_ = none;
  bool begun_ = false;
  bool chose_at_node_ = false;
  bool found_shared_word_ = false;
  std::unordered_map<std::uintptr_t, Users> users_{};
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_RANDOM_WALK_HPP
#define CHEVRON_TESTS_EXPLORE_RANDOM_WALK_HPP

//! @file
//! Random executions: every thread has a priority, the highest one that can go on does, and a few times it
//! loses its own (Burckhardt and others, ASPLOS 2010). A bug that needs few ordered steps is found with a
//! known probability.

#include "clock.hpp"
#include "strategy.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace chevron::test {

class RandomWalk final : public Strategy {
 public:
  RandomWalk(std::uint64_t seed, std::uint64_t walks, int most_changes)
      : seed_(seed), walks_(walks), most_changes_(most_changes) {}

  bool begin() override {
    if (walk_ == walks_) return false;
    longest_ = steps_ > longest_ ? steps_ : longest_;
    steps_ = 0;
    running_ = -1;
    random_.seed(seed_ + walk_);
    name_ = "random walk with seed " + std::to_string(seed_ + walk_);
    ++walk_;
    for (int thread = 0; thread < max_threads; ++thread) {
      priority_[thread] = static_cast<std::int64_t>(random_() >> 2);
    }
    changes_.clear();
    for (int i = 0; i < most_changes_; ++i) changes_.push_back(random_() % (longest_ + 1));
    return true;
  }

  int choose(Crossroads const& at) override {
    for (std::uint64_t const change : changes_) {
      if (change == steps_ && running_ >= 0) priority_[running_] = -static_cast<std::int64_t>(steps_);
    }
    int best = -1;
    for (int thread = 0; thread < max_threads; ++thread) {
      if (has(at.ready, thread) && (best < 0 || priority_[thread] > priority_[best])) best = thread;
    }
    return best;
  }

  void performed(int thread, Op /*op*/) override {
    ++steps_;
    running_ = thread;
  }
  void fruitless(int /*thread*/, Op /*op*/) override {}

  [[nodiscard]] char const* name() const override { return name_.c_str(); }

 private:
  std::uint64_t seed_;
  std::uint64_t walks_;
  int most_changes_;
  std::uint64_t walk_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t longest_ = 100;
  int running_ = -1;
  std::string name_{};
  std::mt19937_64 random_{};
  PerThread<std::int64_t> priority_{};
  std::vector<std::uint64_t> changes_{};
};

}  // namespace chevron::test

#endif

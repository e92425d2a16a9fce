// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_TRACE_HPP
#define CHEVRON_TESTS_EXPLORE_TRACE_HPP

//! @file
//! What an execution did, step by step, and what is wrong with it.

#include "memory_map.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace chevron::test {

//! @brief Something wrong that an execution has shown.
struct Finding {
  enum Kind : unsigned char { race, deadlock, wrong_result, stray_access, endless };
  Kind kind;
  std::string text;
};

//! @brief One access to a word.
struct Step {
  int thread;
  char const* what;
  std::uintptr_t address;
  std::uint64_t value;
};

class Trace {
 public:
  void clear() { steps_.clear(); }
  void add(Step const& step) { steps_.push_back(step); }
  [[nodiscard]] std::size_t size() const { return steps_.size(); }

  //! Takes the last step back, if it is this thread's on this word.
  bool take_back(int thread, std::uintptr_t address) {
    if (steps_.empty() || steps_.back().thread != thread || steps_.back().address != address) return false;
    steps_.pop_back();
    return true;
  }

  //! The last steps, one a line; stamps appear as epoch.signature.
  [[nodiscard]] std::string text(MemoryMap const& memory) const {
    std::string text;
    std::size_t const from = steps_.size() > shown ? steps_.size() - shown : 0;
    for (std::size_t i = from; i < steps_.size(); ++i) {
      Step const& step = steps_[i];
      text += "\n  " + std::to_string(i) + ": thread " + std::to_string(step.thread) + ": " + step.what +
              " " + memory.describe(step.address) + ": " + std::to_string(step.value >> 32) + "." +
              std::to_string(step.value & 0xffffffffu);
    }
    return text;
  }

 private:
  static constexpr std::size_t shown = 80;

  std::vector<Step> steps_{};
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_TALLY_HPP
#define CHEVRON_TESTS_EXPLORE_TALLY_HPP

#include "explore.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace chevron::test {

//! @brief Adds up what was explored for one purpose, and prints it in the end.
class Tally {
 public:
  explicit Tally(std::string what) : what_(std::move(what)) {}
  Tally(Tally const&) = delete;
  Tally& operator=(Tally const&) = delete;
  ~Tally() {
    std::chrono::duration<double> const time = std::chrono::steady_clock::now() - begin_;
    std::printf("%-58s %7llu scenarios %8llu executions %8llu cut short, %5zu steps at most, %5.1f s\n",
                what_.c_str(), static_cast<unsigned long long>(scenarios_),
                static_cast<unsigned long long>(sum_.complete),
                static_cast<unsigned long long>(sum_.given_up), sum_.longest, time.count());
    std::fflush(stdout);
  }
  Report const& operator+=(Report const& report) {
    ++scenarios_;
    sum_ += report;
    return report;
  }

 private:
  std::string what_;
  std::uint64_t scenarios_ = 0;
  Report sum_{};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace chevron::test

#endif

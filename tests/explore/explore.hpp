// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_EXPLORE_HPP
#define CHEVRON_TESTS_EXPLORE_EXPLORE_HPP

#include "execution.hpp"
#include "strategy.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace chevron::test {

//! @brief What an exploration has seen.
struct Report {
  std::uint64_t complete = 0;  //!< executions that ran to their end
  std::uint64_t given_up = 0;  //!< that could show nothing new from some point on
  std::size_t longest = 0;     //!< steps of the longest one
  bool exhausted = false;      //!< nothing is left that the strategy would try
  std::optional<Finding> finding{};

  Report& operator+=(Report const& other) {
    complete += other.complete;
    given_up += other.given_up;
    longest = longest > other.longest ? longest : other.longest;
    exhausted = exhausted && other.exhausted;
    if (!finding) finding = other.finding;
    return *this;
  }
};

inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

//! @brief Runs a program again and again, as the strategy wants it, until something is wrong or nothing is
//! left.
inline Report explore(Execution& execution, Strategy& strategy, std::uint64_t most_executions = no_limit) {
  Report report;
  for (std::uint64_t i = 0; i < most_executions; ++i) {
    if (!strategy.begin()) {
      report.exhausted = true;
      return report;
    }
    Execution::End const end = execution.run(strategy);
    (end == Execution::End::given_up ? report.given_up : report.complete) += 1;
    if (execution.steps() > report.longest) report.longest = execution.steps();
    if (end == Execution::End::failed) {
      report.finding = execution.finding();
      return report;
    }
  }
  return report;
}

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_RANK_COUNTS_HPP
#define CHEVRON_TESTS_SUPPORT_RANK_COUNTS_HPP

#include <cstdlib>
#include <string>

namespace chevron::test {

//! Whether a matrix shall run for so many ranks: all of them, or those of the environment's CHEVRON_TEST_RANKS, such as
//! 2 or 5-8. With it a machine of many cores works on several parts of a matrix at a time.
inline bool is_wanted_rank_count(int ranks) {
  char const* const given = std::getenv("CHEVRON_TEST_RANKS");
  if (given == nullptr || given[0] == '\0') return true;
  std::string const text = given;
  auto const dash = text.find('-');
  int const first = std::atoi(text.c_str());
  int const last = dash == std::string::npos ? first : std::atoi(text.c_str() + dash + 1);
  return ranks >= first && ranks <= last;
}

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_FULL_HPP
#define CHEVRON_TESTS_SUPPORT_FULL_HPP

#include <cstdlib>

namespace chevron::test {

//! Whether a test shall take its time and leave nothing out: CHEVRON_TEST_FULL=1.
inline bool full_run() {
  char const* const full = std::getenv("CHEVRON_TEST_FULL");
  return full != nullptr && full[0] != '\0' && full[0] != '0';
}

}  // namespace chevron::test

#endif

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

//! Whether a test shall do as little as still means something, as under tools that slow it down a hundred times:
//! CHEVRON_TEST_SMALL=1.
inline bool small_run() {
  char const* const small = std::getenv("CHEVRON_TEST_SMALL");
  return small != nullptr && small[0] != '\0' && small[0] != '0';
}

//! How much of something: usually, with CHEVRON_TEST_FULL=1, with CHEVRON_TEST_SMALL=1.
template <class Amount>
Amount amount(Amount usual, Amount full, Amount small) {
  return small_run() ? small : full_run() ? full : usual;
}

}  // namespace chevron::test

#endif

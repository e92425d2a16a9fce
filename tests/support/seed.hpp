// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_SEED_HPP
#define CHEVRON_TESTS_SUPPORT_SEED_HPP

#include <cstdint>
#include <cstdlib>
#include <random>

namespace chevron::test {

//! The seed of this run's random data: another one each time, or the environment's CHEVRON_TEST_SEED, to
//! repeat a run. A test that uses it says so where it may fail: `INFO("CHEVRON_TEST_SEED=" << seed())`.
inline std::uint32_t seed() {
  static std::uint32_t const value = [] {
    char const* const given = std::getenv("CHEVRON_TEST_SEED");
    return given != nullptr ? static_cast<std::uint32_t>(std::strtoul(given, nullptr, 0))
                            : std::random_device{}();
  }();
  return value;
}

}  // namespace chevron::test

#endif

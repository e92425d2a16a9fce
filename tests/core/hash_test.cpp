// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hashes: the same in every build, since ranks compare them, and different for what ranks must not mix up.
#include <chevron/core/hash.hpp>

#include <support/catch.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace {

using namespace chevron;

// The published values of 64-bit FNV-1a.
static_assert(hash_of("") == 0xcbf29ce484222325u);
static_assert(hash_of("a") == 0xaf63dc4c8601ec8cu);
static_assert(hash_of("foobar") == 0x85944171f73967e8u);

}  // namespace

TEST_CASE("Texts that differ a little have different hashes") {
  std::set<std::uint32_t> hashes;
  std::size_t texts = 0;
  for (std::string const word :
       {"all_reduce", "all_reducE", "all_reduce ", "", "one_shot_push", "two_shot_push"}) {
    for (int number = 0; number < 1000; ++number, ++texts)
      hashes.insert(hash32(word + std::to_string(number)));
  }
  CHECK(hashes.size() >= texts - 1);  // of 6000, one pair may collide by chance
}

TEST_CASE("Every bit of a number, and the order of numbers, changes a mix") {
  std::set<std::uint32_t> mixes{mix(1, 0)};
  for (int bit = 0; bit < 64; ++bit) mixes.insert(mix(1, std::uint64_t{1} << bit));
  CHECK(mixes.size() >= 64);  // bit 0 meets the hash itself there

  CHECK(mix(mix(0, 2), 3) != mix(mix(0, 3), 2));
}

TEST_CASE("A changed bit changes about half of the bits of a mix") {
  int changed = 0;
  for (std::uint64_t number = 0; number < 64; ++number) {
    for (int bit = 0; bit < 64; ++bit) {
      std::uint32_t const difference = mix(7, number) ^ mix(7, number ^ std::uint64_t{1} << bit);
      changed += __builtin_popcount(difference);
    }
  }
  double const average = changed / (64.0 * 64.0);
  CHECK(average > 14);
  CHECK(average < 18);
}

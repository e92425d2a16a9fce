// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/core/shard.hpp>

#include <support/catch.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace {

using chevron::part_of;
using chevron::Shard;
using chevron::step_of;
using chevron::test::Rng;
using chevron::test::seed;

//! What part_of promises, in words; empty where it keeps it.
std::string broken_promise(Shard whole, int parts, std::size_t granule) {
  std::size_t expected_begin = whole.begin;
  std::size_t shortest = whole.size();
  std::size_t longest = 0;
  bool ended = false;
  for (int i = 0; i < parts; ++i) {
    Shard const part = part_of(whole, parts, i, granule);
    if (part.begin != expected_begin)
      return "part " + std::to_string(i) + " does not begin where the one before ends";
    if (part.end < part.begin) return "part " + std::to_string(i) + " ends before it begins";
    if (ended && !part.empty())
      return "part " + std::to_string(i) + " is not empty, after one that ended mid-granule";
    if (part.size() % granule != 0) ended = true;
    std::size_t const granules = part.size() / granule + (part.size() % granule != 0 ? 1 : 0);
    shortest = granules < shortest ? granules : shortest;
    longest = granules > longest ? granules : longest;
    expected_begin = part.end;
  }
  if (expected_begin != whole.end) return "the parts do not cover the whole";
  if (longest > shortest + 1) return "two parts differ by more than a granule";
  if (parts > 0 && part_of(whole, parts, 0, granule).size() / granule < longest - (longest > 0 ? 1 : 0)) {
    return "the first part is not the longest";
  }
  return {};
}

TEST_CASE(
    "parts are disjoint, in order, cover the whole, begin at granules and differ by one at most: small "
    "ones") {
  for (std::size_t const begin : {0u, 1u, 64u}) {
    for (std::size_t size = 0; size <= 130; ++size) {
      for (int parts = 1; parts <= 17; ++parts) {
        for (std::size_t const granule : {1u, 2u, 3u, 8u, 16u, 64u}) {
          std::string const broken = broken_promise({begin, begin + size}, parts, granule);
          if (broken.empty()) continue;  // a million assertions would be slow
          INFO("begin " << begin << ", size " << size << ", parts " << parts << ", granule " << granule);
          REQUIRE(broken == "");
        }
      }
    }
  }
  SUCCEED("all of them");
}

TEST_CASE("parts keep their promises for any size up to 2^63") {
  Rng rng(seed());
  for (int i = 0; i < 20'000; ++i) {
    std::size_t const size = rng.spread(std::size_t{1} << 63);
    std::size_t const begin = rng.spread(std::size_t{1} << 62);
    int const parts = static_cast<int>(rng.between(1, 64));
    std::size_t const granule = rng.one_of<std::size_t>({1, 8, 16, 32, 64, rng.spread(1'000'000)});
    std::string const broken = broken_promise({begin, begin + size}, parts, granule);
    if (broken.empty()) continue;
    INFO("CHEVRON_TEST_SEED=" << seed() << ": begin " << begin << ", size " << size << ", parts " << parts
                              << ", granule " << granule);
    REQUIRE(broken == "");
  }
  SUCCEED("all of them");
}

TEST_CASE("the parts of a few wholes") {
  STATIC_REQUIRE(part_of({0, 10}, 1, 0, 16) == Shard{0, 10});
  STATIC_REQUIRE(part_of({0, 100}, 3, 0, 16) == Shard{0, 48});
  STATIC_REQUIRE(part_of({0, 100}, 3, 1, 16) == Shard{48, 80});
  STATIC_REQUIRE(part_of({0, 100}, 3, 2, 16) == Shard{80, 100});
  STATIC_REQUIRE(part_of({0, 16}, 4, 0, 16) == Shard{0, 16});
  STATIC_REQUIRE(part_of({0, 16}, 4, 3, 16) == Shard{16, 16});
  STATIC_REQUIRE(part_of({5, 5}, 2, 1, 8).empty());
  STATIC_REQUIRE(chevron::shard_of<2>(33, 1, 16) == Shard{32, 33});
  STATIC_REQUIRE(chevron::longest_shard<2>(33, 16) == 32);
}

TEST_CASE("steps cover a part, each but the last as long as asked for") {
  Rng rng(seed());
  for (int i = 0; i < 2'000; ++i) {
    std::size_t const begin = rng.below(1000);
    Shard const part{begin, begin + rng.below(5000)};
    std::size_t const step_size = rng.spread(700);
    INFO("CHEVRON_TEST_SEED=" << seed() << ": [" << part.begin << ", " << part.end << ") by " << step_size);
    std::size_t at = part.begin;
    std::size_t step = 0;
    for (; at < part.end; ++step) {
      Shard const piece = step_of(part, step, step_size);
      REQUIRE(piece.begin == at);
      REQUIRE((piece.size() == step_size || (piece.end == part.end && !piece.empty())));
      at = piece.end;
    }
    REQUIRE(step_of(part, step, step_size).empty());
    REQUIRE(step_of(part, step, step_size).end == part.end);
  }
}

}  // namespace

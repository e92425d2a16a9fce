// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library's own bodies under every interleaving that can make a difference: calls of all kinds, one after
// the other on the same mailboxes. CHEVRON_TEST_FULL explores more of those that are chosen at random.
#include "bounded_search.hpp"
#include "execution.hpp"
#include "explore.hpp"
#include "partial_order.hpp"
#include "random_walk.hpp"
#include "scenario.hpp"
#include "tally.hpp"

#include <support/catch.hpp>
#include <support/seed.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using Calls = std::vector<CallSpec>;

//! How much of what is chosen at random is explored, in percent.
std::size_t share() {
  if (std::getenv("CHEVRON_TEST_FULL") != nullptr) return 1000;
  return sanitized ? 4 : 100;
}
std::size_t scaled(std::size_t scenarios) { return scenarios * share() / 100 + 1; }

// In float a granule and a chunk are 16 elements, a packet 14: so these take up to 4 steps of the longest
// shard, leave ranks without work, and end in the middle of packets and granules.
Calls const kinds{
    {Body::push, 0},
    {Body::push, 1},
    {Body::push, 14},
    {Body::push, 31},
    {Body::push, 29, true},
    {Body::staged, 0},
    {Body::staged, 1, true},
    {Body::staged, 33},
    {Body::staged, 100, true},
    {Body::staged, 128},
    {Body::zero_copy, 0},
    {Body::zero_copy, 3},
    {Body::zero_copy, 40, true},
    {Body::zero_copy, 64, false, 0, Stores::non_temporal},
    {Body::windows_or_push, 20},
    {Body::windows_or_push, 30, true, only(1)},
    {Body::windows_or_staged, 50, false, 0, Stores::non_temporal},
    {Body::windows_or_staged, 50, false, only(0)},
    {Body::windows_or_staged, 5, true, only(0) | only(1)},
    {Body::pull, 0},
    {Body::pull, 40},
    {Body::pull, 64, false, 0, Stores::non_temporal},
    {Body::pull, 20, true},
    {Body::pull, 20, true, 0, Stores::temporal, only(0)},
    {Body::two_shot, 0},
    {Body::two_shot, 3, true},
    {Body::two_shot, 31},
    {Body::two_shot, 100, true},
    {Body::pull_or_two_shot, 30},
    {Body::pull_or_two_shot, 33, true, only(1)},
    {Body::push_rsag, 0},
    {Body::push_rsag, 33, true},
    {Body::push_rsag, 100, false, 0, Stores::non_temporal},
    {Body::push_rsag, 128, true, 0, Stores::temporal, only(0)},
    {Body::push_rsag_or_staged, 70},
    {Body::push_rsag_or_staged, 50, true, only(1)},
};

Options with_lanes(int lanes) {
  Options options = small_mailboxes();
  options.lanes = lanes;
  return options;
}
Options from_epoch(Epoch first) {
  Options options = small_mailboxes();
  options.first_epoch = first;
  return options;
}

template <int NRanks, class T = float>
void explore_calls(Tally& tally, Strategy& strategy, Calls calls, Options const& options = small_mailboxes(),
                   std::size_t misaligned_by = 0) {
  INFO("calls: " << text(calls) << "; lanes " << options.lanes << ", first epoch " << options.first_epoch);
  Scenario<NRanks, T> scenario(std::move(calls), options, misaligned_by);
  Program program = scenario.program();
  Execution execution(program);
  Report const report = tally += explore(execution, strategy);
  INFO((report.finding ? report.finding->text : ""));
  REQUIRE_FALSE(report.finding);
  REQUIRE(report.exhausted);
}

template <int NRanks, class T = float>
void explore_all_orders(Tally& tally, Calls calls, Options const& options = small_mailboxes(),
                        std::size_t misaligned_by = 0) {
  PartialOrder strategy;
  explore_calls<NRanks, T>(tally, strategy, std::move(calls), options, misaligned_by);
}

template <class Random>
Calls some_calls(std::size_t number, Random& random) {
  Calls calls;
  while (calls.size() < number) calls.push_back(kinds[random() % kinds.size()]);
  return calls;
}

}  // namespace

TEST_CASE("2 ranks: every two calls, in every order of steps") {
  Tally tally("2 ranks, all pairs of calls, all orders");
  for (CallSpec const& first : kinds) {
    for (CallSpec const& second : kinds) explore_all_orders<2>(tally, {first, second});
  }
}

TEST_CASE("2 ranks: every three calls, in every order of steps") {
  Tally tally("2 ranks, all triples of calls, all orders");
  std::size_t number = 0;
  for (CallSpec const& first : kinds) {
    for (CallSpec const& second : kinds) {
      for (CallSpec const& third : kinds) {
        if (sanitized && ++number % 50 != 0) continue;
        explore_all_orders<2>(tally, {first, second, third});
      }
    }
  }
}

TEST_CASE("2 ranks: four calls, in every order of steps") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  Tally tally("2 ranks, quadruples of calls, all orders");
  for (std::size_t i = 0; i < scaled(3000); ++i) explore_all_orders<2>(tally, some_calls(4, random));
}

TEST_CASE("3 ranks: every two calls, in every order of steps") {
  Tally tally("3 ranks, all pairs of calls, all orders");
  std::size_t number = 0;
  for (CallSpec const& first : kinds) {
    for (CallSpec const& second : kinds) {
      if (sanitized && ++number % 10 != 0) continue;
      explore_all_orders<3>(tally, {first, second});
    }
  }
}

TEST_CASE("3 to 5 ranks: some calls, in every order of steps") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  Tally tally("3 to 5 ranks, two or three calls, all orders");
  for (std::size_t i = 0; i < scaled(500); ++i) explore_all_orders<3>(tally, some_calls(3, random));
  for (std::size_t i = 0; i < scaled(50); ++i) explore_all_orders<4>(tally, some_calls(3, random));
  for (std::size_t i = 0; i < scaled(10); ++i) explore_all_orders<5>(tally, some_calls(2, random));
}

TEST_CASE("Several lanes, in every order of steps") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  Tally tally("2 and 3 ranks with 2 or 3 lanes, all orders");
  for (std::size_t i = 0; i < scaled(300); ++i)
    explore_all_orders<2>(tally, some_calls(3, random), with_lanes(2));
  for (std::size_t i = 0; i < scaled(200); ++i)
    explore_all_orders<2>(tally, some_calls(2, random), with_lanes(3));
  for (std::size_t i = 0; i < scaled(100); ++i)
    explore_all_orders<3>(tally, some_calls(2, random), with_lanes(2));
}

TEST_CASE("Across the wrap of the epoch and the borders of its eras") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  Tally tally("2 and 3 ranks around the wrap and the eras, all orders");
  for (std::uint32_t const border : {0u, 0x40000000u, 0x80000000u, 0xc0000000u}) {
    for (std::uint32_t before = 0; before < 6; ++before) {
      for (std::size_t i = 0; i < scaled(50); ++i) {
        explore_all_orders<2>(tally, some_calls(3, random), from_epoch(border - before));
      }
      for (std::size_t i = 0; i < scaled(10); ++i) {
        explore_all_orders<3>(tally, some_calls(2, random), from_epoch(border - before));
      }
    }
  }
}

TEST_CASE("Bytes, at a different misalignment on each rank") {
  Tally tally("2 and 3 ranks, int8, misaligned buffers, all orders");
  for (std::size_t const count : {1u, 57u, 64u, 129u, 200u}) {
    for (Body const body :
         {Body::push, Body::staged, Body::zero_copy, Body::pull, Body::two_shot, Body::push_rsag}) {
      Calls const calls{{body, count}, {body, count, true}};
      explore_all_orders<2, std::int8_t>(tally, calls, small_mailboxes(), 1);
      explore_all_orders<3, std::int8_t>(tally, calls, small_mailboxes(), 3);
    }
  }
}

// The same once more without the reduction's knowledge of what depends on what.
TEST_CASE("2 ranks: every order with two preemptions") {
  Tally tally("2 ranks, pairs of calls, up to 2 preemptions");
  std::size_t number = 0;
  for (CallSpec const& first : kinds) {
    for (CallSpec const& second : kinds) {
      if (++number % (sanitized ? 40 : 4) != 0) continue;
      BoundedSearch strategy(2);
      explore_calls<2>(tally, strategy, {first, second});
    }
  }
}

TEST_CASE("3 ranks: random orders") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  Tally tally("3 ranks, four calls, random orders");
  for (std::size_t i = 0; i < scaled(200); ++i) {
    RandomWalk strategy(random(), 50, 4);
    explore_calls<3>(tally, strategy, some_calls(4, random));
  }
}

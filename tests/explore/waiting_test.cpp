// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that sleep: no order of steps leaves one asleep for ever, also where a store becomes visible only
// after later loads. There is no clock here, so a sleep that nobody ends is a deadlock.
#include "execution.hpp"
#include "explore.hpp"
#include "explored_access.hpp"
#include "mutants.hpp"
#include "partial_order.hpp"
#include "random_walk.hpp"
#include "scenario.hpp"
#include "tally.hpp"

#include <chevron/sync/doorbell.hpp>

#include <support/catch.hpp>
#include <support/seed.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using Calls = std::vector<CallSpec>;

bool is_deadlock(Report const& report) { return report.finding && report.finding->kind == Finding::deadlock; }

//! One rank waits for `flags` flags one after the other, another one stores them and rings.
struct SleeperAndRinger {
  explicit SleeperAndRinger(std::uint64_t flags)
      : program{.memory = memory,
                .threads = 2,
                .run = [this, flags](int thread) { thread == 0 ? sleep(flags) : ring(flags); },
                .restart = [this] { memory.clear(); },
                .store_buffers = true,
                .spins = false} {
    memory.add(&bell, 2 * sizeof(std::uint32_t), Role::other_word, "doorbell");
    memory.add(&flag, sizeof(flag), Role::other_word, "flag");
  }

  void sleep(std::uint64_t flags) {
    for (std::uint64_t i = 1; i <= flags; ++i) {
      auto const there = [&] { return ExploredAccess::load_acquire(flag) >= i; };
      while (!there()) bell.sleep_unless<ExploredAccess>(there, std::chrono::milliseconds(1));
    }
  }
  void ring(std::uint64_t flags) {
    for (std::uint64_t i = 1; i <= flags; ++i) {
      ExploredAccess::store_release(flag, i);
      ExploredAccess::store_load_fence();
      bell.ring<ExploredAccess>();
    }
  }

  MemoryMap memory{256};
  Doorbell& bell = *reinterpret_cast<Doorbell*>(memory.base());
  std::uint64_t& flag = *reinterpret_cast<std::uint64_t*>(memory.base() + 128);
  Program program;
};

template <int NRanks, template <int> class Lane = MutableLane>
Report explore_sleepers(Calls const& calls, Strategy& strategy, std::uint64_t most, Weakened weakened = {}) {
  Scenario<NRanks, float, Lane<NRanks>> scenario(calls, small_mailboxes(), 0, Waits::sleeping);
  Program program = scenario.program();
  program.store_buffers = true;
  Execution execution(program, weakened);
  return explore(execution, strategy, most);
}

}  // namespace

TEST_CASE("A doorbell loses no wake-up, and needs both fences for that") {
  Tally tally("a doorbell with store buffers, all orders");
  for (std::uint64_t const flags : {1u, 2u, 3u}) {
    SleeperAndRinger both(flags);
    {
      Execution execution(both.program);
      PartialOrder strategy;
      Report const report = tally += explore(execution, strategy);
      INFO((report.finding ? report.finding->text : ""));
      CHECK_FALSE(report.finding);
      CHECK(report.exhausted);
    }
    Execution execution(both.program, {.no_fences = true});
    PartialOrder strategy;
    CHECK(is_deadlock(explore(execution, strategy)));
  }
}

TEST_CASE("2 sleeping ranks: no order of steps leaves one asleep") {
  Tally tally("2 ranks that sleep, store buffers, all orders");
  for (Calls const& calls : {Calls{{Body::push, 14}}, Calls{{Body::push, 0}, {Body::push, 14}},
                             Calls{{Body::zero_copy, 20}}, Calls{{Body::staged, 20}}, Calls{{Body::pull, 20}},
                             Calls{{Body::two_shot, 3}}, Calls{{Body::push_rsag, 3}}}) {
    PartialOrder strategy;
    Report const report = tally += explore_sleepers<2>(calls, strategy, no_limit);
    INFO(text(calls) << (report.finding ? report.finding->text : ""));
    CHECK_FALSE(report.finding);
    CHECK(report.exhausted);
  }
}

TEST_CASE("2 and 3 sleeping ranks: random orders") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  Tally tally("2 and 3 ranks that sleep, store buffers, random orders");
  Calls const calls{{Body::push, 20},      {Body::windows_or_staged, 50, true, only(1)},
                    {Body::two_shot, 70},  {Body::zero_copy, 40},
                    {Body::push_rsag, 70}, {Body::pull, 40}};
  std::uint64_t const walks = sanitized ? 200 : 5000;
  RandomWalk walk(seed(), walks, 4);
  Report const two = tally += explore_sleepers<2>(calls, walk, no_limit);
  INFO((two.finding ? two.finding->text : ""));
  CHECK_FALSE(two.finding);
  RandomWalk other_walk(seed(), walks, 4);
  Report const three = tally += explore_sleepers<3>(calls, other_walk, no_limit);
  INFO((three.finding ? three.finding->text : ""));
  CHECK_FALSE(three.finding);
}

TEST_CASE("3 sleeping ranks: no order of a push's steps leaves one asleep") {
  Tally tally("3 ranks that sleep, store buffers, all orders");
  PartialOrder strategy;
  Report const report = tally += explore_sleepers<3>({{Body::push, 14}}, strategy, sanitized ? 500 : 200000);
  INFO((report.finding ? report.finding->text : ""));
  CHECK_FALSE(report.finding);
  CHECK((report.exhausted || sanitized));
}

TEST_CASE("A rank that rings no doorbell, or without a fence, leaves its peer asleep") {
  PartialOrder all_orders;
  CHECK(is_deadlock(explore_sleepers<2, NeverRings>({{Body::push, 14}}, all_orders, no_limit)));
  PartialOrder all_orders_again;
  CHECK(
      is_deadlock(explore_sleepers<2>({{Body::push, 14}}, all_orders_again, no_limit, {.no_fences = true})));
}

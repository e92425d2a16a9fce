// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contract C6: one communicator is used by one thread at a time, and a second one is refused; several
// communicators know nothing of each other.
#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

TEMPLATE_TEST_CASE("a second thread on a communicator is refused, without harm", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "two threads on one communicator");
  typename TestType::template World<2> world;
  auto const outcomes = world.run([](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    constexpr std::size_t count = 100;
    std::vector<int> in(count);
    std::vector<int> out(count);
    auto const sum = [&] {
      return checked_sum<OneShotPush>(*communicator, count, seat.outcome, in.data(), out.data());
    };
    // Rank 1 comes late, so that rank 0 is inside its call when its other thread tries the same.
    std::atomic<bool> inside{false};
    std::thread other;
    if (seat.rank == 0) {
      other = std::thread([&] {
        while (!inside.load()) nap(1ms);
        nap(50ms);
        for (int i = 0; i < 3; ++i) {
          int mine = 1;
          auto const before = Clock::now();
          auto const refused = all_reduce<OneShotPush<2, int>>(*communicator, &mine, &mine, 1);
          if (refused) return seat.outcome.complain("the second thread was let in");
          if (refused.error().code != Errc::concurrent_use || refused.error().rank != 0) {
            return seat.outcome.complain(refused.error().message());
          }
          if (Clock::now() - before > at_once) return seat.outcome.complain("the second thread had to wait");
        }
      });
    } else {
      nap(300ms);
    }
    inside.store(true);
    seat.attempt(sum);
    if (other.joinable()) other.join();
    if (auto const usable = communicator->status(); !usable) seat.outcome.complain(usable.error().message());
    if (seat.outcome.good()) seat.attempt([&] { return work(*communicator, seat.outcome); });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

//! `calls` calls of random kinds, the same on all ranks of the communicator.
template <class Comm>
Result<void> many_calls(Comm& communicator, Outcome& outcome, std::uint64_t seed_of_calls, int calls) {
  constexpr std::size_t most = 3000;
  Rng rng(seed_of_calls);
  auto window = communicator.template allocate<int>(2 * most);
  if (!window) return window.error();
  for (int i = 0; i < calls; ++i) {
    std::size_t const count = rng.spread(most);
    int* const in = window->data();
    int* const out = window->data() + most;
    auto done = [&]() -> Result<void> {
      switch (rng.below(4)) {
        case 0:
          return checked_sum<OneShotPush>(communicator, count, outcome, in, out);
        case 1:
          return checked_sum<ReduceScatterAllGather>(communicator, count, outcome, in, out);
        case 2:
          return checked_sum<ReduceScatterAllGatherPush>(communicator, count, outcome, in, out);
        default:
          return checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, count, outcome, in, out);
      }
    }();
    if (!done) return done;
  }
  return {};
}

TEST_CASE("communicators with overlapping members run side by side: threads") {
  Watchdog const watchdog(100s, "communicators side by side");
  // A ring of members, each of which is in a pair with its neighbour on either side, and all of which are in
  // one group; each member uses its three communicators from three threads.
  constexpr int members = 4;
  HostThreads<2> pairs[members];
  HostThreads<members> everybody;
  Outcome outcomes[members][3];
  std::vector<std::thread> threads;
  auto const run = [&](auto& group, int rank, Outcome& outcome, std::uint64_t which) {
    threads.emplace_back([&group, rank, &outcome, which] {
      auto communicator = group.join(rank, patient());
      if (!communicator) return outcome.note(communicator);
      outcome.note(many_calls(*communicator, outcome, noise(seed(), which), 150));
    });
  };
  for (int member = 0; member < members; ++member) {
    int const next = (member + 1) % members;
    run(pairs[member], 0, outcomes[member][0], static_cast<std::uint64_t>(member));
    run(pairs[member], 1, outcomes[next][1], static_cast<std::uint64_t>(member));
    run(everybody, member, outcomes[member][2], 99);
  }
  for (std::thread& thread : threads) thread.join();
  INFO("CHEVRON_TEST_SEED=" << seed());
  for (auto const& of_member : outcomes) {
    for (Outcome const& outcome : of_member) {
      INFO(outcome.message << outcome.complaint);
      REQUIRE(outcome.good());
    }
  }
}

TEST_CASE("communicators with overlapping members run side by side: processes") {
  Watchdog const watchdog(100s, "communicators side by side");
  constexpr int members = 3;
  std::vector<HostSharedMemory<2>> pairs;
  for (int i = 0; i < members; ++i) pairs.emplace_back(SharedMemoryKey::random());
  ProcessWorld<members> world;
  auto const outcomes = world.run([&](auto& seat) {
    Outcome of_pair[2];
    auto const run = [&](int pair, int rank, Outcome& outcome) {
      auto communicator = pairs[static_cast<std::size_t>(pair)].join(rank, patient());
      if (!communicator) return outcome.note(communicator);
      outcome.note(many_calls(*communicator, outcome, noise(seed(), static_cast<std::uint64_t>(pair)), 100));
    };
    std::thread with_next([&] { run(seat.rank, 0, of_pair[0]); });
    std::thread with_previous([&] { run((seat.rank + members - 1) % members, 1, of_pair[1]); });
    seat.attempt([&]() -> Result<void> {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return communicator.error();
      return many_calls(*communicator, seat.outcome, noise(seed(), 99), 100);
    });
    with_next.join();
    with_previous.join();
    for (Outcome const& outcome : of_pair) {
      if (!outcome.good()) seat.outcome.complain(std::string(outcome.message) + outcome.complaint);
    }
    seat.meet();
  });
  INFO("CHEVRON_TEST_SEED=" << seed() << "\n" << text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("the failure of one communicator leaves another of the same ranks alone", "", OnThreads,
                   OnProcesses) {
  Watchdog const watchdog(60s, "a failure beside a good communicator");
  typename TestType::template World<3> world;
  auto const outcomes = world.run([](auto& seat) {
    auto good = seat.group.join(seat.rank, patient());
    if (!good) return seat.outcome.note(good);
    auto bad = seat.group.join(seat.rank, patient());
    if (!bad) return seat.outcome.note(bad);
    if (seat.rank == 1) bad->abort();
    seat.attempt([&] { return work(*good, seat.outcome); });
    int value = 0;
    auto const refused = all_reduce<OneShotPush<3, int>>(*bad, &value, &value, 1);
    if (refused || refused.error().code != Errc::aborted) seat.outcome.complain("the bad one works");
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("16 ranks on fewer CPUs get through many calls", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(100s, "16 ranks");
  typename TestType::template World<16> world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return communicator.error();
      return many_calls(*communicator, seat.outcome, noise(seed(), 16), 100);
    });
    seat.meet();
  });
  INFO("CHEVRON_TEST_SEED=" << seed() << "\n" << text_of(outcomes));
  for (Outcome const& outcome : outcomes) {
    REQUIRE(outcome.good());
    REQUIRE(outcome.took <=
            30s);  // a fraction of a second on an idle machine, whatever the number of its CPUs
  }
}

}  // namespace

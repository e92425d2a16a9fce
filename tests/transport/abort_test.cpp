// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// abort(): from any thread, at any time, and all ranks agree on who did it.
#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

TEMPLATE_TEST_CASE("abort() from another thread wakes ranks that wait, and the caller's own", "", OnThreads,
                   OnProcesses) {
  Watchdog const watchdog(60s, "abort() from another thread");
  typename TestType::template World<3> world;
  int const aborting = GENERATE(0, 1, 2);
  int const lanes = GENERATE(1, 3);
  auto const outcomes = world.run([&](auto& seat) {
    Options options = patient();
    options.lanes = lanes;
    auto communicator = seat.group.join(seat.rank, options);
    if (!communicator) return seat.outcome.note(communicator);
    std::vector<int> data(10'000);
    // Rank 2 does not call, so the others wait for it, long enough to have fallen asleep; and so does rank 2,
    // for abort().
    std::thread other;
    if (seat.rank == aborting) {
      other = std::thread([&] {
        nap(100ms);
        communicator->abort();
      });
    }
    fail_for_good(seat, *communicator, [&]() -> Result<void> {
      if (seat.rank != 2) {
        return all_reduce<OneShotPush<3, int>>(*communicator, data.data(), data.data(), data.size());
      }
      while (communicator->status()) nap(1ms);
      return communicator->status();
    });
    if (other.joinable()) other.join();
    seat.meet();
  });
  require_failure(outcomes, Errc::aborted, aborting);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("abort() between calls ends the next call of everybody", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "abort() between calls");
  typename TestType::template World<3> world;
  auto const outcomes =
      run_failing_call(world, patient(), [](auto& seat, auto& communicator) -> Result<void> {
        if (auto done = work(communicator, seat.outcome); !done) return done;
        if (seat.rank == 1) communicator.abort();
        std::vector<int> data(10);
        return all_reduce<ReduceScatterAllGather<3, int>>(communicator, data.data(), data.data(),
                                                          data.size());
      });
  require_failure(outcomes, Errc::aborted, 1);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("when all ranks abort at once, all agree on one of them", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(100s, "abort() by everybody");
  typename TestType::template World<4> world;
  for (int repeat = 0; repeat < 40; ++repeat) {
    auto const outcomes = world.run([](auto& seat) {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return seat.outcome.note(communicator);
      seat.meeting.wait_closely(4);
      communicator->abort();
      seat.meet();
      seat.attempt([&] { return communicator->status(); });
      seat.meet();
    });
    require_failure_of_anyone(outcomes, Errc::aborted);
  }
}

//! Takes its time between telling one rank and the next.
struct SlowAccess : HostAccess {
  static bool replace(std::uint64_t& word, std::uint64_t expected, std::uint64_t value) {
    bool const replaced = HostAccess::replace(word, expected, value);
    nap(10ms);
    return replaced;
  }
};

TEMPLATE_TEST_CASE("a failure that overtakes another does not split the ranks", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "two failures");
  typename TestType::template World<4> world;
  auto const outcomes = world.run([](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    seat.meeting.wait_closely(4);
    if (seat.rank == 2) {
      communicator->endpoint().template fail<SlowAccess>({.code = Errc::timeout, .rank = 0, .reporter = 2});
    }
    if (seat.rank == 3) {
      nap(5ms);
      communicator->endpoint().template fail<HostAccess>({.code = Errc::peer_died, .rank = 1, .reporter = 3});
    }
    seat.meet();
    seat.attempt([&] { return communicator->status(); });
    seat.meet();
  });
  require_failure_of_anyone(outcomes, outcomes[0].code);
}

TEMPLATE_TEST_CASE("abort() at a random moment of many calls", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(100s, "abort() in the middle of calls");
  typename TestType::template World<3> world;
  for (int repeat = 0; repeat < 30; ++repeat) {
    // The buffers live as long as all ranks: a peer that has not noticed yet may still write to them.
    auto const outcomes = world.run([&](auto& seat) {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return seat.outcome.note(communicator);
      std::vector<int> data(3000);
      std::thread other;
      if (seat.rank == repeat % 3) {
        other = std::thread([&, pause = std::chrono::microseconds(repeat * 150)] {
          nap(pause);
          communicator->abort();
        });
      }
      fail_for_good(seat, *communicator, [&]() -> Result<void> {
        for (;;) {
          auto done = all_reduce<OneShotPush<3, int>>(*communicator, data.data(), data.data(), data.size());
          if (!done) return done;
          done = all_reduce<ReduceScatterAllGather<3, int>>(*communicator, data.data(), data.data(),
                                                            data.size());
          if (!done) return done;
        }
      });
      if (other.joinable()) other.join();
      seat.meet();
    });
    require_failure(outcomes, Errc::aborted, repeat % 3);
  }
  REQUIRE(complaint_of(world) == "");
}

}  // namespace

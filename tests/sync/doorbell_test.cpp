// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <chevron/sync/doorbell.hpp>
#include <chevron/sync/flag.hpp>

#include <support/catch.hpp>
#include <support/processes.hpp>
#include <support/shared.hpp>
#include <support/watchdog.hpp>

#include <chrono>
#include <cstdint>
#include <thread>

namespace {

using chevron::Doorbell;
using chevron::HostAccess;
using chevron::test::Children;
using chevron::test::nap;
using chevron::test::Shared;
using chevron::test::Watchdog;
using namespace std::chrono_literals;

template <class Function>
std::chrono::nanoseconds duration_of(Function&& function) {
  auto const before = std::chrono::steady_clock::now();
  function();
  return std::chrono::steady_clock::now() - before;
}

TEST_CASE("a sleep ends by itself, and not at once") {
  Watchdog const watchdog(30s, "a sleep");
  Doorbell bell;
  auto const slept = duration_of([&] { bell.sleep_unless<HostAccess>([] { return false; }, 20ms); });
  REQUIRE(slept >= 19ms);
  REQUIRE(bell.sleeping == 0);
}

TEST_CASE("who already sees what it waits for does not sleep") {
  Watchdog const watchdog(30s, "a sleep that is not needed");
  Doorbell bell;
  auto const slept = duration_of([&] { bell.sleep_unless<HostAccess>([] { return true; }, 10s); });
  REQUIRE(slept < 5s);
  REQUIRE(bell.sleeping == 0);
}

TEST_CASE("nobody is rung for who is awake") {
  Doorbell bell;
  bell.ring<HostAccess>();
  REQUIRE(bell.rings == 0);
  bell.ring_anyway<HostAccess>();
  REQUIRE(bell.rings == 1);
}

struct Flagged {
  Doorbell bell;
  std::uint64_t flag = 0;
};

void set_and_ring(Flagged& shared, std::uint64_t value) {
  HostAccess::store_release(shared.flag, value);
  HostAccess::store_load_fence();
  shared.bell.ring<HostAccess>();
}

void wait_for(Flagged& shared, std::uint64_t value) {
  auto const there = [&] { return HostAccess::load_acquire(shared.flag) >= value; };
  while (!there()) shared.bell.sleep_unless<HostAccess>(there, 10s);
}

TEST_CASE("a ring wakes the sleeper") {
  Watchdog const watchdog(30s, "a sleep that a thread is to end");
  Flagged shared;
  auto const slept = duration_of([&] {
    std::thread ringer([&] {
      nap(20ms);
      set_and_ring(shared, 1);
    });
    wait_for(shared, 1);
    ringer.join();
  });
  REQUIRE(slept < 5s);
}

TEST_CASE("a ring wakes the sleeper in another process") {
  Watchdog const watchdog(30s, "a sleep that a process is to end");
  Shared<Flagged> shared;
  Children children;
  auto const slept = duration_of([&] {
    children.start([&] {
      nap(20ms);
      set_and_ring(*shared, 1);
      return 0;
    });
    wait_for(*shared, 1);
  });
  REQUIRE(slept < 5s);
  REQUIRE(children.wait(10s)[0].good());
}

// A wake-up that got lost would make a sleep last its 10 s.
TEST_CASE("no ring is lost, however the two sides meet") {
  Watchdog const watchdog(60s, "a lost ring");
  constexpr std::uint64_t rounds = 5'000;
  Flagged there;
  Flagged back;
  auto const took = duration_of([&] {
    std::thread peer([&] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        wait_for(there, round);
        set_and_ring(back, round);
      }
    });
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      set_and_ring(there, round);
      wait_for(back, round);
    }
    peer.join();
  });
  REQUIRE(took < 10s);
}

}  // namespace

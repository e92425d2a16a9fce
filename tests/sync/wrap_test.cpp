// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Communicators whose step counter goes through its wrap, through 0 and through the borders of its eras, in
// the middle of calls of every kind: each result is right, and no wait takes an old stamp, or unwritten
// memory, for a new one.
#include <support/catch.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

//! Some hundred steps of all kinds; each kind comes at a random place, for the first time as well.
template <class Comm>
Result<void> many_steps(Comm& communicator, Outcome& outcome, Rng rng) {
  constexpr std::size_t most = 700;
  auto window = communicator.template allocate<int>(2 * most);
  if (!window) return window.error();
  for (int call = 0; call < 60; ++call) {
    std::size_t const count = rng.below(most);
    int* const in = window->data();
    auto done = [&]() -> Result<void> {
      switch (rng.below(4)) {
        case 0:
          return checked_sum<OneShotPush>(communicator, count, outcome, in, in + most);
        case 1:
          return checked_sum<ReduceScatterAllGather>(communicator, count, outcome, in, in + most);
        case 2:
          return checked_sum<ReduceScatterAllGatherPush>(communicator, count, outcome, in, in + most);
        default:
          return checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, count, outcome, in, in + most);
      }
    }();
    if (!done) return done;
  }
  return {};
}

template <class World>
void require_through(Epoch first_epoch, std::uint64_t seed_of_calls, int lanes) {
  World world;
  auto const outcomes = world.run([&](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      Options options = patient();
      options.first_epoch = first_epoch;
      options.lanes = lanes;
      options.packet_bytes = 200;
      options.chunk_bytes = 128;
      auto communicator = seat.group.join(seat.rank, options);
      if (!communicator) return communicator.error();
      return many_steps(*communicator, seat.outcome, Rng(seed_of_calls));
    });
    seat.meet();
  });
  INFO("CHEVRON_TEST_SEED=" << seed() << ": first epoch " << first_epoch << ", " << lanes << " lanes\n"
                            << text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("calls of all kinds go through the wrap of the step counter", "", OnThreads, OnProcesses) {
  Rng rng(seed());
  for (int repeat = 0; repeat < 25; ++repeat) {
    Watchdog const watchdog(60s, "the wrap of the step counter");
    auto const before = static_cast<Epoch>(rng.spread(200));
    Epoch const border = rng.one_of<Epoch>({0u, 0u, 0u, 1u << 30, 2u << 30, 3u << 30});
    std::uint64_t const calls = rng();
    int const lanes = rng.chance(1, 3) ? 2 : 1;
    switch (rng.below(3)) {
      case 0:
        require_through<typename TestType::template World<2>>(border - before, calls, lanes);
        break;
      case 1:
        require_through<typename TestType::template World<3>>(border - before, calls, lanes);
        break;
      default:
        require_through<typename TestType::template World<5>>(border - before, calls, lanes);
        break;
    }
  }
}

TEMPLATE_TEST_CASE("a communicator may begin at epoch 0", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "epoch 0");
  for (int repeat = 0; repeat < 10; ++repeat) {
    require_through<typename TestType::template World<3>>(
        0, noise(seed(), static_cast<std::uint64_t>(repeat)), 1);
  }
}

//! A rank that is alone at epoch 0 for a while must not mistake its peers' zeroed memory for another call.
TEMPLATE_TEST_CASE("unwritten memory is no call, whatever the epoch", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "unwritten memory at epoch 0");
  typename TestType::template World<3> world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      Options options = patient();
      options.first_epoch = 0;
      auto communicator = seat.group.join(seat.rank, options);
      if (!communicator) return communicator.error();
      if (seat.rank == 2) nap(200ms);
      std::array<int, 2> buffer{};
      return checked_sum<OneShotPush>(*communicator, 1, seat.outcome, buffer.data(), buffer.data() + 1);
    });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

//! A stamp from exactly 2^32 steps ago is what an old flag would have to be for a wait to take it for a new
//! one. It can't be reached by counting, so it is put there.
TEST_CASE("a flag that outlived an era is wiped before its epoch comes again") {
  Watchdog const watchdog(60s, "the wiping of old stamps");
  constexpr int ranks = 2;
  ThreadWorld<ranks> world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      Options options = patient();
      options.first_epoch = 0xffffffff;
      auto communicator = seat.group.join(seat.rank, options);
      if (!communicator) return communicator.error();
      std::array<int, 2> buffer{};
      auto const sum = [&] {
        return checked_sum<OneShotPush>(*communicator, 1, seat.outcome, buffer.data(), buffer.data() + 1);
      };
      if (auto done = sum(); !done) return done;  // epoch 2^32 - 1: the last of its era
      if (auto done = sum(); !done) return done;  // 0: the first one
      auto& endpoint = communicator->endpoint();
      int const peer = 1 - seat.rank;
      // The packet of epoch 2 from the peer, as if it had come an age ago, with other data.
      auto const lines = reinterpret_cast<FlaggedLine*>(
          endpoint.segment(seat.rank).inbox(endpoint.layout(), 0, peer) + endpoint.layout().packets_at());
      FlaggedLine& line = lines[0];
      if (Stamp::of(line.stamp).epoch != 0)
        seat.outcome.complain("the packets of epoch 0 are somewhere else");
      seat.meet();
      line.stamp = Stamp{2, Stamp::of(line.stamp).signature}.word();
      line.payload[0] = std::byte{99};
      // And the record of a call of an age ago that began with this epoch.
      CallRecord& record = endpoint.segment(seat.rank).lane(endpoint.layout(), 0).record;
      record.publish<HostAccess>({2, 12345}, CallIdentity{.count = 12345});
      seat.meeting.wait_closely(ranks);           // who does not have to wait long leaves the record as it is
      if (auto done = sum(); !done) return done;  // 1: an era has begun, so it wipes
      if (record.first<HostAccess>().word() == Stamp{2, 12345}.word()) {
        seat.outcome.complain("the record is still there");
      }
      // Rank 1 is late with step 2, so nothing can lie there at rank 0 now, and rank 0 has to wait for it.
      if (seat.rank == 0 && HostAccess::load_acquire(line.stamp) != 0)
        seat.outcome.complain("the stamp is still there");
      if (seat.rank == 1) nap(100ms);
      return sum();
    });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

}  // namespace

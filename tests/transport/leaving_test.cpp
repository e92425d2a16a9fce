// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank that returns from its last call may leave at once, also when others have not returned yet.
#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <chrono>
#include <cstddef>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

//! Few calls, and nothing that would hold a rank back after the last one.
template <class World>
void require_free_leave(std::size_t count, int repeats) {
  Watchdog const watchdog(100s, "ranks that leave");
  World world;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto const outcomes = world.run([&](auto& seat) {
      Options options = patient();
      options.chunk_bytes = 512 * 1024;
      auto communicator = seat.group.join(seat.rank, options);
      if (!communicator) return seat.outcome.note(communicator);
      std::vector<int> in(count);
      std::vector<int> out(count);
      seat.attempt([&]() -> Result<void> {
        if (repeat % 2 == 0) {
          return checked_sum<OneShotPush>(*communicator, count, seat.outcome, in.data(), out.data());
        }
        return checked_sum<ReduceScatterAllGather>(*communicator, count, seat.outcome, in.data(), out.data());
      });
    });
    INFO("repeat " << repeat << "\n" << text_of(outcomes));
    for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
  }
}

TEMPLATE_TEST_CASE("a rank may leave right after its last call", "", OnThreads, OnProcesses) {
  require_free_leave<typename TestType::template World<3>>(10, 60);
  require_free_leave<typename TestType::template World<8>>(100'000, 20);
}

}  // namespace

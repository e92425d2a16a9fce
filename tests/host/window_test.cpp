// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows: memory that all ranks reach, of sizes that may differ, freed by whoever has it.
#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

//! Runs `body(communicator, outcome)` on every rank, which is to go well.
template <class World, class Body>
void require_good(Body&& body) {
  Watchdog const watchdog(60s, "a test of windows");
  World world;
  auto const outcomes = world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    seat.attempt([&] { return body(*communicator, seat.outcome); });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("a window is zeroed, begins at a page and has the size that was asked for", "", OnThreads,
                   OnProcesses) {
  using World = typename TestType::template World<3>;
  require_good<World>([](auto& communicator, Outcome& outcome) -> Result<void> {
    for (std::size_t const count : {0, 1, 511, 512, 513, 300'000}) {
      auto window = communicator.template allocate<double>(count);
      if (!window) return window.error();
      if (window->size() != count || window->span().size() != count) outcome.complain("another size");
      if (window->end() - window->begin() != static_cast<std::ptrdiff_t>(count))
        outcome.complain("another range");
      if (reinterpret_cast<std::uintptr_t>(window->data()) % 4096 != 0) outcome.complain("not at a page");
      if (std::any_of(window->begin(), window->end(), [](double value) { return value != 0; })) {
        outcome.complain("not zeroed");
      }
      for (double& value : *window) value = 1;
      if (count != 0) window->span()[count - 1] = 2;
    }
    return {};
  });
}

TEMPLATE_TEST_CASE("the ranks' parts of a window may differ in size", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<3>;
  require_good<World>([](auto& communicator, Outcome& outcome) -> Result<void> {
    auto const rank = static_cast<std::size_t>(communicator.rank());
    constexpr std::size_t count = 1000;
    // The buffers of the last rank begin far behind the end of the first one's window.
    std::size_t const before = 100'000 * rank;
    auto window = communicator.template allocate<int>(before + 2 * count);
    if (!window) return window.error();
    int* const in = window->data() + before;
    return checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, count, outcome, in, in + count);
  });
}

TEMPLATE_TEST_CASE("input and output may lie in different windows, on each rank in others", "", OnThreads,
                   OnProcesses) {
  using World = typename TestType::template World<3>;
  require_good<World>([](auto& communicator, Outcome& outcome) -> Result<void> {
    std::vector<typename World::Comm::template Window<int>> windows;
    constexpr std::size_t count = 500;
    for (int i = 0; i < 4; ++i) {
      auto window = communicator.template allocate<int>(count + 3);
      if (!window) return window.error();
      windows.push_back(std::move(*window));
    }
    for (std::size_t call = 0; call < 16; ++call) {
      std::size_t const turn = call + static_cast<std::size_t>(communicator.rank());
      int* const in = windows[turn % 4].data() + turn % 3;
      int* const out = windows[(turn + 1 + call / 4 % 3) % 4].data() + call % 4;
      auto done = checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, count, outcome, in, out);
      if (!done) return done;
    }
    return {};
  });
}

TEMPLATE_TEST_CASE("windows come and go, and the others stay", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<2>;
  require_good<World>([](auto& communicator, Outcome& outcome) -> Result<void> {
    constexpr std::size_t count = 200;
    auto kept = communicator.template allocate<int>(2 * count);
    if (!kept) return kept.error();
    for (int i = 0; i < 30; ++i) {
      auto passing = communicator.template allocate<int>(2 * count);
      if (!passing) return passing.error();
      for (int* const in : {kept->data(), passing->data()}) {
        auto done = checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, count, outcome, in, in + count);
        if (!done) return done;
      }
    }
    return {};
  });
}

TEMPLATE_TEST_CASE("a window may be moved", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<2>;
  require_good<World>([](auto& communicator, Outcome& outcome) -> Result<void> {
    using Window = typename World::Comm::template Window<int>;
    auto first = communicator.template allocate<int>(20);
    if (!first) return first.error();
    int* const data = first->data();
    Window second(std::move(*first));
    if (first->data() != nullptr || first->size() != 0) outcome.complain("the source still has it");
    if (second.data() != data || second.size() != 20) outcome.complain("the target does not have it");
    Window third;
    third = std::move(second);
    if (third.data() != data) outcome.complain("the target does not have it");
    third = Window();
    return checked_sum<OneShotPush>(communicator, 1, outcome, std::vector<int>(1).data(),
                                    std::vector<int>(1).data());
  });
}

TEMPLATE_TEST_CASE("a size that overflows is refused by the rank itself", "", OnThreads, OnProcesses) {
  using World = typename TestType::template World<2>;
  require_good<World>([](auto& communicator, Outcome& outcome) -> Result<void> {
    for (std::size_t const count : {std::numeric_limits<std::size_t>::max(),
                                    std::numeric_limits<std::size_t>::max() / sizeof(double) + 2}) {
      auto const window = communicator.template allocate<double>(count);
      if (window || window.error().code != Errc::size_overflow) outcome.complain("it was not refused");
    }
    return work(communicator, outcome);
  });
}

//! From now on this process can't make files of more than this.
void limit_files(std::size_t most_bytes) {
  ::signal(SIGXFSZ, SIG_IGN);  // one that would be larger shall be an error
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = most_bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}
//! From now on this process can't map more than this in addition to what it has.
void limit_mappings(std::size_t more_bytes) {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * 4096 + more_bytes;
  ::setrlimit(RLIMIT_AS, &limit);
}

// Limits of the process, and not a size that no machine has: the system might grant that at the expense of
// others.
TEST_CASE("memory that one rank can't have is an error on all ranks, and the communicator goes on") {
  // Not enough to make the window, or not enough to map everybody's.
  bool const files = GENERATE(true, false);
  require_good<ProcessWorld<3>>([&](auto& communicator, Outcome& outcome) -> Result<void> {
    constexpr std::size_t size = 16 << 20;
    if (communicator.rank() == 1) files ? limit_files(size / 2) : limit_mappings(2 * size);
    auto const window = communicator.template allocate<unsigned char>(size);
    if (window)
      outcome.complain("the window was made");
    else if (window.error().code != Errc::no_memory && window.error().code != Errc::system) {
      outcome.complain(window.error().message());
    } else if (window.error().rank != 1) {
      outcome.complain("it was another rank: " + window.error().message());
    }
    int buffer[2] = {};
    return checked_sum<OneShotPush>(communicator, 1, outcome, buffer, buffer + 1);
  });
}

TEST_CASE("between processes, a call on a window that a peer has freed is an error on all ranks") {
  Watchdog const watchdog(60s, "a freed window");
  ProcessWorld<3> world;
  auto const outcomes = world.run([](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    auto window = communicator->template allocate<int>(100);
    auto other = communicator->template allocate<int>(100);
    if (!window || !other) return seat.outcome.complain("no windows");
    if (seat.rank == 2) *window = typename std::remove_cvref_t<decltype(*window)>();
    int* const data = seat.rank == 2 ? other->data() : window->data();
    fail_for_good(seat, *communicator, [&] {
      return all_reduce<ReduceScatterAllGatherZeroCopy<3, int>>(*communicator, data, data, 100);
    });
    seat.meet();
  });
  require_failure_of_anyone(outcomes, Errc::unknown_window);
  REQUIRE(complaint_of(world) == "");
}

}  // namespace

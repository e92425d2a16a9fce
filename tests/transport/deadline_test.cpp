// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank that joined and does not call: the others get an error within the deadline that names it.
#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

constexpr auto deadline = 500ms;

template <template <int, class, class, class> class A>
struct Named {
  template <class Comm>
  static Result<void> sum(Comm const& communicator, int* data, std::size_t count) {
    return all_reduce<A<Comm::ranks, int, Sum, Identity>>(communicator, data, data, count);
  }
};
using Push = Named<OneShotPush>;
using Staged = Named<ReduceScatterAllGather>;
using ZeroCopy = Named<ReduceScatterAllGatherZeroCopy>;
using PushRsag = Named<ReduceScatterAllGatherPush>;
using Pull = Named<OneShotPull>;
using TwoShot = Named<TwoShotPush>;

TEMPLATE_TEST_CASE("a rank that joined and does not call is named, within the deadline", "",
                   (std::pair<OnThreads, Push>), (std::pair<OnThreads, Staged>),
                   (std::pair<OnThreads, ZeroCopy>), (std::pair<OnThreads, Pull>),
                   (std::pair<OnThreads, TwoShot>), (std::pair<OnThreads, PushRsag>),
                   (std::pair<OnProcesses, Push>), (std::pair<OnProcesses, PushRsag>),
                   (std::pair<OnProcesses, Staged>), (std::pair<OnProcesses, ZeroCopy>)) {
  using Algorithm = typename TestType::second_type;
  Watchdog const watchdog(60s, "a rank that does not call");
  typename TestType::first_type::template World<3> world;
  int const silent = GENERATE(0, 1, 2);
  int const lanes = silent == 1 ? 2 : 1;
  auto const outcomes = run_in_time(world, deadline, [&](auto& seat) {
    seat.meet();  // on a busy machine it may take long until all are there, and the deadline is for joining, too
    auto communicator = seat.group.join(seat.rank, Options{.deadline = deadline, .lanes = lanes});
    if (!communicator) return seat.outcome.note_no_test(communicator);
    auto window = communicator->template allocate<int>(5000);
    if (!window) return seat.outcome.note_no_test(window);
    seat.meet();
    if (seat.rank != silent) {
      fail_for_good(seat, *communicator, [&] { return Algorithm::sum(*communicator, window->data(), 5000); });
    }
    seat.meet();
    // Who comes too late learns what happened meanwhile.
    if (seat.rank == silent) {
      fail_for_good(seat, *communicator, [&] { return Algorithm::sum(*communicator, window->data(), 5000); });
    }
    seat.meet();
  });
  require_failure(outcomes, Errc::timeout, silent, deadline + slack);
  INFO(text_of(outcomes));
  for (int rank = 0; rank < 3; ++rank) {
    // The others wait out the deadline; one of them may notice a little later than the other and save itself
    // the rest.
    if (rank != silent) REQUIRE(outcomes[static_cast<std::size_t>(rank)].took >= 50ms);
  }
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("a rank that is late, but in time, is waited for", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "a late rank");
  typename TestType::template World<3> world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return communicator.error();
      for (int round = 0; round < 3; ++round) {
        if (seat.rank == round) nap(150ms);
        if (auto done = work(*communicator, seat.outcome); !done) return done;
      }
      return {};
    });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("a window that one rank does not allocate is an error within the deadline", "",
                   OnProcesses) {
  Watchdog const watchdog(60s, "a window that a rank does not allocate");
  typename TestType::template World<3> world;
  int const silent = GENERATE(0, 1, 2);
  auto const outcomes = run_in_time(world, 2 * deadline, [&](auto& seat) {
    seat.meet();
    auto communicator = seat.group.join(seat.rank, Options{.deadline = deadline});
    if (!communicator) return seat.outcome.note_no_test(communicator);
    seat.meet();
    if (seat.rank != silent) seat.attempt([&] { return communicator->template allocate<int>(100); });
    seat.meet();
  });
  INFO("rank " << silent << " does not allocate\n" << text_of(outcomes));
  for (int rank = 0; rank < 3; ++rank) {
    Outcome const& outcome = outcomes[static_cast<std::size_t>(rank)];
    REQUIRE(outcome.complaint == std::string());
    if (rank == silent) continue;
    REQUIRE(outcome.code == Errc::timeout);
    REQUIRE(outcome.culprit == silent);
    REQUIRE(outcome.took <= 2 * deadline + slack);
  }
  REQUIRE(complaint_of(world) == "");
}

}  // namespace

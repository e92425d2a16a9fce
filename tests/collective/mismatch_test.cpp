// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks whose calls do not fit together: all of them learn what differs, at once, and nobody waits for the
// deadline.
#include <chevron/select/selector.hpp>
#include <chevron/select/tables/host.hpp>

#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

constexpr int ranks = 3;

template <template <int, class, class, class> class Algorithm>
struct Named {
  template <class T, class Op, class E>
  using Choice = Algorithm<ranks, T, Op, E>;
};
using Push = Named<OneShotPush>;
using Staged = Named<ReduceScatterAllGather>;
using ZeroCopy = Named<ReduceScatterAllGatherZeroCopy>;
using PushRsag = Named<ReduceScatterAllGatherPush>;
using Pull = Named<OneShotPull>;
using TwoShot = Named<TwoShotPush>;

//! A call on a buffer of ints that lies in a window, so that every algorithm takes it.
template <class Algorithm, class T = int, class Op = Sum, class E = Identity, class Comm>
Result<void> call(Comm& communicator, std::size_t count, E const& epilogue = {}) {
  auto window = communicator.template allocate<T>(count);
  if (!window) return window.error();
  using Choice = typename Algorithm::template Choice<T, Op, E>;
  return all_reduce<Choice>(communicator, window->data(), window->data(), count, Op{}, epilogue);
}

TEMPLATE_TEST_CASE("counts that differ", "", (std::pair<OnThreads, Push>), (std::pair<OnThreads, Staged>),
                   (std::pair<OnThreads, ZeroCopy>), (std::pair<OnThreads, Pull>),
                   (std::pair<OnThreads, TwoShot>), (std::pair<OnThreads, PushRsag>),
                   (std::pair<OnProcesses, Push>), (std::pair<OnProcesses, PushRsag>),
                   (std::pair<OnProcesses, Staged>), (std::pair<OnProcesses, ZeroCopy>),
                   (std::pair<OnProcesses, Pull>), (std::pair<OnProcesses, TwoShot>)) {
  using Algorithm = typename TestType::second_type;
  Watchdog const watchdog(60s, "counts that differ");
  typename TestType::first_type::template World<ranks> world;
  // One element more, so many more that the rank takes many more steps, and none at all.
  std::size_t const other = GENERATE(std::size_t{1001}, std::size_t{200'000}, std::size_t{0});
  int const odd = GENERATE(0, 1, 2);
  auto const outcomes = run_failing_call(world, patient(), [&](auto& seat, auto& communicator) {
    return call<Algorithm>(communicator, seat.rank == odd ? other : 1000);
  });
  require_failure_of_anyone(outcomes, Errc::count_mismatch);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("elements that differ", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "elements that differ");
  typename TestType::template World<ranks> world;
  auto const outcomes = run_failing_call(world, patient(), [](auto& seat, auto& communicator) {
    return seat.rank == 1 ? call<Staged, float>(communicator, 100) : call<Staged, int>(communicator, 100);
  });
  require_failure_of_anyone(outcomes, Errc::element_mismatch);
  REQUIRE(complaint_of(world) == "");
}

struct Other {
  template <class A>
  static constexpr A combine(A a, A) {
    return a;
  }
};
struct OtherEpilogue {
  template <class A>
  constexpr A operator()(A value, std::size_t) const {
    return value;
  }
};

TEMPLATE_TEST_CASE("operations that differ", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "operations that differ");
  typename TestType::template World<ranks> world;
  int const way = GENERATE(0, 1, 2);
  auto const outcomes = run_failing_call(world, patient(), [&](auto& seat, auto& communicator) {
    if (seat.rank != 2) return call<ZeroCopy, int, Sum>(communicator, 100);
    if (way == 0) return call<ZeroCopy, int, Max>(communicator, 100);
    if (way == 1) return call<ZeroCopy, int, Other>(communicator, 100);
    return call<ZeroCopy, int, Sum, OtherEpilogue>(communicator, 100);
  });
  require_failure_of_anyone(outcomes, Errc::operation_mismatch);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("algorithms that differ", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "algorithms that differ");
  typename TestType::template World<ranks> world;
  int const way = GENERATE(0, 1, 2, 3, 4, 5);
  auto const outcomes = run_failing_call(world, patient(), [&](auto& seat, auto& communicator) {
    int const algorithm = (way + (seat.rank == 1 ? 1 : 0)) % 6;
    if (algorithm == 0) return call<Push>(communicator, 20'000);
    if (algorithm == 1) return call<TwoShot>(communicator, 20'000);
    if (algorithm == 2) return call<Staged>(communicator, 20'000);
    if (algorithm == 3) return call<PushRsag>(communicator, 20'000);
    if (algorithm == 4) return call<Pull>(communicator, 20'000);
    return call<ZeroCopy>(communicator, 20'000);
  });
  require_failure_of_anyone(outcomes, Errc::algorithm_mismatch);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("every rank calls something else", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "three algorithms at once");
  typename TestType::template World<ranks> world;
  for (int repeat = 0; repeat < 20; ++repeat) {
    auto const outcomes = run_failing_call(world, patient(), [&](auto& seat, auto& communicator) {
      bool const others = repeat % 2 != 0;
      if (seat.rank == 0) return call<Push>(communicator, 20'000);
      if (seat.rank == 1) {
        if (repeat % 4 == 3) return call<PushRsag>(communicator, 20'000);
        return others ? call<TwoShot>(communicator, 20'000) : call<Staged>(communicator, 20'000);
      }
      return others ? call<Pull>(communicator, 20'000) : call<ZeroCopy>(communicator, 20'000);
    });
    require_failure_of_anyone(outcomes, Errc::algorithm_mismatch);
  }
  REQUIRE(complaint_of(world) == "");
}

struct OtherTable {
  static constexpr auto rows() { return std::array{Row{.policy = {AllReduceAlgorithm::one_shot_push}}}; }
};
template <class Table>
struct Selected {
  template <class T, class Op, class E>
  using Choice = Selector<Table, RankCounts<ranks>, Elements<T>, Operations<Op>>;
};

TEMPLATE_TEST_CASE("tables that differ, unknown when the ranks joined", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "tables that differ");
  typename TestType::template World<ranks> world;
  auto const outcomes = run_failing_call(world, patient(), [](auto& seat, auto& communicator) {
    return seat.rank == 0 ? call<Selected<OtherTable>>(communicator, 10)
                          : call<Selected<tables::Host>>(communicator, 10);
  });
  require_failure_of_anyone(outcomes, Errc::table_mismatch);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("a selector on one rank, the algorithm it would choose on the others", "", OnThreads,
                   OnProcesses) {
  Watchdog const watchdog(60s, "a selector and an algorithm");
  typename TestType::template World<ranks> world;
  auto const outcomes = run_failing_call(world, patient(), [](auto& seat, auto& communicator) {
    return seat.rank == 0 ? call<Selected<OtherTable>>(communicator, 10) : call<Push>(communicator, 10);
  });
  require_failure_of_anyone(outcomes, Errc::table_mismatch);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("a difference in the middle of good calls", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "a difference after good calls");
  typename TestType::template World<ranks> world;
  auto const outcomes =
      run_failing_call(world, patient(), [](auto& seat, auto& communicator) -> Result<void> {
        for (int i = 0; i < 10; ++i) {
          if (auto done = work(communicator, seat.outcome); !done) {
            seat.outcome.complain("a good call failed");
            return done;
          }
        }
        return call<Push>(communicator, seat.rank == 2 ? 7 : 8);
      });
  require_failure_of_anyone(outcomes, Errc::count_mismatch);
  REQUIRE(complaint_of(world) == "");
}

}  // namespace

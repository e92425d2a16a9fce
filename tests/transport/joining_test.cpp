// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes wrong while ranks join: every rank that is there gets an error that says what and who, in time,
// and the next attempt of the same group is as good as the first.
#include <chevron/select/selector.hpp>
#include <chevron/select/tables/host.hpp>

#include <support/catch.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <sched.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

template <class Seat>
void only_join(Seat& seat, Options const& options) {
  seat.attempt([&] { return seat.group.join(seat.rank, options); });
}

TEMPLATE_TEST_CASE("a rank that never joins is named, within the deadline", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "joining without a rank");
  typename TestType::template World<3> world;
  int const missing = GENERATE(0, 1, 2);
  auto const outcomes = run_in_time(world, impatient().deadline, [&](auto& seat) {
    seat.meet();
    if (seat.rank != missing) only_join(seat, impatient());
  });
  INFO("rank " << missing << " never joins\n" << text_of(outcomes));
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == missing) continue;
    Outcome const& outcome = outcomes[static_cast<std::size_t>(rank)];
    REQUIRE(outcome.code == Errc::timeout);
    REQUIRE(outcome.culprit == missing);
    REQUIRE(outcome.took >= impatient().deadline - 10ms);
    REQUIRE(outcome.took <= impatient().deadline + slack);
  }
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("a rank alone waits no longer than the deadline", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "joining alone");
  typename TestType::template World<16> world;
  auto const outcomes = world.run([](auto& seat) {
    if (seat.rank == 5) only_join(seat, impatient());
  });
  INFO(text_of(outcomes));
  REQUIRE(outcomes[5].code == Errc::timeout);
  REQUIRE(outcomes[5].culprit == 0);
  REQUIRE(outcomes[5].took <= impatient().deadline + slack);
}

TEMPLATE_TEST_CASE("a second participant with the same rank is refused, and so is the group", "", OnThreads,
                   OnProcesses) {
  Watchdog const watchdog(60s, "joining twice");
  typename TestType::template World<3> world;
  // Rank 2 comes as rank 1, or as rank 0; there is no rank 2 then.
  int const twice = TestType::template World<3>::one_address_space ? GENERATE(0, 1) : 1;
  auto const outcomes = world.run([&](auto& seat) {
    Options const options{.deadline = 2s};
    seat.attempt([&] { return seat.group.join(seat.rank == 2 ? twice : seat.rank, options); });
  });
  INFO("rank " << twice << " twice\n" << text_of(outcomes));
  // The two that claim it are told so. Who comes only after that finds an empty room, and somebody missing.
  int refused = 0;
  for (Outcome const& outcome : outcomes) {
    REQUIRE((outcome.code == Errc::duplicate_rank || outcome.code == Errc::timeout));
    if (outcome.code != Errc::duplicate_rank) continue;
    ++refused;
    REQUIRE(outcome.culprit == twice);
  }
  REQUIRE(refused >= 2);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("options outside their domain are refused by the rank itself", "", OnThreads,
                   OnProcesses) {
  Watchdog const watchdog(60s, "joining with bad options");
  struct Bad {
    Options options;
    char const* word;
  };
  Bad const all[] = {
      {{.lanes = 0}, "lanes"},
      {{.lanes = 65}, "lanes"},
      {{.lanes = -1}, "lanes"},
      {{.packet_bytes = 55}, "packet_bytes"},
      {{.packet_bytes = (std::size_t{1} << 30) + 1}, "packet_bytes"},
      {{.chunk_bytes = 0}, "chunk_bytes"},
      {{.chunk_bytes = 32}, "chunk_bytes"},
      {{.chunk_bytes = 100}, "chunk_bytes"},
      {{.chunk_bytes = (std::size_t{1} << 30) + 64}, "chunk_bytes"},
      {{.deadline = 0ms}, "deadline"},
      {{.deadline = -1s}, "deadline"},
      {{.pin_to_cpu = -1}, "pin_to_cpu"},
      {{.pin_to_cpu = 100'000}, "pin_to_cpu"},
  };
  typename TestType::template World<2> world;
  for (Bad const& bad : all) {
    auto const outcomes = world.run([&](auto& seat) { only_join(seat, bad.options); });
    INFO(bad.word << "\n" << text_of(outcomes));
    for (Outcome const& outcome : outcomes) {
      REQUIRE(outcome.code == Errc::bad_argument);
      REQUIRE(outcome.took <= at_once);
      REQUIRE(std::string(outcome.message).find(bad.word) != std::string::npos);
    }
  }
  for (int const rank : {-1, 2, 1000}) {
    auto const outcomes = world.run(
        [&](auto& seat) { seat.attempt([&] { return seat.group.join(seat.rank == 0 ? rank : -1); }); });
    REQUIRE(outcomes[0].code == Errc::bad_argument);
    REQUIRE(outcomes[1].code == Errc::bad_argument);
  }
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("ranks whose options differ are told in what", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "joining with different options");
  struct Different {
    Options options;
    Errc code;
  };
  Different const all[] = {
      {{.lanes = 2}, Errc::lanes_mismatch},
      {{.packet_bytes = 4096}, Errc::mailbox_mismatch},
      {{.chunk_bytes = 4096}, Errc::mailbox_mismatch},
      {{.first_epoch = 7}, Errc::bad_argument},
  };
  typename TestType::template World<2> world;
  for (Different const& different : all) {
    auto const outcomes = world.run([&](auto& seat) {
      Options options = seat.rank == 1 ? different.options : Options{};
      options.deadline = patient().deadline;
      only_join(seat, options);
    });
    INFO(text_of(outcomes));
    for (Outcome const& outcome : outcomes) {
      REQUIRE(outcome.code == different.code);
      REQUIRE(outcome.took <= at_once);
    }
    REQUIRE(outcomes[0].culprit == outcomes[1].culprit);
  }
  REQUIRE(complaint_of(world) == "");
}

struct OtherTable {
  static constexpr auto rows() { return std::array{Row{.policy = {AllReduceAlgorithm::one_shot_push}}}; }
};
template <class Table>
using IntSelector = Selector<Table, RankCounts<2>, Elements<int>>;

TEMPLATE_TEST_CASE("ranks that name different selection tables are told so", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "joining with different tables");
  typename TestType::template World<2> world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&] {
      return seat.rank == 0 ? seat.group.template join<IntSelector<tables::Host>>(0, patient())
                            : seat.group.template join<IntSelector<OtherTable>>(1, patient());
    });
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) {
    REQUIRE(outcome.code == Errc::table_mismatch);
    REQUIRE(outcome.took <= at_once);
  }
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("a rank may be bound to a CPU", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "joining on a CPU");
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  int cpu = 0;
  while (!CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) ++cpu;
  typename TestType::template World<2> world;
  auto const outcomes = world.run([&](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      Options options = patient();
      options.pin_to_cpu = cpu;
      options.lanes = 2;
      auto communicator = seat.group.join(seat.rank, options);
      if (!communicator) return communicator.error();
      cpu_set_t bound;
      ::sched_getaffinity(0, sizeof(bound), &bound);
      if (CPU_COUNT(&bound) != 1 || !CPU_ISSET(static_cast<unsigned>(cpu), &bound)) {
        seat.outcome.complain("the thread is not bound to its CPU");
      }
      return work(*communicator, seat.outcome);
    });
    seat.meet();
  });
  INFO("CPU " << cpu << "\n" << text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEST_CASE("a process of another user is not let in") {
  if (::geteuid() != 0) {
    WARN("not tried: it takes a superuser to become another user");
    return;
  }
  Watchdog const watchdog(60s, "joining as another user");
  ProcessWorld<2> world;
  int const stranger = GENERATE(0, 1);
  auto const outcomes = run_in_time(world, impatient().deadline, [&](auto& seat) {
    seat.meet();
    if (seat.rank == stranger && ::setuid(65534) != 0) return seat.outcome.complain("still the same user");
    only_join(seat, impatient());
  });
  INFO("rank " << stranger << " is the stranger\n" << text_of(outcomes));
  REQUIRE(outcomes[0].code == Errc::timeout);
  REQUIRE(outcomes[0].culprit == 1);
  REQUIRE(outcomes[1].code == Errc::wrong_user);
  REQUIRE(outcomes[1].culprit == 0);
  REQUIRE(complaint_of(world) == "");
}

TEMPLATE_TEST_CASE("a group that has joined may be joined anew, while the first is in use", "", OnThreads,
                   OnProcesses) {
  Watchdog const watchdog(60s, "joining again");
  typename TestType::template World<3> world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      auto first = seat.group.join(seat.rank, patient());
      if (!first) return first.error();
      auto second = seat.group.join(seat.rank, patient());
      if (!second) return second.error();
      if (auto done = work(*second, seat.outcome); !done) return done;
      if (auto done = work(*first, seat.outcome); !done) return done;
      return work(*second, seat.outcome);
    });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("communicators and windows may be destroyed in any order", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "destroying in some order");
  using World = typename TestType::template World<3>;
  using Comm = typename World::Comm;
  World world;
  auto const outcomes = world.run([](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      std::vector<std::optional<Comm>> communicators;
      std::vector<typename Comm::template Window<int>> windows;
      for (int i = 0; i < 4; ++i) {
        auto joined = seat.group.join(seat.rank, patient());
        if (!joined) return joined.error();
        communicators.emplace_back(std::move(*joined));
        auto window = communicators.back()->template allocate<int>(100);
        if (!window) return window.error();
        windows.push_back(std::move(*window));
      }
      // Each rank in another order, without waiting for the others.
      for (int i = 0; i < 3; ++i) {
        if (auto done = work(*communicators[3], seat.outcome, 50); !done) return done;
        communicators[static_cast<std::size_t>((i + seat.rank) % 3)].reset();
      }
      communicators[3].reset();
      // Windows outlive their communicators.
      for (auto& window : windows) window[99] = seat.rank;
      return {};
    });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
  REQUIRE(complaint_of(world) == "");
}

}  // namespace

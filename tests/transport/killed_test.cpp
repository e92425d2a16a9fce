// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank that is killed at a random moment: every survivor gets an error that names it, and nothing is left
// behind.
// CHEVRON_TEST_FULL=1 takes a thousand trials.
#include <support/catch.hpp>
#include <support/full.hpp>
#include <support/noise.hpp>
#include <support/processes.hpp>
#include <support/seed.hpp>
#include <support/shared.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <dirent.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

//! What a rank is doing, for whoever wants to kill it at it.
enum Phase : int {
  not_there,
  before,
  joining,
  allocating,
  pushing,
  staging,
  zero_copying,
  pushing_shards,
  between,
  phases
};
constexpr char const* phase_names[phases] = {"",
                                             "before it joins",
                                             "joining",
                                             "allocating a window",
                                             "one_shot_push",
                                             "a staged call",
                                             "a zero-copy call",
                                             "reduce_scatter_all_gather_push",
                                             "between two of its calls"};

std::set<std::string> names_in(char const* folder) {
  std::set<std::string> names;
  DIR* const open = ::opendir(folder);
  if (open == nullptr) return names;
  while (dirent const* const entry = ::readdir(open)) names.insert(entry->d_name);
  ::closedir(open);
  return names;
}
std::size_t open_descriptors() { return names_in("/proc/self/fd").size(); }

//! How long it takes to tell a rank that is late from one that is dead, before the connections exist that
//! would show it.
constexpr auto joining_deadline = 1000ms;

struct Trial {
  int victim = 0;
  Phase phase = before;
  std::chrono::microseconds after{0};  //!< how long after the victim has come to that phase
  int lanes = 1;
};

template <int NRanks>
struct Stage {
  std::array<std::atomic<int>, NRanks> phase{};
  std::array<Outcome, NRanks> outcomes{};
  std::atomic<Clock::rep> killed_at{0};
  Meeting meeting{};
};

//! Calls until something fails, telling what it is doing.
template <class Comm>
Result<void> call_for_ever(Comm& communicator, Outcome& outcome, std::atomic<int>& phase) {
  phase = allocating;
  constexpr std::size_t most = 20'000;
  auto window = communicator.template allocate<int>(2 * most);
  if (!window) return window.error();
  auto small = communicator.template allocate<int>(1);
  if (!small) return small.error();
  for (unsigned i = 0;; ++i) {
    int* const in = window->data();
    int* const out = in + most;
    phase = pushing;
    if (auto done = checked_sum<OneShotPush>(communicator, 1 + i * 61 % 4000, outcome, in, out); !done)
      return done;
    phase = staging;
    if (auto done = checked_sum<ReduceScatterAllGather>(communicator, i * 997 % most, outcome, in, out);
        !done) {
      return done;
    }
    phase = zero_copying;
    if (auto done =
            checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, i * 1009 % most, outcome, in, out);
        !done) {
      return done;
    }
    phase = pushing_shards;
    if (auto done = checked_sum<ReduceScatterAllGatherPush>(communicator, i * 1013 % most, outcome, in, out);
        !done) {
      return done;
    }
    phase = between;
    if (i % 8 == 0) nap(300us);
  }
}

template <int NRanks>
void play_rank(HostSharedMemory<NRanks> const& group, int rank, Stage<NRanks>& stage, Trial const& trial) {
  Outcome& outcome = stage.outcomes[static_cast<std::size_t>(rank)];
  std::atomic<int>& phase = stage.phase[static_cast<std::size_t>(rank)];
  std::size_t const descriptors = open_descriptors();
  bool const early = trial.phase == before || trial.phase == joining;
  (void)stage.meeting.wait(NRanks);
  phase = before;
  if (early && rank == trial.victim) nap(20ms);
  phase = joining;
  outcome.note([&]() -> Result<void> {
    Options options = early ? Options{.deadline = joining_deadline} : patient();
    options.lanes = trial.lanes;
    options.chunk_bytes = 4096;
    auto communicator = group.join(rank, options);
    if (!communicator) return communicator.error();
    auto failed = call_for_ever(*communicator, outcome, phase);
    // Whatever failed, the communicator says the same from now on, unless it was the making of a window.
    if (auto const status = communicator->status(); !status && (status.error().code != failed.error().code ||
                                                                status.error().rank != failed.error().rank)) {
      outcome.complain("later: " + status.error().message());
    }
    return failed;
  }());
  outcome.took = Clock::now().time_since_epoch() - Clock::duration(stage.killed_at.load());
  if (open_descriptors() != descriptors) outcome.complain("descriptors are left open");
}

//! How one trial went.
template <int NRanks>
struct TrialResult {
  std::array<Ended, NRanks> ended{};
  std::array<Outcome, NRanks> outcomes{};
  bool held_up =
      false;  //!< somebody waited out more than the deadline: the machine was too busy to tell who is missing
};

template <int NRanks>
TrialResult<NRanks> result_of(Trial const& trial) {
  HostSharedMemory<NRanks> const group{SharedMemoryKey::random()};
  Shared<Stage<NRanks>> stage;
  Children children;
  for (int rank = 0; rank < NRanks; ++rank) {
    children.start([&, rank] {
      play_rank(group, rank, *stage, trial);
      return 0;
    });
  }
  auto const limit = Clock::now() + 30s;
  auto const& phase = stage->phase[static_cast<std::size_t>(trial.victim)];
  while (phase.load() < trial.phase && Clock::now() < limit) nap(20us);
  nap(trial.after);
  stage->killed_at = Clock::now().time_since_epoch().count();
  children.kill(trial.victim, SIGKILL);
  TrialResult<NRanks> result;
  auto const ended = children.wait(30s);
  std::copy(ended.begin(), ended.end(), result.ended.begin());
  result.outcomes = stage->outcomes;
  for (Outcome const& outcome : result.outcomes) {
    result.held_up = result.held_up || outcome.took > joining_deadline + 150ms;
  }
  return result;
}

template <int NRanks>
void play(Trial const& trial) {
  bool const early = trial.phase == before || trial.phase == joining;
  auto result = result_of<NRanks>(trial);
  for (int again = 0; early && result.held_up && again < 10; ++again) result = result_of<NRanks>(trial);

  INFO("CHEVRON_TEST_SEED=" << seed() << ": rank " << trial.victim << " of " << NRanks << " killed "
                            << trial.after.count() << " us into " << phase_names[trial.phase] << ", "
                            << trial.lanes << " lanes\n"
                            << text_of(result.outcomes));
  for (int rank = 0; rank < NRanks; ++rank) {
    Ended const& end = result.ended[static_cast<std::size_t>(rank)];
    if (rank == trial.victim) {
      REQUIRE(end.signal == SIGKILL);
      continue;
    }
    INFO("rank " << rank << ": " << end.text());
    REQUIRE(end.good());
    Outcome const& outcome = result.outcomes[static_cast<std::size_t>(rank)];
    REQUIRE(outcome.complaint == std::string());
    REQUIRE((outcome.code == Errc::peer_died || (early && outcome.code == Errc::timeout)));
    REQUIRE(outcome.culprit == trial.victim);
    REQUIRE(outcome.took <= (early ? 2 * joining_deadline : 0ms) + slack);
  }
}

void play(int ranks, Trial const& trial) {
  if (ranks == 2) return play<2>(trial);
  if (ranks == 3) return play<3>(trial);
  return play<5>(trial);
}

Trial draw(Rng& rng, int ranks, Phase phase) {
  return {.victim = static_cast<int>(rng.below(static_cast<std::size_t>(ranks))),
          .phase = phase,
          .after = std::chrono::microseconds(rng.chance(1, 4) ? 0 : rng.spread(4000)),
          .lanes = rng.chance(1, 4) ? 2 : 1};
}

void play_many(std::vector<Phase> const& at, int trials) {
  auto const shared_before = names_in("/dev/shm");
  std::size_t const descriptors = open_descriptors();
  ProcessWorld<3> next;
  for (int i = 0; i < trials; ++i) {
    Watchdog const watchdog(100s, "a trial with a killed rank");
    Rng rng(noise(seed(), static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(at[0])));
    int const ranks = rng.one_of({2, 3, 5});
    play(ranks, draw(rng, ranks, at[rng.below(at.size())]));
    if (i % 10 == 0) REQUIRE(complaint_of(next) == "");
  }
  REQUIRE(open_descriptors() == descriptors);
  for (std::string const& name : names_in("/dev/shm")) {
    INFO("/dev/shm/" << name << " is new");
    REQUIRE((shared_before.count(name) != 0 || name.find("chevron") == std::string::npos));
  }
  REQUIRE(complaint_of(next) == "");
}

TEST_CASE("a rank is killed in a call, or between calls") {
  play_many({pushing, staging, zero_copying, pushing_shards, between}, full_run() ? 800 : 60);
}

TEST_CASE("a rank is killed while windows are made") { play_many({allocating}, full_run() ? 150 : 30); }

TEST_CASE("a rank is killed before it joins, or while it joins") {
  play_many({before, joining}, full_run() ? 50 : 10);
}

}  // namespace

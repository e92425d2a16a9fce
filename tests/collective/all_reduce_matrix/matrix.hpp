// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_MATRIX_HPP
#define CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_MATRIX_HPP

//! @file
//! Contracts C1 and C3 for one element: rank counts 2 to 16, every task, every algorithm, both host
//! transports.
//!
//! CHEVRON_TEST_SEED=n repeats a run, CHEVRON_TEST_FULL=1 takes every count from 0 to 4097 and more memory,
//! CHEVRON_TEST_RANKS=2-5 these rank counts alone.

#include <chevron/transport/host_shared_memory.hpp>
#include <chevron/transport/host_threads.hpp>

#include <collective/all_reduce_matrix/plan.hpp>
#include <collective/all_reduce_matrix/play.hpp>
#include <support/catch.hpp>
#include <support/full.hpp>
#include <support/processes.hpp>
#include <support/rank_counts.hpp>
#include <support/seed.hpp>
#include <support/shared.hpp>
#include <support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace chevron::test {

inline constexpr int least_ranks = 2;
inline constexpr int most_ranks = 16;

//! A rank's part of a plan, on a group that the function holds on to.
using RankFunction = std::function<void(int rank, Meeting& meeting, Verdict& verdict)>;

template <class T, int NRanks, bool InProcesses>
RankFunction make_rank_function(Plan const& plan, Expectations<T> const& expected) {
  using Group = std::conditional_t<InProcesses, HostSharedMemory<NRanks>, HostThreads<NRanks>>;
  std::shared_ptr<Group> group;
  if constexpr (InProcesses) {
    group = std::make_shared<Group>(SharedMemoryKey::random());
  } else {
    group = std::make_shared<Group>();
  }
  return [&plan, &expected, group](int rank, Meeting& meeting, Verdict& verdict) {
    play_rank<T>(*group, rank, plan, expected, meeting, verdict);
  };
}

//! Runs all ranks of a plan; gives the first complaint, nothing when there is none.
inline std::string run_in_threads(Plan const& plan, RankFunction const& rank_function) {
  Meeting meeting;
  Verdict verdict;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    threads.emplace_back([&, rank] { rank_function(rank, meeting, verdict); });
  }
  for (std::thread& thread : threads) thread.join();
  return verdict.text();
}
inline std::string run_in_processes(Plan const& plan, RankFunction const& rank_function) {
  Shared<Meeting> meeting;
  Shared<Verdict> verdict;
  Children ranks;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    ranks.start([&, rank] {
      rank_function(rank, *meeting, *verdict);
      return 0;
    });
  }
  auto const ended = ranks.wait(std::chrono::seconds(250));
  for (int rank = 0; rank < plan.ranks; ++rank) {
    Ended const& end = ended[static_cast<std::size_t>(rank)];
    if (!end.good()) verdict->fail("%s\n  rank %d: %s", plan.text(0).c_str(), rank, end.text().c_str());
  }
  return verdict->text();
}

//! The plans for one rank count on one transport.
template <class T>
class RankCountRun {
 public:
  using MakeRankFunction = RankFunction (*)(Plan const&, Expectations<T> const&);

  RankCountRun(int ranks, bool processes, MakeRankFunction make)
      : ranks_(ranks), processes_(processes), make_(make) {}

  void sample(int batches, std::size_t calls) {
    for (int batch = 0; batch < batches; ++batch) play(planner().mixed({.calls = calls}));
  }
  void every_count() {
    constexpr std::size_t at_once = 241;  // 17 times that is 4097
    for (std::size_t first = 0; first <= 4097; first += at_once) {
      play(planner().counts_from(first, {.calls = at_once, .step_cost = 60'000}));
    }
  }
  void large(std::size_t calls, std::size_t megabytes) {
    play(planner().large({.calls = calls, .bytes = megabytes << 20}));
  }

 private:
  Planner planner() {
    return Planner(noise(seed(), static_cast<std::uint64_t>(ranks_) << 8 | (processes_ ? 1u : 0u),
                         static_cast<std::uint64_t>(element_kind<T>) << 32 | ++plans_),
                   ranks_, element_kind<T>, sizeof(T), processes_);
  }
  void play(Plan const& plan) {
    Watchdog const watchdog(std::chrono::seconds(280), "a plan of the all-reduce matrix");
    auto const expected = expectations_of<T>(plan);
    auto const rank_function = make_(plan, expected);
    std::string const complaint =
        processes_ ? run_in_processes(plan, rank_function) : run_in_threads(plan, rank_function);
    INFO("CHEVRON_TEST_SEED=" << seed() << "\n" << complaint);
    REQUIRE(complaint.empty());
  }

  int ranks_;
  bool processes_;
  MakeRankFunction make_;
  std::uint64_t plans_ = 0;
};

inline void say_seed() {
  static bool const said = [] {
    std::cout << "CHEVRON_TEST_SEED=" << seed() << std::endl;
    return true;
  }();
  (void)said;
}

//! Null where the matrix has no such groups.
template <class T, int NRanks, bool InProcesses>
constexpr typename RankCountRun<T>::MakeRankFunction maker() {
  if constexpr (has_groups(NRanks, element_kind<T>) &&
                (!InProcesses || has_processes(NRanks, element_kind<T>))) {
    return &make_rank_function<T, NRanks, InProcesses>;
  } else {
    return nullptr;
  }
}

template <class T, bool InProcesses, int... I>
void matrix_of(std::integer_sequence<int, I...>) {
  typename RankCountRun<T>::MakeRankFunction const makers[] = {maker<T, least_ranks + I, InProcesses>()...};
  for (int ranks = least_ranks; ranks <= most_ranks; ++ranks) {
    auto const make = makers[ranks - least_ranks];
    if (make == nullptr || !is_wanted_rank_count(ranks)) continue;
    RankCountRun<T> run(ranks, InProcesses, make);
    if (full_run()) {
      run.sample(8, 100);
      run.every_count();
      run.large(6, 768);
    } else {
      run.sample(InProcesses ? 3 : 2, 50);
      if (ranks % 5 == static_cast<int>(element_kind<T>) % 5) run.large(1, 32);
    }
  }
}

template <class T, bool InProcesses>
void matrix() {
  say_seed();
  matrix_of<T, InProcesses>(std::make_integer_sequence<int, most_ranks - least_ranks + 1>{});
}

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_MATRIX_HPP
#define CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_MATRIX_HPP

//! @file
//! Contracts C1 and C3 for one element: rank counts 2 to 16, every task, every algorithm, both host
//! transports.
//!
//! CHEVRON_TEST_SEED=n repeats a run, CHEVRON_TEST_FULL=1 takes every count from 0 to 4097 and more memory.

#include <chevron/transport/host_shared_memory.hpp>
#include <chevron/transport/host_threads.hpp>

#include <collective/all_reduce_matrix/plan.hpp>
#include <collective/all_reduce_matrix/play.hpp>
#include <support/catch.hpp>
#include <support/full.hpp>
#include <support/processes.hpp>
#include <support/seed.hpp>
#include <support/shared.hpp>
#include <support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace chevron::test {

inline constexpr int least_ranks = 2;
inline constexpr int most_ranks = 16;

//! Plays a plan with threads or processes; the first complaint, empty when there is none.
template <class T, int NRanks>
std::string play_with_threads(Plan const& plan) {
  auto const expected = expectations_of<T>(plan);
  HostThreads<NRanks> group;
  Meeting meeting;
  Verdict verdict;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < NRanks; ++rank) {
    threads.emplace_back([&, rank] { play_rank<T>(group, rank, plan, expected, meeting, verdict); });
  }
  for (std::thread& thread : threads) thread.join();
  return verdict.text();
}

template <class T, int NRanks>
std::string play_with_processes(Plan const& plan) {
  auto const expected = expectations_of<T>(plan);
  HostSharedMemory<NRanks> group{SharedMemoryKey::random()};
  Shared<Meeting> meeting;
  Shared<Verdict> verdict;
  Children ranks;
  for (int rank = 0; rank < NRanks; ++rank) {
    ranks.start([&, rank] {
      play_rank<T>(group, rank, plan, expected, *meeting, *verdict);
      return 0;
    });
  }
  auto const ended = ranks.wait(std::chrono::seconds(100));
  for (int rank = 0; rank < NRanks; ++rank) {
    Ended const& end = ended[static_cast<std::size_t>(rank)];
    if (!end.good()) verdict->fail("%s\n  rank %d: %s", plan.text(0).c_str(), rank, end.text().c_str());
  }
  return verdict->text();
}

//! A window of the plan that is played: which transport, and how many calls.
template <class T, int NRanks>
class RankCountRun {
 public:
  explicit RankCountRun(bool processes) : processes_(processes) {}

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
    return Planner(noise(seed(), static_cast<std::uint64_t>(NRanks) << 8 | (processes_ ? 1u : 0u),
                         static_cast<std::uint64_t>(element_kind<T>) << 32 | ++plans_),
                   NRanks, element_kind<T>, sizeof(T), processes_);
  }
  void play(Plan const& plan) {
    Watchdog const watchdog(std::chrono::seconds(300), "a plan of the all-reduce matrix");
    std::string const complaint =
        processes_ ? play_with_processes<T, NRanks>(plan) : play_with_threads<T, NRanks>(plan);
    INFO("CHEVRON_TEST_SEED=" << seed() << "\n" << complaint);
    REQUIRE(complaint.empty());
  }

  bool processes_;
  std::uint64_t plans_ = 0;
};

//! Calls `run.template operator()<N>()` for every rank count.
template <class Run>
void for_each_rank_count(Run&& run) {
  [&]<int... I>(std::integer_sequence<int, I...>) { (run.template operator()<least_ranks + I>(), ...); }
  (std::make_integer_sequence<int, most_ranks - least_ranks + 1>{});
}

inline void say_seed() {
  static bool const said = [] {
    std::cout << "CHEVRON_TEST_SEED=" << seed() << std::endl;
    return true;
  }();
  (void)said;
}

template <class T>
void matrix(bool processes) {
  say_seed();
  for_each_rank_count([&]<int NRanks>() {
    RankCountRun<T, NRanks> run(processes);
    if (full_run()) {
      run.sample(8, 100);
      run.every_count();
      run.large(6, 768);
    } else {
      run.sample(processes ? 1 : 2, processes ? 60 : 50);
      if ((NRanks + static_cast<int>(element_kind<T>)) % 5 == 0) run.large(1, 32);
    }
  });
}

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contracts C1 and C3 on devices, for one element and some rank counts: every task, every algorithm, both scopes; where
// CHEVRON_TEST_DEVICES lists several devices, what is compiled for thread_scope_system.
// Compiled several times, with CHEVRON_TEST_ELEMENT, CHEVRON_TEST_FIRST_RANKS, _LAST_RANKS and _RANKS_STEP.
//
// CHEVRON_TEST_SEED=n repeats a run, CHEVRON_TEST_FULL=1 takes every count from 0 to 4097 and more memory,
// CHEVRON_TEST_SMALL=1 takes a few calls, CHEVRON_TEST_RANKS=2-4 these rank counts alone.
#include <collective/cuda_matrix/group.cuh>
#include <collective/cuda_matrix/plan.hpp>
#include <collective/cuda_matrix/play.cuh>
#include <support/catch.hpp>
#include <support/device.cuh>
#include <support/full.hpp>
#include <support/rank_counts.hpp>
#include <support/rank_devices.hpp>
#include <support/seed.hpp>
#include <support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using namespace chevron;
using namespace chevron::test;

using Value = CHEVRON_TEST_ELEMENT;
constexpr int first_ranks = CHEVRON_TEST_FIRST_RANKS;
constexpr int last_ranks = CHEVRON_TEST_LAST_RANKS;
constexpr int ranks_step = CHEVRON_TEST_RANKS_STEP;

//! The plans for one rank count.
class RankCountRun {
 public:
  using Make = Result<std::unique_ptr<DeviceGroup<Value>>> (*)(CudaOptions const&);

  RankCountRun(int ranks, Make device, Make system) : ranks_(ranks), device_(device), system_(system) {}

  [[nodiscard]] int ranks() const { return ranks_; }

  void sample(int plans, std::size_t calls) {
    for (int i = 0; i < plans; ++i) play(planner().mixed(system_scope(i), {.calls = calls}));
  }
  void every_count() {
    constexpr std::size_t at_once = 241;  // 17 times that is 4097
    for (std::size_t first = 0; first <= 4097; first += at_once) {
      bool const scope = system_scope(static_cast<int>(first / at_once));
      play(planner().counts_from(first, scope, {.calls = at_once}));
    }
  }
  void large(int plans, std::size_t calls, std::size_t most, std::size_t megabytes) {
    for (int i = 0; i < plans; ++i) {
      play(planner().large(system_scope(i), most, {.calls = calls, .bytes = megabytes << 20}));
    }
  }

 private:
  //! Whether a plan is for thread_scope_system: ranks on several devices have no other.
  static bool system_scope(int plan) { return is_spread() || plan % 3 == 2; }

  Planner planner() {
    return Planner(noise(seed(), static_cast<std::uint64_t>(ranks_),
                         static_cast<std::uint64_t>(element_kind<Value>) << 32 | ++plans_),
                   ranks_, element_kind<Value>, sizeof(Value));
  }
  void play(Plan const& plan) {
    Watchdog const watchdog(std::chrono::seconds(240), "a plan of the all-reduce matrix on a device");
    INFO("CHEVRON_TEST_SEED=" << seed());
    Player<Value> player(plan);
    auto const group = (plan.system_scope ? system_ : device_)(plan.options);
    std::string const complaint =
        group ? player.play(**group) : plan.text(0) + "\n  " + group.error().message();
    INFO(complaint);
    REQUIRE(complaint.empty());
  }

  int ranks_;
  Make device_;
  Make system_;
  std::uint64_t plans_ = 0;
};

template <int... Is>
void matrix(std::integer_sequence<int, Is...>) {
  RankCountRun runs[] = {RankCountRun(first_ranks + Is * ranks_step,
                                      &GroupOnDevice<Value, first_ranks + Is * ranks_step, false>::make,
                                      &GroupOnDevice<Value, first_ranks + Is * ranks_step, true>::make)...};
  for (RankCountRun& run : runs) {
    if (!is_wanted_rank_count(run.ranks())) continue;
    if (small_run()) {
      run.sample(3, 6);
    } else if (full_run()) {
      run.sample(30, 100);
      run.every_count();
      run.large(3, 4, std::size_t{1} << 24, 1024);
    } else {
      run.sample(6, 50);
      run.large(1, 3, std::size_t{1} << 22, 64);
    }
  }
}

}  // namespace

TEST_CASE("all-reduce on a device") {
  need_device();
  std::cout << "CHEVRON_TEST_SEED=" << seed() << std::endl;
  matrix(std::make_integer_sequence<int, (last_ranks - first_ranks) / ranks_step + 1>{});
  REQUIRE(trouble_with_device() == "");
}

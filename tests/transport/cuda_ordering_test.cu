// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the two ends of a call on windows order what they must, with the weakest words that are offered: right before each
// call a kernel writes fresh data, right after it the next kernel overwrites them, and nothing but the call and the stream
// stands between. What is missing shows as a bit of another round, if it is tried often enough.
//
// Compiled once more with CHEVRON_TEST_SYSTEM_SCOPE, for ranks on the devices of CHEVRON_TEST_DEVICES.
// CHEVRON_TEST_FULL=1 looks at hundreds of millions of elements, CHEVRON_TEST_SMALL=1 at few.
#include <support/catch.hpp>
#include <support/device.cuh>
#include <support/device_group.cuh>
#include <support/device_work.cuh>
#include <support/full.hpp>
#include <support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

constexpr auto system_scope = cuda::thread_scope_system;

constexpr char const* name_of(Ordering ordering) {
  switch (ordering) {
    case Ordering::formal:
      return "formal";
    case Ordering::relaxed_arrival:
      return "relaxed arrival";
    case Ordering::relaxed:
      return "relaxed";
  }
  return "unknown";
}

//! One size and shape of calls, again and again.
struct Setting {
  std::size_t count;
  unsigned blocks;  //!< of the kernels that write and look
  int lanes;
  int threads;
  std::size_t in_askew = 0;
  std::size_t out_askew = 0;
  bool in_place = false;
};

constexpr Setting settings[] = {
    {.count = 4, .blocks = 1, .lanes = 1, .threads = 64},
    {.count = 512, .blocks = 1, .lanes = 1, .threads = 128},
    {.count = 2048, .blocks = 4, .lanes = 1, .threads = 512},
    {.count = 2048, .blocks = 8, .lanes = 8, .threads = 64},
    {.count = 8192, .blocks = 16, .lanes = 4, .threads = 512},
    {.count = 65'536, .blocks = 32, .lanes = 16, .threads = 512},
    {.count = 4099, .blocks = 4, .lanes = 3, .threads = 256, .in_askew = 1, .out_askew = 1},
    {.count = 4099, .blocks = 4, .lanes = 3, .threads = 256, .in_askew = 1, .out_askew = 2},
    {.count = 8192, .blocks = 8, .lanes = 4, .threads = 256, .in_place = true},
};

template <class AnyGroup>
void hammer(Route route, Ordering ordering, bool captured, int rounds) {
  for (Setting const& setting : settings) {
    INFO("N=" << AnyGroup::ranks << ", " << name(route) << ", ordering " << name_of(ordering)
              << (captured ? ", captured" : ", eager") << ", count " << setting.count << ", lanes "
              << setting.lanes << ", threads " << setting.threads << (setting.in_place ? ", in place" : ""));
    CudaGeometry const geometry = {
        .lanes = setting.lanes, .threads = setting.threads, .ordering = ordering, .dependent_launch = true};
    // Kernels that were brought in early wait on the device, where they must leave room for the lanes of ranks that come late.
    unsigned const blocks = setting.blocks < 64u / AnyGroup::ranks ? setting.blocks : 64u / AnyGroup::ranks;
    auto const workers = AnyGroup::workers(setting.count);
    AnyGroup group(workers);
    auto const in = [&](Worker const& worker) { return worker.in(setting.in_askew); };
    auto const out = [&](Worker const& worker) {
      return setting.in_place ? in(worker) : worker.out(setting.out_askew);
    };
    // A call, and the kernel that looks at its result and overwrites its input for the next one.
    auto const step = [&](int rank, Worker const& worker) {
      group.call(rank, route, in(worker), out(worker), setting.count, worker.stream(), geometry);
      worker.go_on(in(worker), out(worker), setting.count, blocks, true);
    };
    for (Worker const& worker : workers) worker.begin(in(worker), out(worker), setting.count, blocks);
    if (captured) {
      constexpr int at_once = 32;
      std::vector<Graph> graphs;
      for (Worker const& worker : workers) {
        int const rank = static_cast<int>(graphs.size());
        graphs.emplace_back(worker.stream(), [&] {
          for (int i = 0; i < at_once; ++i) step(rank, worker);
        });
      }
      for (int i = 0; i < rounds; i += at_once) {
        for (std::size_t rank = 0; rank < graphs.size(); ++rank) graphs[rank].launch(workers[rank].stream());
      }
      REQUIRE(group.finish(workers, static_cast<unsigned long long>(rounds) * setting.count) == "");
    } else {
      for (int i = 0; i < rounds; ++i) {
        for (int rank = 0; rank < AnyGroup::ranks; ++rank)
          step(rank, workers[static_cast<std::size_t>(rank)]);
      }
      REQUIRE(group.finish(workers, static_cast<unsigned long long>(rounds) * setting.count) == "");
    }
  }
}

}  // namespace

TEST_CASE("one-shot pull, both ends relaxed") {
  need_device();
  Watchdog const watchdog(full_run() ? 1500s : 240s, "relaxed one-shot pull");
  int const rounds = amount(500, 20'000, 20);
  for (bool const captured : {false, true}) {
    hammer<Group<2>>(Route::pull, Ordering::relaxed, captured, rounds);
    hammer<Group<4>>(Route::pull, Ordering::relaxed, captured, rounds);
    hammer<Group<8>>(Route::pull, Ordering::relaxed, captured, rounds / 2);
    if constexpr (usual_scope != system_scope)
      hammer<Group<2, system_scope>>(Route::pull, Ordering::relaxed, captured, rounds);
  }
  REQUIRE(trouble_with_device() == "");
}

TEST_CASE("one-shot pull, other orderings") {
  need_device();
  Watchdog const watchdog(full_run() ? 1500s : 240s, "one-shot pull");
  int const rounds = amount(200, 5'000, 20);
  for (Ordering const ordering : {Ordering::formal, Ordering::relaxed_arrival}) {
    hammer<Group<2>>(Route::pull, ordering, false, rounds);
    hammer<Group<4>>(Route::pull, ordering, true, rounds);
    if constexpr (usual_scope != system_scope)
      hammer<Group<2, system_scope>>(Route::pull, ordering, true, rounds);
  }
}

TEST_CASE("the other algorithms, as relaxed as they go") {
  need_device();
  Watchdog const watchdog(full_run() ? 1500s : 240s, "the other algorithms, relaxed");
  int const rounds = amount(200, 5'000, 20);
  for (Route const route :
       {Route::push, Route::two_shot, Route::staged, Route::zero_copy, Route::push_rsag}) {
    for (bool const captured : {false, true}) {
      hammer<Group<2>>(route, Ordering::relaxed, captured, rounds);
      hammer<Group<4>>(route, Ordering::relaxed, captured, rounds);
    }
  }
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many calls one after the other, mixed in every way: sizes, algorithms, geometries, eager and captured, across the borders
// of the step counter, on several streams and communicators. Every result is looked at on the device.
//
// Compiled once more with CHEVRON_TEST_SYSTEM_SCOPE, for ranks on the devices of CHEVRON_TEST_DEVICES.
// CHEVRON_TEST_SEED=n repeats a run, CHEVRON_TEST_FULL=1 makes a hundred times as many calls, CHEVRON_TEST_SMALL=1 few.
#include <support/catch.hpp>
#include <support/device.cuh>
#include <support/device_group.cuh>
#include <support/device_work.cuh>
#include <support/full.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>
#include <support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

constexpr auto system_scope = cuda::thread_scope_system;

//! A random call; the same for all ranks but for where the buffers lie.
struct Draw {
  Route route;
  std::size_t count;
  CudaGeometry geometry;
  std::uint64_t places;

  static constexpr std::size_t most = std::size_t{1} << 18;

  static Draw from(Rng& rng, std::size_t most_elements = most) {
    std::size_t const count = rng.chance(1, 200)  ? rng.spread(most_elements)
                              : rng.chance(1, 16) ? 0
                                                  : rng.spread(8192);
    return {
        .route = static_cast<Route>(rng.below(route_count)),
        .count = count < most_elements ? count : most_elements,
        .geometry = {.lanes = rng.chance(1, 3) ? 0 : static_cast<int>(rng.spread(64)),
                     .threads = static_cast<int>(32 * rng.between(2, 16)),
                     .ordering = rng.one_of({Ordering::formal, Ordering::relaxed_arrival, Ordering::relaxed}),
                     .dependent_launch = rng.chance(3, 4)},
        .places = rng()};
  }

  template <class AnyGroup>
  void make(AnyGroup& group, int rank, Worker const& worker) const {
    std::uint64_t const random = noise(places, static_cast<std::uint64_t>(rank));
    bool const alike = (places & 1) != 0;
    std::size_t const in_askew = alike ? places >> 8 & 3 : random >> 8 & 3;
    std::size_t const out_askew = alike ? in_askew : random >> 16 & 3;
    // A table finds a way for buffers outside of windows, be they all ranks' or some ranks'.
    bool const in_no_window = !needs_windows(route) &&
                              ((places >> 4 & 3) == 0 || ((places >> 4 & 3) == 1 && (random >> 32 & 1) == 0));
    group.round(rank, worker, route, count, geometry,
                {.in_place = (random >> 24 & 3) == 0,
                 .in_askew = in_askew,
                 .out_askew = out_askew,
                 .in_no_window = in_no_window});
  }
};

//! Some calls of all ranks, as a graph for each.
class Replay {
 public:
  template <class AnyGroup>
  Replay(AnyGroup& group, std::vector<Worker> const& workers, Rng& rng) {
    std::vector<Draw> draws;
    for (std::size_t i = rng.between(1, 8); i > 0; --i) draws.push_back(Draw::from(rng));
    for (int rank = 0; rank < AnyGroup::ranks; ++rank) {
      Worker const& worker = workers[static_cast<std::size_t>(rank)];
      graphs_.emplace_back(worker.stream(), [&] {
        for (Draw const& draw : draws) draw.make(group, rank, worker);
      });
    }
    for (Draw const& draw : draws) elements_ += draw.count;
    calls_ = draws.size();
  }
  void launch(std::vector<Worker> const& workers) const {
    for (std::size_t rank = 0; rank < workers.size(); ++rank) graphs_[rank].launch(workers[rank].stream());
  }
  [[nodiscard]] std::size_t calls() const { return calls_; }
  [[nodiscard]] std::size_t elements() const { return elements_; }

 private:
  std::vector<Graph> graphs_{};
  std::size_t calls_ = 0;
  std::size_t elements_ = 0;
};

//! @tparam AnyGroup  which ranks
template <class AnyGroup>
void storm(std::size_t calls, CudaOptions const& options, std::uint64_t salt) {
  INFO("CHEVRON_TEST_SEED=" << seed() << ", salt " << salt);
  Rng rng(noise(seed(), salt));
  auto const workers = AnyGroup::workers(Draw::most);
  AnyGroup group(workers, options);
  std::vector<std::optional<Replay>> replays(8);
  unsigned long long elements = 0;
  for (std::size_t made = 0; made < calls;) {
    if (rng.chance(1, 8)) {
      std::optional<Replay>& replay = replays[rng.below(replays.size())];
      if (!replay || rng.chance(1, 100)) {
        for (Worker const& worker : workers) worker.stream().wait();
        replay.reset();
        replay.emplace(group, workers, rng);
      }
      replay->launch(workers);
      made += replay->calls();
      elements += replay->elements();
    } else {
      Draw const draw = Draw::from(rng);
      for (int rank = 0; rank < AnyGroup::ranks; ++rank) {
        draw.make(group, rank, workers[static_cast<std::size_t>(rank)]);
      }
      made += 1;
      elements += draw.count;
    }
  }
  REQUIRE(group.finish(workers, elements) == "");
}

//! Small mailboxes, so that calls take many steps.
CudaOptions small_steps() {
  CudaOptions options = Group<2>::usual();
  options.packet_bytes = 256;
  options.chunk_bytes = 384;
  return options;
}

}  // namespace

TEST_CASE("calls of all kinds, mixed") {
  need_device();
  std::cout << "CHEVRON_TEST_SEED=" << seed() << std::endl;
  Watchdog const watchdog(full_run() ? 1500s : 240s, "calls of all kinds, mixed");
  std::size_t const calls = amount<std::size_t>(2'500, 250'000, 60);
  storm<Group<2>>(calls, Group<2>::usual(), 1);
  storm<Group<4>>(calls, Group<4>::usual(), 2);
  storm<Group<2, system_scope>>(calls, small_steps(), 3);
  storm<Group<4>>(calls, small_steps(), 4);
  REQUIRE(trouble_with_device() == "");
}

TEST_CASE("step counters come to the borders of their eras, and wrap") {
  need_device();
  Watchdog const watchdog(240s, "step counters wrap");
  for (int repeat = 0; repeat < amount(2, 20, 1); ++repeat) {
    for (Epoch era = 0; era < 4; ++era) {
      CudaOptions options = small_steps();
      options.lanes = 4;
      options.first_epoch =
          (era << 30) - static_cast<Epoch>(noise(seed(), era, static_cast<std::uint64_t>(repeat)) % 60);
      CAPTURE(options.first_epoch);
      storm<Group<2>>(amount<std::size_t>(100, 100, 20), options, 100 + era);
      storm<Group<4>>(amount<std::size_t>(100, 100, 20), options, 200 + era);
      storm<Group<2, system_scope>>(amount<std::size_t>(100, 100, 20), options, 300 + era);
    }
  }
}

TEST_CASE("words that nobody has written yet are not taken for step 0") {
  need_device();
  Watchdog const watchdog(120s, "step 0");
  load_kernel(&dawdle);
  for (Route const before : named_routes) {
    for (Route const at_zero : named_routes) {
      for (Epoch const calls_before : {0u, 1u, 3u}) {
        // Each call with one step, or with the two of a two-shot, or of an arrival and a chunk.
        Epoch const steps = before == Route::two_shot || before == Route::push_rsag ? 2 : 1;
        CudaOptions options = Group<2>::usual();
        options.lanes = 2;
        options.first_epoch = 0u - calls_before * steps;
        std::size_t const count = 200;
        auto const workers = Group<2>::workers(count);
        Group<2> group(workers, options);
        for (Epoch i = 0; i <= calls_before; ++i) {
          Route const route = i == calls_before ? at_zero : before;
          // Rank 1 comes late: by then rank 0 has looked.
          dawdle_on(workers[1].stream(), 200'000);
          for (int rank = 0; rank < 2; ++rank) {
            group.round(rank, workers[static_cast<std::size_t>(rank)], route, count, {.lanes = 2});
          }
        }
        INFO(calls_before << " x " << name(before) << ", then " << name(at_zero) << " at step 0");
        CHECK(group.finish(workers) == "");
      }
    }
  }
}

TEST_CASE("a graph of each algorithm, replayed many times") {
  need_device();
  Watchdog const watchdog(240s, "replays");
  int const replays = amount(1'000, 10'000, 20);
  auto const replay = [&](auto& group, auto const& workers, Route route) {
    std::vector<Graph> graphs;
    for (auto const& worker : workers) {
      int const rank = static_cast<int>(graphs.size());
      graphs.emplace_back(worker.stream(), [&] {
        for (std::size_t const count : {std::size_t{1}, std::size_t{1000}, std::size_t{20'011}}) {
          group.round(rank, worker, route, count);
        }
      });
    }
    for (int i = 0; i < replays; ++i) {
      for (std::size_t rank = 0; rank < graphs.size(); ++rank) graphs[rank].launch(workers[rank].stream());
    }
    INFO(name(route));
    REQUIRE(group.finish(workers, static_cast<unsigned long long>(replays) * 21'012) == "");
  };
  for (int i = 0; i < route_count; ++i) {
    auto const route = static_cast<Route>(i);
    auto const two_workers = Group<2>::workers(20'011);
    Group<2> two(two_workers);
    replay(two, two_workers, route);
    auto const four_workers = Group<4>::workers(20'011);
    Group<4> four(four_workers, small_steps());
    replay(four, four_workers, route);
  }
}

TEST_CASE("capture as the very first call, in every capture mode") {
  need_device();
  Watchdog const watchdog(120s, "first call captured");
  for (auto const mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    for (int i = 0; i < route_count; ++i) {
      auto const route = static_cast<Route>(i);
      INFO("mode " << mode << ", " << name(route));
      std::size_t const count = 5000;
      auto const workers = Group<2>::workers(count);
      Group<2> group(workers);
      std::vector<Graph> graphs;
      for (int rank = 0; rank < 2; ++rank) {
        Worker const& worker = workers[static_cast<std::size_t>(rank)];
        graphs.emplace_back(
            worker.stream(), [&] { group.round(rank, worker, route, count); }, mode);
      }
      for (int repeat = 0; repeat < 3; ++repeat) {
        for (std::size_t rank = 0; rank < 2; ++rank) graphs[rank].launch(workers[rank].stream());
        // Eager calls between replays take the steps that follow.
        for (int rank = 0; rank < 2; ++rank) {
          group.round(rank, workers[static_cast<std::size_t>(rank)], route, count);
        }
      }
      REQUIRE(group.finish(workers, 6 * count) == "");
    }
  }
}

TEST_CASE("several graphs live, some go, some are captured anew") {
  need_device();
  Watchdog const watchdog(120s, "several graphs");
  INFO("CHEVRON_TEST_SEED=" << seed());
  Rng rng(noise(seed(), 77));
  auto const workers = Group<4>::workers(Draw::most);
  Group<4> group(workers);
  std::vector<std::optional<Replay>> replays(4);
  for (auto& replay : replays) replay.emplace(group, workers, rng);
  unsigned long long elements = 0;
  auto const launch = [&](std::size_t i) {
    replays[i]->launch(workers);
    elements += replays[i]->elements();
  };
  for (int repeat = 0; repeat < amount(50, 500, 2); ++repeat) {
    for (std::size_t const i : {0u, 1u, 0u, 2u, 3u, 3u}) launch(i);
    std::size_t const gone = rng.below(replays.size());
    for (Worker const& worker : workers) worker.stream().wait();
    replays[gone].reset();
    for (std::size_t i = 0; i < replays.size(); ++i) {
      if (i != gone) launch(i);
    }
    replays[gone].emplace(group, workers, rng);
    launch(gone);
  }
  REQUIRE(group.finish(workers, elements) == "");
}

TEST_CASE("one communicator on two streams in turn") {
  need_device();
  Watchdog const watchdog(120s, "two streams in turn");
  INFO("CHEVRON_TEST_SEED=" << seed());
  Rng rng(noise(seed(), 78));
  // Each stream has its own buffers and rounds; only the communicator is in common.
  auto const even = Group<4>::workers(Draw::most);
  auto const odd = Group<4>::workers(Draw::most);
  Group<4> group(even);
  group.make_windows(odd);
  for (int i = 0; i < amount(2'000, 50'000, 50); ++i) {
    Draw const draw = Draw::from(rng);
    auto const& workers = rng.chance(1, 2) ? even : odd;
    for (int rank = 0; rank < 4; ++rank) draw.make(group, rank, workers[static_cast<std::size_t>(rank)]);
  }
  REQUIRE(group.finish(even, 1) == "");
  REQUIRE(group.finish(odd, 1) == "");
}

TEST_CASE("two communicators with ranks on the same devices, at the same time") {
  need_device();
  Watchdog const watchdog(240s, "two communicators");
  INFO("CHEVRON_TEST_SEED=" << seed());
  // Lanes of both have room at the same time.
  CudaOptions options = Group<2>::usual();
  options.lanes = 4;
  std::string complaints[2];
  auto const play = [&](auto& group, auto const& workers, std::uint64_t salt, std::string& complaint) {
    try {
      Rng rng(noise(seed(), salt));
      for (int i = 0; i < amount(3'000, 100'000, 50); ++i) {
        Draw const draw = Draw::from(rng);
        for (int rank = 0; rank < group.ranks; ++rank) {
          draw.make(group, rank, workers[static_cast<std::size_t>(rank)]);
        }
      }
    } catch (std::exception const& error) {
      complaint = error.what();
    }
  };
  auto const two_workers = Group<2>::workers(Draw::most);
  auto const four_workers = Group<4>::workers(Draw::most);
  Group<2> two(two_workers, options);
  Group<4> four(four_workers, options);
  std::thread first([&] { play(two, two_workers, 80, complaints[0]); });
  std::thread second([&] { play(four, four_workers, 81, complaints[1]); });
  first.join();
  second.join();
  CHECK(complaints[0] == "");
  CHECK(complaints[1] == "");
  CHECK(two.finish(two_workers, 1) == "");
  CHECK(four.finish(four_workers, 1) == "");
}

// Hidden: what tools must leave possible before these tests mean something under them.
TEST_CASE("kernels of two streams run at the same time", "[.][concurrent]") {
  need_device();
  auto const workers = Group<2>::workers(1000);
  CudaOptions options = Group<2>::usual();
  options.deadline = 10s;
  Group<2> group(workers, options);
  for (int rank = 0; rank < 2; ++rank) {
    group.round(rank, workers[static_cast<std::size_t>(rank)], Route::push, 1000);
  }
  REQUIRE(group.finish(workers, 1000) == "");
}

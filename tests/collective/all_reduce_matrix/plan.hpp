// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_PLAN_HPP
#define CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_PLAN_HPP

//! @file
//! What one communicator is used for, drawn from a seed: options, and a sequence of calls with everybody's
//! buffers. Every rank has the same plan.

#include <chevron/core/element.hpp>
#include <chevron/host/options.hpp>

#include <collective/all_reduce_matrix/routes.hpp>
#include <support/data.hpp>
#include <support/noise.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

//! Where one rank's buffers of one call lie: in which canvas, and how many bytes into it. The first canvases
//! are plain memory, each with a page behind it that can't be touched; the others are windows.
struct Place {
  static constexpr int plain_canvases = 3;
  static constexpr int canvases = 6;

  int in_canvas = 0;
  int out_canvas = 0;
  std::size_t in = 0;
  std::size_t out = 0;
  bool in_place = false;
  std::uint8_t dawdle = 0;  //!< how late the rank comes: 0 not at all, 1 yields, more: that many microseconds

  [[nodiscard]] bool in_in_window() const { return in_canvas >= plain_canvases; }
  [[nodiscard]] bool out_in_window() const { return out_canvas >= plain_canvases; }
};

struct PlannedCall {
  int task = 0;
  Route route{};
  std::size_t count = 0;
  Data data{};
  std::uint64_t seed = 0;  //!< of the data; the epilogue's salt as well
  std::vector<Place> places{};
};

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 0;
  ElementKind element{};
  std::size_t element_bytes = 0;
  bool processes = false;
  Options options{};
  std::vector<PlannedCall> calls{};
  std::vector<std::array<std::size_t, Place::canvases>> canvas_bytes{};  //!< of each rank

  [[nodiscard]] std::string text(std::size_t call) const {
    PlannedCall const& c = calls[call];
    std::string text =
        std::string("N=") + std::to_string(ranks) + " " + chevron::name(element) +
        " op=" + task_names[c.task] + " algorithm=" + name(c.route) + " count=" + std::to_string(c.count) +
        " data=" + name(c.data) + (processes ? " processes" : " threads") +
        " lanes=" + std::to_string(options.lanes) + " packet_bytes=" + std::to_string(options.packet_bytes) +
        " chunk_bytes=" + std::to_string(options.chunk_bytes) +
        " first_epoch=" + std::to_string(options.first_epoch) + " call " + std::to_string(call) + " of " +
        std::to_string(calls.size()) + "; (in, out) by rank, w: in a window:";
    for (Place const& p : c.places) {
      text += " (" + std::to_string(p.in) + (p.in_in_window() ? "w" : "") + ", " +
              (p.in_place ? "same" : std::to_string(p.out) + (p.out_in_window() ? "w" : "")) + ")";
    }
    return text;
  }
};

//! Draws plans. `Budget` keeps the time and the memory of one of them within bounds.
class Planner {
 public:
  struct Budget {
    std::size_t calls = 40;
    std::size_t step_cost = 6000;               //!< rank-lane steps per call: about a microsecond each
    std::size_t bytes = std::size_t{64} << 20;  //!< all ranks' inputs of one call together
  };

  Planner(std::uint64_t seed, int ranks, ElementKind element, std::size_t element_bytes, bool processes)
      : rng_(seed),
        plan_{.seed = seed,
              .ranks = ranks,
              .element = element,
              .element_bytes = element_bytes,
              .processes = processes} {
    for (int task = 0; task < task_count; ++task) {
      for (int route = 0; route < route_count; ++route) {
        if (is_compiled(ranks, element, task, static_cast<Route>(route))) {
          choices_.push_back({task, static_cast<Route>(route)});
        }
      }
    }
  }

  //! Many small and middling calls.
  Plan mixed(Budget const& budget) {
    begin();
    for (std::size_t i = 0; i < budget.calls; ++i) add(some_count(), budget);
    return finish();
  }
  //! Every count in [first, first + budget.calls).
  Plan counts_from(std::size_t first, Budget const& budget) {
    begin();
    for (std::size_t i = 0; i < budget.calls; ++i) add(first + i, budget);
    return finish();
  }
  //! A few calls of any size up to 2^24 elements, as far as the memory goes.
  Plan large(Budget const& budget) {
    begin();
    plan_.options.packet_bytes = 64 * 1024;
    plan_.options.chunk_bytes = 256 * 1024;
    std::size_t const most = budget.bytes / plan_.element_bytes / static_cast<std::size_t>(plan_.ranks);
    for (std::size_t i = 0; i < budget.calls; ++i) {
      add(rng_.between(4098, std::min(most, std::size_t{1} << 24)), budget);
    }
    return finish();
  }

 private:
  struct Choice {
    int task;
    Route route;
  };

  void begin() {
    Options& options = plan_.options;
    options.deadline = std::chrono::seconds(60);
    options.lanes = static_cast<int>(rng_.one_of<std::size_t>({1, 1, 1, 2, 2, 3}));
    options.packet_bytes = rng_.one_of<std::size_t>({56, 64, 111, 112, 1000, 4096, 16 * 1024});
    options.chunk_bytes = rng_.one_of<std::size_t>({64, 128, 192, 1024, 4096, 128 * 1024});
    // Some communicators go through the wrap of the step counter, some begin at 0.
    options.non_temporal_stores = rng_.one_of<bool>({true, true, false});
    options.first_epoch = rng_.one_of<Epoch>({1, 1, 0, 0u - static_cast<Epoch>(rng_.spread(300))});
    plan_.canvas_bytes.assign(static_cast<std::size_t>(plan_.ranks), {});
  }

  [[nodiscard]] std::size_t some_count() {
    std::size_t const line = 64 / plan_.element_bytes;
    std::size_t const packet = 56 / plan_.element_bytes;
    auto const ranks = static_cast<std::size_t>(plan_.ranks);
    auto const near = [&](std::size_t count) { return count + rng_.below(3) - (count > 0 ? 1 : 0); };
    switch (rng_.below(8)) {
      case 0:
        return rng_.below(4);
      case 1:
        return rng_.below(65);
      case 2:
        return near(line * rng_.below(4 * ranks));
      case 3:
        return near(packet * rng_.below(40));
      case 4:
        return near(line * ranks * static_cast<std::size_t>(plan_.options.lanes) * rng_.between(1, 4));
      case 5:
        return rng_.spread(4097);
      default:
        return rng_.below(4098);
    }
  }

  static bool works_on_windows(Route route) {
    return route == Route::zero_copy || route == Route::one_shot_pull || route == Route::push_rsag;
  }

  //! The largest count that a route gets through within the budget's steps.
  [[nodiscard]] std::size_t affordable(Route route, Budget const& budget) const {
    auto const workers = static_cast<std::size_t>(plan_.ranks * plan_.options.lanes);
    std::size_t const steps = std::max<std::size_t>(budget.step_cost / workers, 4);
    auto const lanes = static_cast<std::size_t>(plan_.options.lanes);
    std::size_t const packets = plan_.options.packet_bytes / 56 * (56 / plan_.element_bytes) * lanes * steps;
    std::size_t const chunks = plan_.options.chunk_bytes / plan_.element_bytes * workers * steps;
    if (route == Route::zero_copy) return std::size_t{1} << 24;
    if (route == Route::one_shot_pull) return (std::size_t{1} << 24) / static_cast<std::size_t>(plan_.ranks);
    if (route == Route::one_shot_push) return packets;
    if (route == Route::two_shot_push) return packets * static_cast<std::size_t>(plan_.ranks) / 2;
    if (route == Route::reduce_scatter_all_gather || route == Route::push_rsag) return chunks;
    return std::min(packets, chunks);
  }

  void add(std::size_t count, Budget const& budget) {
    Choice const choice = choices_[rng_.below(choices_.size())];
    PlannedCall call{.task = choice.task,
                     .route = choice.route,
                     .count = std::min(count, affordable(choice.route, budget)),
                     .data = rng_.one_of({Data::tame, Data::tame, Data::wild, Data::special}),
                     .seed = rng_()};
    // Between processes, some algorithms need windows; everything else takes what comes, and now and then only
    // windows so that selectors choose what is for windows.
    bool const windows_only = (plan_.processes && works_on_windows(choice.route)) || rng_.chance(1, 2);
    bool const in_step = rng_.chance(1, 3);
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      Place place{.in_place = rng_.chance(1, 3)};
      if (!in_step) place.dawdle = static_cast<std::uint8_t>(rng_.chance(1, 4) ? rng_.spread(60) : 0);
      auto const some_canvas = [&] {
        bool const window = windows_only || rng_.chance(1, 2);
        return static_cast<int>(window ? rng_.between(Place::plain_canvases, Place::canvases - 1)
                                       : rng_.below(Place::plain_canvases));
      };
      place.in_canvas = some_canvas();
      place.in = reserve(rank, place.in_canvas, call.count);
      place.out_canvas = place.in_place ? place.in_canvas : some_canvas();
      place.out = place.in_place ? place.in : reserve(rank, place.out_canvas, call.count);
      call.places.push_back(place);
    }
    plan_.calls.push_back(std::move(call));
  }

  //! A place for a buffer, aligned to its elements and to nothing else, behind a gap of up to two cache
  //! lines.
  std::size_t reserve(int rank, int canvas, std::size_t count) {
    std::size_t& end = plan_.canvas_bytes[static_cast<std::size_t>(rank)][static_cast<std::size_t>(canvas)];
    std::size_t const gap = end == 0 && rng_.chance(1, 2) ? 0 : rng_.below(130);
    std::size_t const size = plan_.element_bytes;
    std::size_t const at = (end + gap + size - 1) / size * size;
    end = at + count * size;
    return at;
  }

  Plan finish() {
    // Plain memory ends where its last buffer does, right before a page that can't be touched.
    for (auto& bytes : plan_.canvas_bytes) {
      for (int canvas = Place::plain_canvases; canvas < Place::canvases; ++canvas) {
        bytes[static_cast<std::size_t>(canvas)] += rng_.below(200);
      }
    }
    return std::exchange(plan_, Plan{.seed = plan_.seed,
                                     .ranks = plan_.ranks,
                                     .element = plan_.element,
                                     .element_bytes = plan_.element_bytes,
                                     .processes = plan_.processes});
  }

  Rng rng_;
  Plan plan_;
  std::vector<Choice> choices_{};
};

}  // namespace chevron::test

#endif

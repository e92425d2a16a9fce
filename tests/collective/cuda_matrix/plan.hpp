// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_CUDA_MATRIX_PLAN_HPP
#define CHEVRON_TESTS_COLLECTIVE_CUDA_MATRIX_PLAN_HPP

//! @file
//! What the communicators of one group of devices are used for, drawn from a seed: options, and a sequence of calls with
//! everybody's buffers.

#include <chevron/core/element.hpp>
#include <chevron/host/options.hpp>
#include <chevron/select/policy.hpp>

#include <collective/all_reduce_matrix/operations.hpp>
#include <support/data.hpp>
#include <support/noise.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

inline constexpr int algorithm_count = 6;

#if defined(CHEVRON_TEST_FULL_MATRIX)
inline constexpr bool everything_is_compiled = true;
#else
inline constexpr bool everything_is_compiled = false;
#endif

//! Whether a call is compiled. All of them take an hour, so by default each (rank count, element, task) gets one of the six
//! algorithms at device scope, and every other one another at system scope, in such a way that any two of {rank count or
//! element, task, algorithm} occur in every combination. With CHEVRON_TEST_FULL_MATRIX defined, everything.
constexpr bool is_compiled(int ranks, ElementKind element, int task, int algorithm, bool system_scope) {
  if (everything_is_compiled) return true;
  int const mixed = ranks + static_cast<int>(element);
  if (!system_scope) return (mixed + task) % algorithm_count == algorithm;
  return (mixed + task) % 2 == 0 && ((mixed + task) / 2 + ranks) % algorithm_count == algorithm;
}

//! Whether buffers must lie in windows where the ranks have devices of their own.
constexpr bool needs_windows(AllReduceAlgorithm algorithm) {
  return algorithm == AllReduceAlgorithm::one_shot_pull ||
         algorithm == AllReduceAlgorithm::reduce_scatter_all_gather_zero_copy ||
         algorithm == AllReduceAlgorithm::reduce_scatter_all_gather_push;
}

//! Where one rank's buffers of one call lie in its canvas, in bytes.
struct Place {
  std::size_t in = 0;
  std::size_t out = 0;
  bool in_place = false;
  unsigned dawdle_ns = 0;  //!< how late the rank comes
};

struct PlannedCall {
  int task = 0;
  AllReduceAlgorithm algorithm{};
  std::size_t count = 0;
  Data data{};
  std::uint64_t seed = 0;  //!< of the data; the epilogue's salt as well
  CudaGeometry geometry{};
  std::vector<Place> places{};
};

struct Plan {
  std::uint64_t seed = 0;
  int ranks = 0;
  ElementKind element{};
  std::size_t element_bytes = 0;
  bool system_scope = false;
  bool captured = false;  //!< the whole sequence is a graph, which runs more than once
  bool in_a_row = false;  //!< results are looked at after the last call, not after each
  CudaOptions options{};
  std::vector<PlannedCall> calls{};
  std::vector<std::size_t> canvas_bytes{};  //!< of each rank

  [[nodiscard]] std::string text(std::size_t call) const {
    PlannedCall const& c = calls[call];
    auto const number = [](auto value) { return std::to_string(value); };
    std::string text = "N=" + number(ranks) + " " + chevron::name(element) + " op=" + task_names[c.task] +
                       " algorithm=" + chevron::name(c.algorithm) + " count=" + number(c.count) +
                       " data=" + name(c.data) + (system_scope ? " system" : " device") + " scope" +
                       (captured ? " captured" : " eager") + (in_a_row ? " in a row" : "") +
                       " lanes=" + number(c.geometry.lanes) + " threads=" + number(c.geometry.threads) +
                       " ordering=" + number(static_cast<int>(c.geometry.ordering)) +
                       " dependent_launch=" + number(c.geometry.dependent_launch) +
                       " packet_bytes=" + number(options.packet_bytes) +
                       " chunk_bytes=" + number(options.chunk_bytes) +
                       " first_epoch=" + number(options.first_epoch) + " call " + number(call) + " of " +
                       number(calls.size()) + "; (in, out) by rank:";
    for (Place const& p : c.places) {
      text += " (" + number(p.in) + ", " + (p.in_place ? "same" : number(p.out)) + ")";
    }
    return text;
  }
};

//! Draws plans. `Budget` keeps the time and the memory of one of them within bounds.
class Planner {
 public:
  struct Budget {
    std::size_t calls = 40;
    std::size_t steps = 1000;                   //!< of a lane in a call: a few microseconds each
    std::size_t bytes = std::size_t{64} << 20;  //!< all ranks' inputs of one call together
  };

  Planner(std::uint64_t seed, int ranks, ElementKind element, std::size_t element_bytes)
      : rng_(seed), plan_{.seed = seed, .ranks = ranks, .element = element, .element_bytes = element_bytes} {}

  //! Many small and middling calls.
  Plan mixed(bool system_scope, Budget const& budget) {
    begin(system_scope);
    for (std::size_t i = 0; i < budget.calls; ++i) add(some_count(), budget);
    return std::move(plan_);
  }
  //! Every count in [first, first + budget.calls).
  Plan counts_from(std::size_t first, bool system_scope, Budget const& budget) {
    begin(system_scope);
    for (std::size_t i = 0; i < budget.calls; ++i) add(first + i, budget);
    return std::move(plan_);
  }
  //! A few calls of any size up to `most` elements, as far as the memory goes.
  Plan large(bool system_scope, std::size_t most, Budget const& budget) {
    begin(system_scope);
    plan_.options.packet_bytes = 16 * 1024;
    plan_.options.chunk_bytes = 32 * 1024;
    std::size_t const fits = budget.bytes / plan_.element_bytes / static_cast<std::size_t>(plan_.ranks);
    for (std::size_t i = 0; i < budget.calls; ++i) {
      add(rng_.between(4098, std::max<std::size_t>(std::min(most, fits), 4098)), budget);
    }
    return std::move(plan_);
  }

 private:
  struct Choice {
    int task;
    AllReduceAlgorithm algorithm;
  };

  void begin(bool system_scope) {
    plan_.system_scope = system_scope;
    plan_.captured = rng_.chance(1, 3);
    plan_.in_a_row = rng_.chance(1, 3);
    for (int task = 0; task < task_count; ++task) {
      for (int algorithm = 0; algorithm < algorithm_count; ++algorithm) {
        if (is_compiled(plan_.ranks, plan_.element, task, algorithm, system_scope)) {
          choices_.push_back({task, static_cast<AllReduceAlgorithm>(algorithm)});
        }
      }
    }
    CudaOptions& options = plan_.options;
    options.deadline = std::chrono::seconds(20);
    options.lanes = static_cast<int>(rng_.one_of<std::size_t>({0, 0, 1, 2, 5, 64}));
    options.packet_bytes = rng_.one_of<std::size_t>({128, 128, 256, 1152, 16 * 1024});
    options.chunk_bytes = rng_.one_of<std::size_t>({128, 128, 384, 1024, 64 * 1024});
    // Some communicators go through the wrap of the step counter or into another era, some begin at 0.
    Epoch const era = static_cast<Epoch>(rng_.below(4)) << 30;
    options.first_epoch = rng_.one_of<Epoch>({1, 1, 0, era - static_cast<Epoch>(rng_.spread(300))});
    plan_.canvas_bytes.assign(static_cast<std::size_t>(plan_.ranks), 0);
  }

  //! Counts of all kinds, often near a border of something.
  [[nodiscard]] std::size_t some_count() {
    std::size_t const size = plan_.element_bytes;
    auto const ranks = static_cast<std::size_t>(plan_.ranks);
    auto const near = [&](std::size_t count) { return count + rng_.below(3) - (count > 0 ? 1 : 0); };
    switch (rng_.below(8)) {
      case 0:
        return rng_.below(4);
      case 1:
        return rng_.below(65);
      case 2:
        return near(16 / size * rng_.below(40));
      case 3:
        return near(128 / size * rng_.below(4 * ranks));
      case 4:
        return near(plan_.options.packet_bytes / size * rng_.below(2 * ranks));
      case 5:
        return rng_.spread(4097);
      default:
        return rng_.below(4098);
    }
  }

  //! The largest count that an algorithm gets through within the budget's steps.
  [[nodiscard]] std::size_t affordable(AllReduceAlgorithm algorithm, int lanes, Budget const& budget) const {
    std::size_t const packets = plan_.options.packet_bytes / plan_.element_bytes;
    std::size_t const chunks = plan_.options.chunk_bytes / plan_.element_bytes;
    // As few lanes as there may be room for.
    auto const workers = static_cast<std::size_t>(lanes == 0 ? 1 : std::min(lanes, 4));
    auto const shards = workers * static_cast<std::size_t>(plan_.ranks);
    switch (algorithm) {
      case AllReduceAlgorithm::one_shot_push:
        return packets * workers * budget.steps;
      case AllReduceAlgorithm::two_shot_push:
        return packets * shards * budget.steps;
      case AllReduceAlgorithm::reduce_scatter_all_gather:
      case AllReduceAlgorithm::reduce_scatter_all_gather_push:
        return chunks * shards * budget.steps;
      default:
        return std::size_t{1} << 24;
    }
  }

  void add(std::size_t count, Budget const& budget) {
    Choice const choice = choices_[rng_.below(choices_.size())];
    PlannedCall call{.task = choice.task,
                     .algorithm = choice.algorithm,
                     .data = rng_.one_of({Data::tame, Data::tame, Data::wild, Data::special}),
                     .seed = rng_()};
    call.geometry = {
        .lanes = rng_.chance(1, 3) ? 0 : static_cast<int>(rng_.spread(64)),
        .threads = static_cast<int>(32 * rng_.between(2, 16)),
        .ordering = rng_.one_of({Ordering::formal, Ordering::relaxed_arrival, Ordering::relaxed}),
        .dependent_launch = rng_.chance(1, 2)};
    call.count = std::min(count, affordable(call.algorithm, call.geometry.lanes, budget));
    // All buffers aligned alike, which is what lets whole packs be moved; or each as it comes.
    bool const alike = rng_.chance(1, 2);
    std::size_t const askew = rng_.chance(1, 2) ? 0 : rng_.below(16 / plan_.element_bytes);
    bool const in_step = rng_.chance(1, 2);
    auto const in_place = rng_.below(3);  // all, none, some
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      Place place{.in_place = in_place == 0 || (in_place == 2 && rng_.chance(1, 2))};
      if (!in_step && rng_.chance(1, 3)) place.dawdle_ns = static_cast<unsigned>(rng_.spread(60'000));
      auto const some_place = [&] {
        std::size_t& end = plan_.canvas_bytes[static_cast<std::size_t>(rank)];
        std::size_t const size = plan_.element_bytes;
        std::size_t at = 0;
        if (alike) {
          at = (end + 15 + 16 * rng_.below(3)) / 16 * 16 + askew * size;
        } else {
          at = (end + rng_.below(130) + size - 1) / size * size;
        }
        end = at + call.count * size;
        return at;
      };
      place.in = some_place();
      place.out = place.in_place ? place.in : some_place();
      call.places.push_back(place);
    }
    plan_.calls.push_back(std::move(call));
  }

  Rng rng_;
  Plan plan_;
  std::vector<Choice> choices_{};
};

}  // namespace chevron::test

#endif

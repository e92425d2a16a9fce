// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contract C1 makes every row of a table give the same bits. So any threshold of any table may be moved, and no bit changes.
#include <chevron/collective/all_reduce.hpp>
#include <chevron/collective/chosen_body.hpp>
#include <chevron/collective/run_all_reduce.hpp>
#include <chevron/collective/run_on_host.hpp>
#include <chevron/select/call_box.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>
#include <chevron/select/tables/hopper.hpp>
#include <chevron/select/tables/host.hpp>
#include <chevron/select/tables/one_gpu.hpp>

#include <support/catch.hpp>
#include <support/data.hpp>
#include <support/failures.hpp>
#include <support/noise.hpp>
#include <support/reference.hpp>
#include <support/seed.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using enum AllReduceAlgorithm;
namespace inner = chevron::detail;

// ---- tables that are known when the program runs ---------------------------------------------------------

using Rows = std::vector<Row>;

template <class Table>
Rows rows_of() {
  auto const rows = Table::rows();
  return {rows.begin(), rows.end()};
}

Policy const* choose(Rows const& rows, int ranks, ElementKind element, std::size_t size_bytes,
                     WindowState windows) {
  for (Row const& row : rows) {
    if (row.matches(ranks, element, size_bytes, windows)) return &row.policy;
  }
  return nullptr;
}

//! Whether rows take all sums of a host.
bool is_total(Rows const& rows) {
  std::vector<inner::CallBox> boxes;
  for (Row const& row : rows) boxes.push_back(inner::CallBox::of(row));
  inner::CallBox asked = inner::CallBox::everything();
  asked.span[0] = {host_architecture, host_architecture + 1};
  asked.set[1] = 1;
  asked.set[3] = 1;
  asked.set[4] = 1;
  return inner::left_by(boxes.data(), boxes.data() + boxes.size(), asked).empty();
}

//! The call that a selector of these rows would make.
template <class Transport, class T>
Result<void> all_reduce_by(Rows const& rows, Communicator<Transport> const& communicator, T const* in, T* out,
                           std::size_t count) {
  constexpr int ranks = Transport::ranks;
  std::size_t const size_bytes = count * sizeof(T);
  Policy const* const in_windows = choose(rows, ranks, element_kind<T>, size_bytes, WindowState::all);
  Policy const* const elsewhere = Transport::every_pointer_is_in_a_window
                                      ? in_windows
                                      : choose(rows, ranks, element_kind<T>, size_bytes, WindowState::none);
  Call<T, Identity> call{.in = in, .out = out, .count = count, .stores = elsewhere->stores};
  auto const run = [&]<AllReduceAlgorithm A, AllReduceAlgorithm B>(auto& lane) {
    if (in_windows->algorithm != A || elsewhere->algorithm != B) return;
    inner::body_for_t<A, B, 0, ranks, T, Sum, Identity>::run(lane, call, in_windows->stores);
  };
  auto const run_all = [&]<AllReduceAlgorithm... As>(auto& lane) {
    if constexpr (Transport::every_pointer_is_in_a_window) {
      (run.template operator()<As, As>(lane), ...);
    } else {
      (run.template operator()<As, one_shot_push>(lane), ...);
      (run.template operator()<As, two_shot_push>(lane), ...);
      (run.template operator()<As, reduce_scatter_all_gather>(lane), ...);
    }
  };
  constexpr std::uint32_t by_rows = hash32("all_reduce by rows of a test");
  return inner::run_on_host(
      communicator, "all_reduce", inner::identity_of<T, Sum, Identity, by_rows, 0>(count), call,
      [&](auto& lane) {
        run_all.template
        operator()<one_shot_push, reduce_scatter_all_gather, reduce_scatter_all_gather_zero_copy,
                   one_shot_pull, two_shot_push, reduce_scatter_all_gather_push>(lane);
      });
}

//! Rows for any sizes, ranges that overlap, and a last one for what is left.
Rows random_rows(Rng& rng) {
  Rows rows(rng.between(1, 8));
  for (Row& row : rows) {
    std::size_t const from = rng.chance(1, 3) ? 0 : rng.spread(std::size_t{1} << 14);
    row.bytes = {from, rng.chance(1, 4) ? ByteRange::unlimited : from + rng.spread(std::size_t{1} << 14)};
    row.policy.algorithm =
        rng.one_of({one_shot_push, reduce_scatter_all_gather, reduce_scatter_all_gather_zero_copy,
                    one_shot_pull, two_shot_push, reduce_scatter_all_gather_push});
    row.policy.stores = rng.one_of({Stores::temporal, Stores::non_temporal});
    AllReduceAlgorithm const algorithm = row.policy.algorithm;
    bool const needs_windows = algorithm == reduce_scatter_all_gather_zero_copy ||
                               algorithm == one_shot_pull || algorithm == reduce_scatter_all_gather_push;
    row.in_windows_only = needs_windows || rng.chance(1, 4);
  }
  rows.push_back({.policy = {rng.one_of({one_shot_push, reduce_scatter_all_gather, two_shot_push})}});
  return rows;
}

// ---- thresholds ------------------------------------------------------------------------------------------

std::vector<std::size_t> thresholds_of(Rows const& rows) {
  std::vector<std::size_t> all;
  for (Row const& row : rows) {
    for (std::size_t const border : {row.bytes.from, row.bytes.to}) {
      if (border != 0 && border != ByteRange::unlimited) all.push_back(border);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void move_threshold(Rows& rows, std::size_t from, std::size_t to) {
  for (Row& row : rows) {
    if (row.bytes.from == from) row.bytes.from = to;
    if (row.bytes.to == from) row.bytes.to = to;
  }
}

//! What all ranks do in one round: they draw alike.
struct Round {
  Rows rows{};
  Rows moved{};
  std::vector<std::size_t> sizes{};  //!< in bytes, on both sides of the threshold and of where it was
  std::string what{};

  static constexpr std::size_t most_bytes = std::size_t{5} << 20;

  static Round draw(Rng& rng) {
    Round round;
    switch (rng.below(4)) {
      case 0:
        round = {.rows = rows_of<tables::Host>(), .what = "Host"};
        break;
      case 1:
        round = {.rows = rows_of<tables::OneGpu>(), .what = "OneGpu"};
        break;
      case 2:
        round = {.rows = rows_of<tables::Hopper>(), .what = "Hopper"};
        break;
      default:
        round = {.rows = random_rows(rng), .what = "random rows"};
    }
    round.moved = round.rows;
    for (std::size_t moves = rng.between(1, 3); moves != 0; --moves) {
      auto const thresholds = thresholds_of(round.moved);
      if (thresholds.empty()) break;
      std::size_t const which = rng.below(thresholds.size());
      // As far as its neighbours, so that the table stays total.
      std::size_t const least = which == 0 ? 1 : thresholds[which - 1];
      std::size_t const most = which + 1 == thresholds.size() ? 4 * thresholds[which] : thresholds[which + 1];
      std::size_t const to = rng.between(least, most);
      move_threshold(round.moved, thresholds[which], to);
      round.what += ", " + std::to_string(thresholds[which]) + " to " + std::to_string(to);
      for (std::size_t const at : {thresholds[which], to, (thresholds[which] + to) / 2}) {
        bool const is_large = at > (std::size_t{1} << 17);
        if (at > most_bytes || (is_large && !rng.chance(1, 10))) continue;
        round.sizes.insert(round.sizes.end(), {at - 1, at, at + 1});
      }
    }
    round.sizes.push_back(rng.below(1 << 16));
    return round;
  }
};

template <class World, class T>
void every_bit_stays(int rounds) {
  constexpr int ranks = World::ranks;
  std::uint32_t const seed = test::seed();
  INFO("CHEVRON_TEST_SEED=" << seed);
  Watchdog const watchdog(std::chrono::seconds(100), "moved thresholds");
  World world;
  auto const outcomes = world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    constexpr std::size_t most = Round::most_bytes / sizeof(T) + 64;
    auto window = communicator->template allocate<T>(2 * most);
    if (!window) return seat.outcome.note(window);
    std::vector<T> heap(2 * most);
    std::vector<T> wanted(most);
    Rng rng(seed);
    for (int r = 0; r < rounds; ++r) {
      Round const round = Round::draw(rng);
      if (!is_total(round.rows) || !is_total(round.moved))
        return seat.outcome.complain("a hole: " + round.what);
      for (std::size_t const bytes : round.sizes) {
        std::size_t const count = bytes / sizeof(T);
        std::uint64_t const data_seed = rng();
        std::uint64_t const outside = rng();  // whose buffers lie in no window
        T* const buffer = (outside >> seat.rank & 3) == 0 ? heap.data() : window->data();
        T* const in = buffer;
        T* const out = buffer + most;
        for (std::size_t i = 0; i < count; ++i) {
          T by_rank[ranks];
          for (int rank = 0; rank < ranks; ++rank)
            by_rank[rank] = value_of<T>(Data::tame, data_seed, rank, i);
          in[i] = by_rank[seat.rank];
          wanted[i] = reference<Sum, T>(std::span<T const>(by_rank), Identity{}, i);
        }
        for (Rows const* const rows : {&round.rows, &round.moved}) {
          std::fill_n(out, count, T{});
          if (!seat.attempt([&] { return all_reduce_by(*rows, *communicator, in, out, count); })) return;
          for (std::size_t i = 0; i < count; ++i) {
            if (same_bits(wanted[i], out[i])) continue;
            return seat.outcome.complain("round " + std::to_string(r) + ", " + round.what + ", " +
                                         std::to_string(bytes) + " bytes: wrong at " + std::to_string(i));
          }
        }
      }
    }
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

// ---- tables that the compiler knows ----------------------------------------------------------------------

//! The table with each threshold moved, by a number that stands for a draw. The order of the thresholds stays.
template <class Table, std::uint64_t Draw>
struct Moved {
  static constexpr auto rows() {
    auto rows = Table::rows();
    for (Row& row : rows) {
      row.bytes.from = moved(row.bytes.from);
      row.bytes.to = moved(row.bytes.to);
    }
    return rows;
  }

 private:
  static constexpr std::size_t moved(std::size_t border) {
    if (border == 0 || border == ByteRange::unlimited) return border;
    // Down to a sixteenth, all by one factor and a little.
    return border / (1 + noise(Draw, 0) % 16) + noise(Draw, 1) % 7;
  }
};

template <class Table, std::uint64_t... Draws, class Comm>
bool moved_tables_agree(Comm const& communicator, float const* in, std::size_t count,
                        std::vector<float> const& wanted) {
  constexpr int ranks = Comm::ranks;
  bool good = true;
  auto const check = [&]<class Chosen>(std::type_identity<Chosen>) {
    std::vector<float> out(count);
    if (!all_reduce<Chosen>(communicator, in, out.data(), count)) good = false;
    for (std::size_t i = 0; i < count; ++i) good = good && same_bits(out[i], wanted[i]);
  };
  (check(std::type_identity<Selector<Moved<Table, Draws>, RankCounts<ranks>, Elements<float>>>{}), ...);
  return good;
}

}  // namespace

TEMPLATE_TEST_CASE("A moved threshold of any table changes no bit", "", OnThreads, OnProcesses) {
  std::printf("CHEVRON_TEST_SEED=%u\n", static_cast<unsigned>(test::seed()));
  every_bit_stays<typename TestType::template World<2>, float>(25);
  every_bit_stays<typename TestType::template World<4>, bfloat16>(15);
}

TEMPLATE_TEST_CASE("Nor does it in calls of selectors", "", OnThreads, OnProcesses) {
  constexpr int ranks = 3;
  std::uint32_t const seed = test::seed();
  INFO("CHEVRON_TEST_SEED=" << seed);
  Watchdog const watchdog(std::chrono::seconds(60), "moved tables");
  typename TestType::template World<ranks> world;
  auto const outcomes = world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    Rng rng(seed);
    for (int round = 0; round < 20; ++round) {
      std::size_t const count = rng.spread(round % 5 == 0 ? 300'000 : 3000);
      std::uint64_t const data_seed = rng();
      std::vector<float> in(count);
      std::vector<float> wanted(count);
      for (std::size_t i = 0; i < count; ++i) {
        float by_rank[ranks];
        for (int rank = 0; rank < ranks; ++rank)
          by_rank[rank] = value_of<float>(Data::tame, data_seed, rank, i);
        in[i] = by_rank[seat.rank];
        wanted[i] = reference<Sum, float>(std::span<float const>(by_rank), Identity{}, i);
      }
      if (!moved_tables_agree<tables::Host, 0, 1, 2, 3>(*communicator, in.data(), count, wanted) ||
          !moved_tables_agree<tables::OneGpu, 4>(*communicator, in.data(), count, wanted)) {
        return seat.outcome.complain("round " + std::to_string(round) + ": other bits, or a failed call");
      }
    }
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a selector chooses, what it can reach, and by which number ranks recognise it.
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>
#include <chevron/select/tables/host.hpp>

#include <support/catch.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

namespace {

using namespace chevron;
using tables::Host;
using enum AllReduceAlgorithm;

using Two = Selector<Host, RankCounts<2>, Elements<float>>;

// ---- every border of the host's table --------------------------------------------------------------------

//! What the rows say, read one by one.
constexpr Policy by_hand(std::size_t bytes, WindowState windows) {
  for (Row const& row : Host::rows()) {
    bool const fits = bytes >= row.bytes.from && bytes < row.bytes.to;
    if (fits && (windows == WindowState::all || !row.in_windows_only)) return row.policy;
  }
  return {one_shot_push, Stores::non_temporal};  // no row says that
}

template <class T>
consteval bool chooses_by_hand_at_every_border() {
  using Chosen = Selector<Host, RankCounts<2, 3, 16>, Elements<T>>;
  for (WindowState const windows : {WindowState::none, WindowState::all}) {
    for (Row const& row : Host::rows()) {
      for (std::size_t const border : {row.bytes.from, row.bytes.to}) {
        for (std::size_t const bytes : {border - 1, border, border + 1}) {
          if (bytes >= ByteRange::unlimited - 1) continue;  // also below zero
          for (int const ranks : {2, 3, 16}) {
            if (Chosen::template choose<T>(ranks, bytes, windows) != by_hand(bytes, windows)) return false;
          }
        }
      }
    }
  }
  return true;
}
static_assert(chooses_by_hand_at_every_border<float>());
static_assert(chooses_by_hand_at_every_border<double>());
static_assert(chooses_by_hand_at_every_border<bfloat16>());
static_assert(chooses_by_hand_at_every_border<std::int8_t>());

// What the table is for, whatever its numbers: packets first, then no copies, and nothing that needs windows
// without.
constexpr std::size_t huge = std::size_t{1} << 40;
static_assert(Two::choose<float>(2, 0).algorithm == one_shot_push);
static_assert(Two::choose<float>(2, 4, WindowState::none).algorithm == one_shot_push);
static_assert(Two::choose<float>(2, huge).algorithm == reduce_scatter_all_gather_zero_copy);
static_assert(Two::choose<float>(2, huge).stores == Stores::non_temporal);
static_assert(Two::choose<float>(2, huge, WindowState::none).algorithm == reduce_scatter_all_gather);

// ---- total -----------------------------------------------------------------------------------------------

template <class T, int... Counts>
consteval bool total_for(std::integer_sequence<int, Counts...>) {
  return Selector<Host, RankCounts<(Counts + 2)...>, Elements<T>>::total;
}
template <class... Ts>
consteval bool total_for_all() {
  return (total_for<Ts>(std::make_integer_sequence<int, max_ranks - 1>{}) && ...);
}
static_assert(total_for_all<float, double, half, bfloat16, float8_e4m3, float8_e5m2>());
static_assert(
    total_for_all<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>());

// ---- what is reached, and so instantiated ----------------------------------------------------------------

struct PushOnly {
  static constexpr auto rows() { return std::array{Row{.policy = {one_shot_push}}}; }
};
struct NothingForThree {
  static constexpr auto rows() {
    return std::array{Row{.ranks = {3, 3}, .policy = {reduce_scatter_all_gather}},
                      Row{.policy = {one_shot_push}}};
  }
};
template <class S>
constexpr bool reaches(AllReduceAlgorithm algorithm, WindowState windows = WindowState::all, int ranks = 2) {
  return S::reaches(ranks, ElementKind::float32, windows, algorithm);
}
static_assert(reaches<Two>(one_shot_push) && reaches<Two>(reduce_scatter_all_gather_zero_copy));
static_assert(!reaches<Two>(reduce_scatter_all_gather), "in windows nothing is staged");
static_assert(reaches<Two>(reduce_scatter_all_gather, WindowState::none));
static_assert(!reaches<Two>(reduce_scatter_all_gather_zero_copy, WindowState::none));

using Push = Selector<PushOnly, RankCounts<2>, Elements<float>>;
static_assert(reaches<Push>(one_shot_push) && !reaches<Push>(reduce_scatter_all_gather));
static_assert(!reaches<Push>(reduce_scatter_all_gather_zero_copy));

using Mixed = Selector<NothingForThree, RankCounts<2, 3>, Elements<float>>;
static_assert(!reaches<Mixed>(reduce_scatter_all_gather) &&
              !reaches<Mixed>(one_shot_push, WindowState::all, 3));

// ---- lists -----------------------------------------------------------------------------------------------

static_assert(RankCounts<2, 4>::contains(4) && !RankCounts<2, 4>::contains(3));
static_assert(Elements<float, half>::contains<half> && !Elements<float, half>::contains<bfloat16>);
static_assert(Operations<Sum, Max>::contains<Max> && !Operations<Sum, Max>::contains<Min>);
static_assert(Count<7>::value == 7);
static_assert(is_selector<Two> && !is_selector<Host> && !is_selector<OneShotPush<2, float>>);

struct Weighted {
  static constexpr char const* name = "weighted";
  static float combine(float a, float b) { return a + 2 * b; }
};

}  // namespace

TEST_CASE("Ranks with different selectors have different fingerprints") {
  constexpr std::uint32_t all[] = {
      Two::fingerprint(),
      Selector<Host, RankCounts<3>, Elements<float>>::fingerprint(),
      Selector<Host, RankCounts<2, 3>, Elements<float>>::fingerprint(),
      Selector<Host, RankCounts<3, 2>, Elements<float>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<double>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<half>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float, half>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Max>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum, Max>>::fingerprint(),
      Selector<Host, RankCounts<2>, Elements<float>, Operations<Weighted>>::fingerprint(),
      Push::fingerprint(),
      Selector<NothingForThree, RankCounts<2>, Elements<float>>::fingerprint(),
  };
  CHECK(std::set<std::uint32_t>(std::begin(all), std::end(all)).size() == std::size(all));
  CHECK(Two::fingerprint() == Selector<Host, RankCounts<2>, Elements<float>, Operations<Sum>>::fingerprint());
}

// No limit is set: this only shows what a call pays for it.
TEST_CASE("Choosing at run time costs little") {
  using Chosen = Selector<Host, RankCounts<2, 4, 8>, Elements<float>>;
  constexpr std::size_t rounds = 1'000'000;
  std::size_t zero_copies = 0;
  std::size_t bytes = 0;
  auto const begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < rounds; ++i) {
    bytes = (bytes * 5 + 1) % (64u << 20);
    zero_copies += Chosen::choose<float>(2, bytes).algorithm == reduce_scatter_all_gather_zero_copy ? 1 : 0;
  }
  std::chrono::duration<double, std::nano> const time = std::chrono::steady_clock::now() - begin;
  std::printf("choose() at run time: %.1f ns\n", time.count() / rounds);
  CHECK(zero_copies > 0);
}

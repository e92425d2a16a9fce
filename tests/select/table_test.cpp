// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows, what they match, and which holes a table can have. Most of it is decided when this file is compiled.
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/call_box.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>
#include <chevron/select/table_proof.hpp>
#include <chevron/select/tables/hopper.hpp>
#include <chevron/select/tables/host.hpp>
#include <chevron/select/tables/one_gpu.hpp>

#include <support/catch.hpp>
#include <support/noise.hpp>
#include <support/seed.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace chevron;
using detail::CallBox;
using detail::fault_of_row;
using detail::Hole;
using detail::hole_in;
using detail::HoleKind;
using detail::left_by;
using detail::RowFault;
using enum AllReduceAlgorithm;

constexpr ElementKind float32 = ElementKind::float32;
constexpr Policy push{one_shot_push};
constexpr Policy staged{reduce_scatter_all_gather};
constexpr Policy zero_copy{reduce_scatter_all_gather_zero_copy};
constexpr Policy pull{one_shot_pull};

// ---- a row -----------------------------------------------------------------------------------------------

constexpr Row row{.ranks = {2, 4},
                  .bytes = {100, 200},
                  .elements = ElementSet::of(ElementKind::float32, ElementKind::user),
                  .in_windows_only = true};
constexpr bool matches(int ranks, ElementKind kind, std::size_t bytes,
                       WindowState windows = WindowState::all) {
  return row.matches(ranks, kind, bytes, windows);
}
static_assert(matches(2, float32, 100) && matches(4, float32, 199) && matches(3, ElementKind::user, 150));
static_assert(!matches(1, float32, 150) && !matches(5, float32, 150), "rank ranges are closed");
static_assert(!matches(2, float32, 99) && !matches(2, float32, 200), "byte ranges are half-open");
static_assert(!matches(2, ElementKind::float64, 150));
static_assert(!matches(2, float32, 150, WindowState::none));

constexpr Row narrow{.architectures = {90, 100},
                     .operations = OperationSet::of(OperationKind::max, OperationKind::user),
                     .epilogues = ScopeSet::of(EpilogueScope::row),
                     .numerics = Numerics::relaxed};
constexpr bool narrowly(int architecture, OperationKind operation, EpilogueScope scope, Numerics allowed) {
  return narrow.matches(2, float32, 0, WindowState::none, operation, architecture, scope, allowed);
}
constexpr auto row_scope = EpilogueScope::row;
static_assert(narrowly(90, OperationKind::max, row_scope, Numerics::relaxed));
static_assert(narrowly(99, OperationKind::user, row_scope, Numerics::relaxed));
static_assert(!narrowly(89, OperationKind::max, row_scope, Numerics::relaxed));
static_assert(!narrowly(100, OperationKind::max, row_scope, Numerics::relaxed), "half-open");
static_assert(!narrowly(90, OperationKind::sum, row_scope, Numerics::relaxed));
static_assert(!narrowly(90, OperationKind::max, EpilogueScope::element, Numerics::relaxed));
static_assert(!narrowly(90, OperationKind::max, row_scope, Numerics::exact));

constexpr Row any{};
static_assert(any.matches(1, ElementKind::user, 0, WindowState::none));
static_assert(any.matches(max_ranks, ElementKind::uint64, ByteRange::unlimited - 1, WindowState::none));
static_assert(ElementSet::of().bits == 0 && !ElementSet::of().contains(float32));

// ---- which row -------------------------------------------------------------------------------------------

struct Overlapping {
  static constexpr auto rows() {
    return std::array{Row{.bytes = {0, 10}, .policy = push}, Row{.bytes = {5, 20}, .policy = staged}, Row{}};
  }
};
using Classes =
    detail::SizeClasses<Overlapping, 2, float32, OperationKind::sum, EpilogueScope::element, Numerics::exact>;
constexpr int taken(std::size_t bytes) { return Classes::of(host_architecture, bytes).in_windows; }
static_assert(Classes::all.size() == 3 && Classes::all[1].bytes_from == 10 && Classes::all[1].bytes_to == 20);
static_assert(Classes::of(120, ByteRange::unlimited).elsewhere == 2);
static_assert(taken(0) == 0 && taken(9) == 0, "the first row that matches is taken");
static_assert(taken(10) == 1 && taken(19) == 1 && taken(20) == 2);

// ---- holes, for 2 ranks, float and sums ------------------------------------------------------------------

template <auto Rows>
struct TableOf {
  static constexpr auto rows() { return Rows(); }
};
template <EpilogueScope Scope = EpilogueScope::element, Numerics Allowed = Numerics::exact>
using Asked =
    detail::AskedCalls<2, Scope, Allowed, 0, ArchitectureRange::unlimited, Elements<float>, Operations<Sum>>;
template <class Rows>
consteval Hole hole(Rows) {
  return hole_in<TableOf<Rows{}>>(Asked<>::box);
}
template <class Rows>
consteval HoleKind kind(Rows rows) {
  return hole(rows).kind;
}
template <EpilogueScope Scope, Numerics Allowed, class Rows>
consteval HoleKind kind_for(Rows) {
  return hole_in<TableOf<Rows{}>>(Asked<Scope, Allowed>::box).kind;
}

static_assert(kind([] { return std::array{Row{}}; }) == HoleKind::none);
static_assert(kind([] { return std::array{Row{.ranks = {3, 32}}}; }) == HoleKind::rank_count);
static_assert(kind([] { return std::array{Row{.ranks = {3, 2}}}; }) == HoleKind::rank_count, "empty");
static_assert(kind([] { return std::array{Row{.elements = ElementSet::of(ElementKind::int8)}}; }) ==
              HoleKind::element);
static_assert(kind([] {
                return std::array{Row{.ranks = {3, 32}}, Row{.elements = ElementSet::of(ElementKind::int8)}};
              }) == HoleKind::element,
              "rows for other ranks do not count");
static_assert(kind([] { return std::array{Row{.operations = OperationSet::of(OperationKind::max)}}; }) ==
              HoleKind::operation);
static_assert(kind([] { return std::array{Row{.architectures = {90, 100}}}; }) == HoleKind::architecture);
static_assert(hole([] {
                return std::array{Row{.architectures = {0, 90}}, Row{.architectures = {100}}};
              })
                      .calls.span[0]
                      .from == 90,
              "the least architecture of the hole");
static_assert(kind([] {
                return std::array{Row{.architectures = {90, 100}}, Row{}};
              }) == HoleKind::none,
              "a row for some devices alone needs fallbacks");
static_assert(kind([] { return std::array{Row{.bytes = {1}}}; }) == HoleKind::size, "0 is a size");
static_assert(kind([] { return std::array{Row{.bytes = {0, 10}}}; }) == HoleKind::size, "nothing above");
constexpr Hole one_byte = hole([] { return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {11}}}; });
static_assert(one_byte.kind == HoleKind::size && one_byte.calls.span[2].from == 10 &&
              one_byte.calls.span[2].to == 11);
static_assert(kind([] {
                return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {10, 10}}, Row{.bytes = {11}}};
              }) == HoleKind::size,
              "a row of no bytes fills no gap");
static_assert(kind([] {
                return std::array{Row{.bytes = {11}}, Row{.bytes = {0, 12}}};
              }) == HoleKind::none,
              "in any order");
static_assert(kind([] { return std::array{Row{.in_windows_only = true}}; }) == HoleKind::windows);
constexpr Hole elsewhere = hole([] {
  return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {10}, .in_windows_only = true}};
});
static_assert(elsewhere.kind == HoleKind::windows && elsewhere.calls.span[2].from == 10);
static_assert(kind([] {
                return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {12}, .in_windows_only = true},
                                  Row{.bytes = {11}}};
              }) == HoleKind::size);
static_assert(kind([] {
                return std::array{Row{.operations = OperationSet::of(OperationKind::sum), .policy = push},
                                  Row{.operations = OperationSet::of(OperationKind::max)}};
              }) == HoleKind::none);

// Scopes and numerics.
constexpr auto plain = [] { return std::array{Row{}}; };
constexpr auto relaxed = [] { return std::array{Row{.numerics = Numerics::relaxed}}; };
constexpr auto for_rows = [] { return std::array{Row{.epilogues = ScopeSet::of(EpilogueScope::row)}}; };
static_assert(kind_for<EpilogueScope::row, Numerics::exact>(plain) == HoleKind::scope);
static_assert(kind_for<EpilogueScope::row, Numerics::exact>(for_rows) == HoleKind::none);
static_assert(kind(for_rows) == HoleKind::scope);
static_assert(kind(relaxed) == HoleKind::numerics, "never taken without the caller's leave");
static_assert(kind_for<EpilogueScope::element, Numerics::relaxed>(relaxed) == HoleKind::none);
static_assert(kind_for<EpilogueScope::element, Numerics::relaxed>(plain) == HoleKind::none,
              "leave to be inexact is no duty");

// ---- rows ------------------------------------------------------------------------------------------------

//! What is wrong with the last row.
template <class Rows>
consteval RowFault fault(Rows) {
  return fault_of_row<TableOf<Rows{}>, Rows{}().size() - 1>();
}
static_assert(fault([] { return std::array{Row{}}; }) == RowFault::none);
static_assert(fault([] { return std::array{Row{.policy = zero_copy}}; }) == RowFault::needs_windows);
static_assert(fault([] { return std::array{Row{.policy = pull}}; }) == RowFault::needs_windows);
static_assert(fault([] { return std::array{Row{.policy = {two_shot_push}}}; }) == RowFault::none);
static_assert(fault([] { return std::array{Row{.in_windows_only = true, .policy = pull}}; }) ==
              RowFault::none);
static_assert(fault([] { return std::array{Row{.policy = {AllReduceAlgorithm{250}}}}; }) ==
              RowFault::no_algorithm);
static_assert(fault(for_rows) == RowFault::splits_rows);
static_assert(fault(relaxed) == RowFault::none, "an exact algorithm is good enough for a relaxed row");
static_assert(fault([] { return std::array{Row{.policy = {.cuda = {.threads = 100}}}}; }) ==
              RowFault::bad_geometry);
static_assert(fault([] { return std::array{Row{.policy = {.cuda = {.packs = 9}}}}; }) ==
              RowFault::bad_geometry);
static_assert(fault([] { return std::array{Row{.policy = {.cuda = {.packets = PacketKind::bare}}}}; }) ==
              RowFault::no_sentinel);
static_assert(fault([] {
                return std::array{Row{.elements = ElementSet::of(ElementKind::bfloat16),
                                      .policy = {.cuda = {.packets = PacketKind::bare}}}};
              }) == RowFault::none);
static_assert(fault([] { return std::array{Row{.bytes = {10, 10}}}; }) == RowFault::matches_nothing);
static_assert(fault([] { return std::array{Row{.ranks = {33, 40}}}; }) == RowFault::matches_nothing);
static_assert(fault([] { return std::array{Row{.operations = OperationSet::of()}}; }) ==
              RowFault::matches_nothing);
static_assert(fault([] { return std::array{Row{}, Row{.ranks = {2, 2}}}; }) == RowFault::hidden);
static_assert(fault([] {
                return std::array{Row{.ranks = {1, 4}}, Row{.ranks = {4, 32}, .bytes = {0, 10}},
                                  Row{.ranks = {2, 8}, .bytes = {9, 10}}};
              }) == RowFault::hidden,
              "by two rows together");
static_assert(fault([] {
                return std::array{Row{.ranks = {1, 4}}, Row{.ranks = {4, 32}, .bytes = {0, 10}},
                                  Row{.ranks = {2, 8}, .bytes = {9, 11}}};
              }) == RowFault::none,
              "all but one size of some ranks");
static_assert(fault([] {
                return std::array{Row{.in_windows_only = true}, Row{.bytes = {0, 10}}};
              }) == RowFault::none,
              "buffers in no window are left");
static_assert(fault([] {
                return std::array{Row{.operations = OperationSet::of(OperationKind::sum, OperationKind::prod,
                                                                     OperationKind::min, OperationKind::max,
                                                                     OperationKind::avg)},
                                  Row{}};
              }) == RowFault::none,
              "operations of one's own are left");

// An algorithm of one's own that is not exact, and one that owns whole rows.
template <int NRanks, class T, class Op, class E>
struct InSwitch : OneShotPush<NRanks, T, Op, E> {
  static constexpr Numerics numerics = Numerics::relaxed;
};
template <int NRanks, class T, class Op, class E>
struct WholeRows : OneShotPush<NRanks, T, Op, E> {
  static constexpr bool owns_whole_rows = true;
};
constexpr auto in_switch = AllReduceAlgorithm{static_cast<int>(own) + 1};
constexpr auto whole_rows = AllReduceAlgorithm{static_cast<int>(own) + 2};

}  // namespace

template <int NRanks, class T, class Op, class E>
struct chevron::AlgorithmNamed<in_switch, NRanks, T, Op, E> {
  using type = InSwitch<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct chevron::AlgorithmNamed<whole_rows, NRanks, T, Op, E> {
  using type = WholeRows<NRanks, T, Op, E>;
};

namespace {

static_assert(fault([] { return std::array{Row{.policy = {in_switch}}}; }) == RowFault::inexact);
static_assert(fault([] { return std::array{Row{.numerics = Numerics::relaxed, .policy = {in_switch}}}; }) ==
              RowFault::none);
static_assert(fault([] {
                return std::array{Row{.epilogues = ScopeSet::of(EpilogueScope::element, EpilogueScope::row),
                                      .policy = {whole_rows}}};
              }) == RowFault::none);

// ---- the shipped tables ----------------------------------------------------------------------------------

template <class Table, int... Counts>
consteval bool is_total(std::integer_sequence<int, Counts...>) {
  return Selector<Table, RankCounts<(Counts + 1)...>,
                  Elements<float, double, half, bfloat16, float8_e4m3, float8_e5m2, std::int8_t, std::uint8_t,
                           std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>,
                  Operations<Sum, Prod, Min, Max, Avg>>::total;
}
template <class... Tables>
consteval bool are_total() {
  return (is_total<Tables>(std::make_integer_sequence<int, max_ranks>{}) && ...);
}
static_assert(are_total<tables::Host, tables::OneGpu, tables::Hopper>(),
              "1 to 32 ranks, every element, any architecture");

// ---- the proof against a look at single calls ------------------------------------------------------------

//! Few values in each dimension, so that a look at all calls is cheap and ranges touch, overlap and hide each other.
Row random_row(test::Rng& rng) {
  auto const below = [&](int bound) { return static_cast<int>(rng.below(static_cast<std::size_t>(bound))); };
  Row row;
  row.architectures = {below(2) == 0 ? 0 : 90, below(3) == 0 ? 100 : ArchitectureRange::unlimited};
  row.ranks = {1 + below(4), 1 + below(5)};
  std::size_t const from = static_cast<std::size_t>(below(4));
  row.bytes = {from, below(3) == 0 ? ByteRange::unlimited : from + static_cast<std::size_t>(below(4))};
  if (below(2) == 0) row.elements.bits = static_cast<std::uint32_t>(below(16));
  if (below(2) == 0) row.operations.bits = static_cast<std::uint32_t>(below(8)) | 0x38;
  row.in_windows_only = below(3) == 0;
  if (below(3) == 0) row.epilogues.bits = static_cast<std::uint32_t>(1 + below(3));
  if (below(3) == 0) row.numerics = Numerics::relaxed;
  return row;
}

//! Calls `visit(box, matches)` for one call of each kind that rows of random_row can tell apart.
template <class Visit>
void for_each_call(Visit&& visit) {
  for (int const architecture : {0, 90, 100}) {
    for (int ranks = 1; ranks <= 6; ++ranks) {
      for (std::size_t size = 0; size <= 8; ++size) {
        for (unsigned element = 0; element < 5; ++element) {
          for (unsigned operation = 0; operation < 4; ++operation) {
            for (unsigned other = 0; other < 8; ++other) {
              auto const windows = static_cast<WindowState>(other & 1);
              auto const scope = static_cast<EpilogueScope>(other >> 1 & 1);
              auto const allowed = static_cast<Numerics>(other >> 2);
              CallBox const call{
                  {{static_cast<std::size_t>(architecture), static_cast<std::size_t>(architecture) + 1},
                   {static_cast<std::size_t>(ranks), static_cast<std::size_t>(ranks) + 1},
                   {size, size + 1}},
                  {1u << element, 1u << operation, 1u << (other & 1), 1u << (other >> 1 & 1),
                   1u << (other >> 2)}};
              visit(call, [&](Row const& one) {
                return one.matches(ranks, static_cast<ElementKind>(element), size, windows,
                                   static_cast<OperationKind>(operation), architecture, scope, allowed);
              });
            }
          }
        }
      }
    }
  }
}

template <class Rows>
std::uint32_t fingerprint(Rows) {
  constexpr std::uint32_t hash = detail::fingerprint_of_table<TableOf<Rows{}>>();
  return hash;
}

}  // namespace

TEST_CASE("Every field of a row that matters is in a table's fingerprint") {
  std::uint32_t const all[] = {
      fingerprint([] { return std::array{Row{}}; }),
      fingerprint([] {
        return std::array{Row{.ranks = {2, max_ranks}}};
      }),
      fingerprint([] {
        return std::array{Row{.ranks = {1, max_ranks - 1}}};
      }),
      fingerprint([] { return std::array{Row{.bytes = {1}}}; }),
      fingerprint([] {
        return std::array{Row{.bytes = {0, 1}}};
      }),
      fingerprint([] { return std::array{Row{.elements = ElementSet::of(ElementKind::float32)}}; }),
      fingerprint([] { return std::array{Row{.architectures = {90}}}; }),
      fingerprint([] {
        return std::array{Row{.architectures = {0, 90}}};
      }),
      fingerprint([] { return std::array{Row{.operations = OperationSet::of(OperationKind::sum)}}; }),
      fingerprint([] { return std::array{Row{.epilogues = ScopeSet::of(EpilogueScope::row)}}; }),
      fingerprint([] { return std::array{Row{.numerics = Numerics::relaxed}}; }),
      fingerprint([] { return std::array{Row{.policy = {.cuda = {.packs = 4}}}}; }),
      fingerprint([] { return std::array{Row{.policy = {.cuda = {.packets = PacketKind::flagged}}}}; }),
      fingerprint([] { return std::array{Row{.in_windows_only = true}}; }),
      fingerprint([] { return std::array{Row{.policy = push}}; }),
      fingerprint([] { return std::array{Row{.policy = zero_copy}}; }),
      fingerprint([] { return std::array{Row{.policy = pull}}; }),
      fingerprint([] { return std::array{Row{.policy = {two_shot_push}}}; }),
      fingerprint([] { return std::array{Row{.policy = {reduce_scatter_all_gather_push}}}; }),
      fingerprint([] { return std::array{Row{.policy = {.cuda = {.lanes = 4}}}}; }),
      fingerprint([] { return std::array{Row{.policy = {.cuda = {.threads = 256}}}}; }),
      fingerprint([] { return std::array{Row{.policy = {.cuda = {.ordering = Ordering::relaxed}}}}; }),
      fingerprint([] { return std::array{Row{.policy = {.cuda = {.dependent_launch = false}}}}; }),
      fingerprint([] {
        return std::array{Row{.policy = {reduce_scatter_all_gather, Stores::non_temporal}}};
      }),
      fingerprint([] {
        return std::array{Row{}, Row{}};
      }),
      fingerprint([] {
        return std::array{Row{}, Row{.policy = push}};
      }),
      fingerprint([] {
        return std::array{Row{.policy = push}, Row{}};
      }),
      detail::fingerprint_of_table<tables::Host>(),
  };
  CHECK(std::set<std::uint32_t>(std::begin(all), std::end(all)).size() == std::size(all));
}

TEST_CASE("What rows leave of the calls is what a look at every call finds") {
  INFO("CHEVRON_TEST_SEED=" << test::seed());
  test::Rng rng(test::seed());
  int covered = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Row> rows(rng.between(1, 12));
    std::vector<CallBox> boxes;
    for (Row& one : rows) one = random_row(rng);
    // Often two wide rows that together take everything, or all but a little.
    if (rng.chance(2, 3)) {
      std::size_t const border = rng.between(1, 6);
      rows.push_back({.bytes = {0, border}, .epilogues = {3}});
      rows.push_back({.bytes = {border + rng.below(2)}, .epilogues = {3}});
    }
    for (Row const& one : rows) boxes.push_back(CallBox::of(one));
    // Either all calls, or those of one more row: is it hidden?
    CallBox const asked = rng.chance(1, 4) ? CallBox::everything() : CallBox::of(random_row(rng));
    CallBox const left = left_by(boxes.data(), boxes.data() + boxes.size(), asked);
    std::size_t missed = 0;
    std::size_t wrong = 0;
    for_each_call([&](CallBox const& call, auto const& is_matched) {
      if (!asked.contains(call)) return;
      bool const taken = std::any_of(rows.begin(), rows.end(), is_matched);
      if (!taken) ++missed;
      if (taken && left.contains(call)) ++wrong;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (boxes[i].contains(call) != is_matched(rows[i])) ++wrong;
      }
    });
    INFO("round " << round);
    REQUIRE(wrong == 0);
    if (left.empty()) REQUIRE(missed == 0);
    if (missed == 0) REQUIRE(left.empty());
    if (left.empty() && !asked.empty()) ++covered;
  }
  CHECK(covered > 3);
  CHECK(covered < 57);
}

TEST_CASE("Where a row was measured makes no other table of it") {
  CHECK(fingerprint([] { return std::array{Row{}}; }) ==
        fingerprint([] { return std::array{Row{.source = "some machine, some day"}}; }));
}

TEST_CASE("Policies have the names of the algorithms") {
  CHECK(name(one_shot_push) == std::string(OneShotPush<2, float>::name));
  CHECK(name(reduce_scatter_all_gather) == std::string(ReduceScatterAllGather<2, float>::name));
  CHECK(name(reduce_scatter_all_gather_zero_copy) ==
        std::string(ReduceScatterAllGatherZeroCopy<2, float>::name));
  CHECK(name(reduce_scatter_all_gather_push) == std::string(ReduceScatterAllGatherPush<2, float>::name));
  CHECK(name(one_shot_pull) == std::string(OneShotPull<2, float>::name));
  CHECK(name(two_shot_push) == std::string(TwoShotPush<2, float>::name));
  CHECK(name(Stores::temporal) != std::string(name(Stores::non_temporal)));
}

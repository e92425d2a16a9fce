// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rows, what they match, and which holes a table can have. Most of it is decided when this file is compiled.
#include <chevron/core/element.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/table.hpp>
#include <chevron/select/tables/host.hpp>

#include <support/catch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

namespace {

using namespace chevron;
using detail::fault_of;
using detail::row_for;
using detail::TableFault;
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
constexpr int taken(std::size_t bytes) { return row_for<Overlapping>(2, float32, bytes, WindowState::all); }
static_assert(taken(0) == 0 && taken(9) == 0, "the first row that matches is taken");
static_assert(taken(10) == 1 && taken(19) == 1 && taken(20) == 2);
static_assert(detail::next_border<Overlapping>(0) == 5 && detail::next_border<Overlapping>(5) == 10);
static_assert(detail::next_border<Overlapping>(10) == 20);
static_assert(detail::next_border<Overlapping>(20) == ByteRange::unlimited);

// ---- holes -----------------------------------------------------------------------------------------------

//! What is wrong, for 2 ranks and float, with the table whose rows the argument returns.
template <auto Rows>
struct TableOf {
  static constexpr auto rows() { return Rows(); }
};
template <class Rows>
consteval TableFault fault(Rows) {
  return fault_of<TableOf<Rows{}>>(2, float32);
}

static_assert(fault([] { return std::array{Row{}}; }) == TableFault::none);
static_assert(fault([] { return std::array{Row{.ranks = {3, 32}}}; }) == TableFault::rank_count);
static_assert(fault([] { return std::array{Row{.ranks = {3, 2}}}; }) == TableFault::rank_count, "empty");
static_assert(fault([] { return std::array{Row{.elements = ElementSet::of(ElementKind::int8)}}; }) ==
              TableFault::element);
static_assert(fault([] {
                return std::array{Row{.ranks = {3, 32}}, Row{.elements = ElementSet::of(ElementKind::int8)}};
              }) == TableFault::element,
              "rows for other ranks do not count");
static_assert(fault([] { return std::array{Row{.bytes = {1}}}; }) == TableFault::size, "0 is a size");
static_assert(fault([] { return std::array{Row{.bytes = {0, 10}}}; }) == TableFault::size, "nothing above");
static_assert(fault([] {
                return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {11}}};
              }) == TableFault::size,
              "a gap of one byte");
static_assert(fault([] {
                return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {10, 10}}, Row{.bytes = {11}}};
              }) == TableFault::size,
              "a row of no bytes fills no gap");
static_assert(fault([] {
                return std::array{Row{.bytes = {11}}, Row{.bytes = {0, 12}}};
              }) == TableFault::none,
              "in any order");
static_assert(fault([] { return std::array{Row{.in_windows_only = true}}; }) == TableFault::windows);
static_assert(fault([] {
                return std::array{Row{.bytes = {0, 10}}, Row{.bytes = {10}, .in_windows_only = true}};
              }) == TableFault::windows);
static_assert(fault([] { return std::array{Row{.policy = zero_copy}}; }) == TableFault::needs_windows);
static_assert(fault([] { return std::array{Row{.policy = pull}}; }) == TableFault::needs_windows);
static_assert(fault([] { return std::array{Row{.policy = {reduce_scatter_all_gather_push}}}; }) ==
              TableFault::needs_windows);
static_assert(fault([] { return std::array{Row{.policy = {two_shot_push}}}; }) == TableFault::none);
static_assert(fault([] {
                return std::array{Row{.in_windows_only = true, .policy = pull}, Row{}};
              }) == TableFault::none);
static_assert(fault([] {
                return std::array{Row{.ranks = {3, 32}, .policy = zero_copy}, Row{}};
              }) == TableFault::none,
              "a mistake in a row for other ranks is found when those are asked for");
static_assert(fault([] {
                return std::array{Row{.in_windows_only = true, .policy = zero_copy}, Row{}};
              }) == TableFault::none);

// ---- the host's table ------------------------------------------------------------------------------------

consteval bool host_table_is_total() {
  for (int ranks = 1; ranks <= max_ranks; ++ranks) {
    for (int kind = 0; kind <= static_cast<int>(ElementKind::user); ++kind) {
      if (fault_of<tables::Host>(ranks, static_cast<ElementKind>(kind)) != TableFault::none) return false;
    }
  }
  return true;
}
static_assert(host_table_is_total(), "1 to 32 ranks, every element");

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

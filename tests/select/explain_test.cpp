// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What people read of a table and of a selector.
#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/select/explain.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>

#include <support/catch.hpp>

#include <array>
#include <string>

namespace {

using namespace chevron;
using enum AllReduceAlgorithm;

template <int NRanks, class T, class Op, class E>
struct Mine : OneShotPush<NRanks, T, Op, E> {
  static constexpr char const* name = "mine";
};

}  // namespace

template <int NRanks, class T, class Op, class E>
struct chevron::AlgorithmNamed<AllReduceAlgorithm::own, NRanks, T, Op, E> {
  using type = Mine<NRanks, T, Op, E>;
};

namespace {

struct Table {
  static constexpr auto rows() {
    return std::array{
        Row{.architectures = {90, 100},
            .bytes = {0, 1536},
            .elements = ElementSet::of(ElementKind::float32, ElementKind::bfloat16),
            .operations = OperationSet::of(OperationKind::sum),
            .in_windows_only = true,
            .policy = {.algorithm = one_shot_pull,
                       .cuda = {.lanes = 4, .threads = 256, .packs = 4, .dependent_launch = false}},
            .source = "this test"},
        Row{.bytes = {1 << 20},
            .in_windows_only = true,
            .policy = {reduce_scatter_all_gather_zero_copy, Stores::non_temporal}},
        Row{.ranks = {3, 3}, .policy = {own}},
        Row{.policy = {.algorithm = two_shot_push, .cuda = {.packets = PacketKind::flagged}}},
    };
  }
};

bool has(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

//! The lines with a part.
int lines_with(std::string const& text, std::string const& part) {
  int count = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = text.find('\n', begin);
    if (has(text.substr(begin, end - begin), part)) ++count;
    begin = end + 1;
  }
  return count;
}

template <int... Architecture>
using Two = Selector<Table, RankCounts<2>, Elements<float>, Operations<Sum>, Architectures<Architecture...>>;

}  // namespace

TEST_CASE("A table is explained row by row") {
  std::string const text = explain(Table{});
  INFO(text);
  CHECK(lines_with(text, "") == 4);
  CHECK(lines_with(text, "1 to 32 ranks, devices of 9.0 to below 10.0, float32 bfloat16, sum, in windows") ==
        1);
  CHECK(has(text, "below 1536 B"));
  CHECK(has(text, "4 lanes of 256 threads, 4 packs in flight, no dependent launch"));
  CHECK(has(text, "row 0: this test\n"));
  CHECK(has(text, "from 1 MiB"));
  CHECK(has(text, "stores past the caches"));
  CHECK(lines_with(text, "3 ranks ") == 1);
  CHECK(lines_with(text, "mine") == 1);
  CHECK(has(text, "flagged packets"));
}

TEST_CASE("A selector is explained by what it can reach alone") {
  std::string const hopper = explain(Two<90>{});
  INFO(hopper);
  CHECK(has(hopper, "2 ranks, float32, sum\n"));
  CHECK(lines_with(hopper, "in windows") == 1);
  CHECK(lines_with(hopper, "in no window") == 1);
  CHECK(lines_with(hopper, "devices of 9.0") == 2);
  CHECK(lines_with(hopper, "row 0: this test") == 1);
  CHECK(lines_with(hopper, "1536 B to below 1 MiB") == 1);
  CHECK(lines_with(hopper, "from 1 MiB") == 1);
  CHECK(lines_with(hopper, "two_shot_push") == 2);
  CHECK_FALSE(has(hopper, "mine"));
  CHECK_FALSE(has(hopper, "past the caches"));  // that is for hosts

  std::string const hosts = explain(Two<host_architecture>{});
  INFO(hosts);
  CHECK_FALSE(has(hosts, "one_shot_pull"));
  CHECK_FALSE(has(hosts, "threads"));
  CHECK(has(hosts, "past the caches"));
  CHECK(lines_with(hosts, "hosts") == 2);

  std::string const any = explain(Two<>{});
  INFO(any);
  CHECK(has(any, "hosts and devices below 9.0\n"));
  CHECK(has(any, "devices of 9.0 to below 10.0\n"));
  CHECK(has(any, "devices from 10.0\n"));
}

TEST_CASE("What window state makes no difference to is told once, and each call has its part") {
  struct Plain {
    static constexpr auto rows() { return std::array{Row{.policy = {one_shot_push}}}; }
  };
  std::string const text =
      explain<Selector<Plain, RankCounts<2, 4>, Elements<float, double>, Operations<Sum, Max>>>();
  INFO(text);
  CHECK(lines_with(text, "wherever the buffers lie") == 8);
  CHECK(lines_with(text, "any size") == 8);
  CHECK(has(text, "4 ranks, float64, max\n"));
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contract C2: a table with a hole does not compile, and the sentence says which kind of hole.
#include <array>

#include <chevron/select/selector.hpp>

using namespace chevron;
using enum AllReduceAlgorithm;

struct Table {
  static constexpr auto rows() {
    return std::array{
#if defined(CASE_no_row_for_two_ranks)  // expect-error: chevron: a selection table must have a row for every rank count asked for; got no row for the NRanks
        // and: TableHole<Table, .*, 2, float, chevron::Sum
        Row{.ranks = {3, 32}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_no_row_for_four_of_two_and_four)  // expect-error: chevron: a selection table must have a row for every rank count asked for; got no row for the NRanks
        // and: TableHole<Table, .*, 4, float, chevron::Sum
        Row{.ranks = {2, 3}, .policy = {reduce_scatter_all_gather}},
        Row{.ranks = {5, 32}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_no_row_for_the_element)  // expect-error: chevron: a selection table must have a row for every element asked for; got no row for the T
        // and: TableHole<Table, .*, 2, double, chevron::Sum
        Row{.elements = ElementSet::of(ElementKind::float32), .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_no_row_for_the_operation)  // expect-error: chevron: a selection table must have a row for every operation asked for; got no row for the Op
        // and: TableHole<Table, .*, 2, float, Own
        Row{.operations = OperationSet::of(OperationKind::sum, OperationKind::max), .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_one_architecture_alone)  // expect-error: chevron: a selection table must have a row for every architecture asked for, hosts being 0; got no row for the Architecture
        // and: TableHole<Table, .*, 2, float, chevron::Sum, 100
        Row{.architectures = {0, 100}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_gap_between_sizes)  // expect-error: chevron: a selection table must have a row for every size; got a gap
        // and: TableHole<Table, .*, 2, float, chevron::Sum, 0\w*, 1024\w*, 1025\w*>
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1025}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_gap_for_one_element)  // expect-error: chevron: a selection table must have a row for every size; got a gap
        // and: TableHole<Table, .*, 2, double, chevron::Sum, 0\w*, 1024\w*, 4096\w*>
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024, 4096}, .elements = ElementSet::of(ElementKind::float32), .policy = {one_shot_push}},
        Row{.bytes = {4096}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_nothing_above_a_size)  // expect-error: chevron: a selection table must have a row for every size; got a gap
        // and: TableHole<Table, .*, 2, float, chevron::Sum, 0\w*, 1024\w*, 18446744073709551615
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
#elif defined(CASE_only_windows)  // expect-error: chevron: a selection table must have a row for buffers that lie in no window
        // and: TableHole<Table, .*, 2, float, chevron::Sum, 0\w*, 1024
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
#elif defined(CASE_only_relaxed_numerics)  // expect-error: chevron: a selection table must have a row with exact numerics for every call of a selector that does not allow relaxed ones
        Row{.numerics = Numerics::relaxed, .policy = {one_shot_push}},
#else
        Row{.architectures = {90, 100}, .bytes = {0, 1024}, .policy = {two_shot_push}},
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024, 4096}, .in_windows_only = true, .policy = {one_shot_pull}},
        Row{.bytes = {1024}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {1024}, .policy = {reduce_scatter_all_gather}},
#endif
    };
  }
};

struct Own {
  static constexpr float combine(float a, float b) { return a + b; }
  static constexpr double combine(double a, double b) { return a + b; }
};

using Chosen = Selector<Table, RankCounts<2, 4>, Elements<float, double>, Operations<Sum, Max, Own>>;

constexpr bool total = Chosen::total;

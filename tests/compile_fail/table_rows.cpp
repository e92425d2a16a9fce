// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A row that no call reaches, or whose algorithm can't do what the row says, does not compile: the sentence says which row.
#include <array>

#include <chevron/select/selector.hpp>

using namespace chevron;
using enum AllReduceAlgorithm;

// An algorithm of one's own that reduces in whatever order the network takes: its bits are not the reference's.
template <int NRanks, class T, class Op, class E>
struct InSwitch : OneShotPush<NRanks, T, Op, E> {
  static constexpr Numerics numerics = Numerics::relaxed;
};
constexpr auto in_switch = AllReduceAlgorithm{130};
template <int NRanks, class T, class Op, class E>
struct chevron::AlgorithmNamed<in_switch, NRanks, T, Op, E> {
  using type = InSwitch<NRanks, T, Op, E>;
};

struct Table {
  static constexpr auto rows() {
    return std::array{
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
#if defined(CASE_no_bytes)  // expect-error: chevron: every row of a selection table must be reached by some call; got a Row of this RowIsSound with an empty range or set
        // and: RowIsSound<Table, 1
        Row{.bytes = {4096, 1024}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_no_rank_count)  // expect-error: chevron: every row of a selection table must be reached by some call; got a Row of this RowIsSound with an empty range or set
        // and: RowIsSound<Table, 1
        Row{.ranks = {33, 64}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_no_operation)  // expect-error: chevron: every row of a selection table must be reached by some call; got a Row of this RowIsSound with an empty range or set
        // and: RowIsSound<Table, 1
        Row{.operations = OperationSet::of(), .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_hidden)  // expect-error: chevron: every row of a selection table must be reached by some call; got a row, the Row of this HiddenRow, all of whose calls are taken by rows before it
        // and: HiddenRow<Table, 1\w*, 0
        Row{.ranks = {2, 2}, .bytes = {512, 1024}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_hidden_by_two)  // expect-error: chevron: every row of a selection table must be reached by some call; got a row, the Row of this HiddenRow, all of whose calls are taken by rows before it
        // and: HiddenRow<Table, 2\w*, 0
        Row{.ranks = {2, 8}, .policy = {reduce_scatter_all_gather}},
        Row{.ranks = {4, 4}, .in_windows_only = true, .policy = {one_shot_pull}},
#elif defined(CASE_after_the_last_fallback)  // expect-error: chevron: every row of a selection table must be reached by some call; got a row, the Row of this HiddenRow, all of whose calls are taken by rows before it
        // and: HiddenRow<Table, 2\w*, 0
        Row{.policy = {two_shot_push}},
#elif defined(CASE_inexact)  // expect-error: chevron: a row whose algorithm does not give the reference's bits must say Numerics::relaxed
        // and: RowIsSound<Table, 1
        Row{.ranks = {4, 32}, .policy = {in_switch}},
#elif defined(CASE_zero_copy_everywhere)  // expect-error: chevron: a row whose algorithm works on windows must say in_windows_only
        // and: RowIsSound<Table, 1
        Row{.ranks = {2, 8}, .policy = {reduce_scatter_all_gather_zero_copy}},
#elif defined(CASE_pull_everywhere)  // expect-error: chevron: a row whose algorithm works on windows must say in_windows_only
        // and: RowIsSound<Table, 1
        Row{.bytes = {1024, 4096}, .policy = {one_shot_pull}},
#elif defined(CASE_no_such_algorithm)  // expect-error: chevron: a row must name an algorithm that exists
        // and: RowIsSound<Table, 1
        Row{.bytes = {1024, 4096}, .policy = {AllReduceAlgorithm{131}}},
#elif defined(CASE_bare_packets_of_integers)  // expect-error: chevron: a row with bare packets must be for elements that have a sentinel, the floats
        // and: RowIsSound<Table, 1
        Row{.bytes = {1024, 4096},
            .elements = ElementSet::of(ElementKind::float32, ElementKind::int32),
            .policy = {.algorithm = one_shot_push, .cuda = {.packets = PacketKind::bare}}},
#elif defined(CASE_odd_threads)  // expect-error: chevron: a row's geometry must have 0 or more lanes, 128 to 512 threads in multiples of 32, and 0 to 8 packs
        // and: RowIsSound<Table, 1
        Row{.bytes = {1024, 4096}, .policy = {.algorithm = one_shot_push, .cuda = {.threads = 200}}},
#else
        Row{.ranks = {4, 32}, .bytes = {1024, 4096}, .numerics = Numerics::relaxed, .policy = {in_switch}},
        Row{.bytes = {1024, 2048},
            .elements = ElementSet::of(ElementKind::float32),
            .policy = {.algorithm = one_shot_push, .cuda = {.threads = 224, .packets = PacketKind::bare}}},
        Row{.ranks = {2, 8}, .in_windows_only = true, .policy = {one_shot_pull}},
        Row{.ranks = {4, 4}, .policy = {two_shot_push}},
#endif
        Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};

constexpr bool total = Selector<Table, RankCounts<2>, Elements<float>>::total;

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Contract C2: a table with a hole does not compile, and the sentence says which kind of hole.
#include <array>

#include <chevron/chevron.hpp>

using namespace chevron;
using enum AllReduceAlgorithm;

struct Table {
  static constexpr auto rows() {
    return std::array{
#if defined(CASE_no_row_for_two_ranks)  // expect-error: chevron: a selection table must have a row for every rank count asked for; got no row for the NRanks
        Row{.ranks = {3, 32}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_no_row_for_the_element)  // expect-error: chevron: a selection table must have a row for every element asked for; got no row for the T
        Row{.elements = ElementSet::of(ElementKind::float16), .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_gap_between_sizes)  // expect-error: chevron: a selection table must have a row for every size; got a gap
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1025}, .policy = {reduce_scatter_all_gather}},
#elif defined(CASE_nothing_above_a_size)  // expect-error: chevron: a selection table must have a row for every size; got a gap
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
#elif defined(CASE_only_windows)  // expect-error: chevron: a selection table must have a row for buffers that lie in no window
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
#elif defined(CASE_zero_copy_everywhere)  // expect-error: chevron: a row whose algorithm works on windows must say in_windows_only
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024}, .policy = {reduce_scatter_all_gather_zero_copy}},
#elif defined(CASE_pull_everywhere)  // expect-error: chevron: a row whose algorithm works on windows must say in_windows_only
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024, 4096}, .policy = {one_shot_pull}},
        Row{.bytes = {1024}, .policy = {reduce_scatter_all_gather}},
#else
        Row{.bytes = {0, 1024}, .policy = {one_shot_push}},
        Row{.bytes = {1024, 4096}, .in_windows_only = true, .policy = {one_shot_pull}},
        Row{.bytes = {1024}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {1024}, .policy = {reduce_scatter_all_gather}},
#endif
    };
  }
};

using Chosen = Selector<Table, RankCounts<2>, Elements<float>>;

Result<void> call(Communicator<HostThreads<2>> const& ranks, float* data) {
  return all_reduce<Chosen>(ranks, data, data, 10);
}

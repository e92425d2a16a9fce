// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An epilogue that looks at whole rows needs an algorithm whose ranks own whole rows.
#include <array>

#include <chevron/chevron.hpp>

using namespace chevron;
using enum AllReduceAlgorithm;

struct Normalise {
#if defined(CASE_no_epilogue_of_element_scope)  // expect-error: chevron: an epilogue must be a trivially copyable value with operator\(\)
#else
  static constexpr EpilogueScope scope = EpilogueScope::row;
#endif
  std::size_t row_size;
};

template <int NRanks, class T, class Op, class E>
struct Rowwise {
  static constexpr char const* name = "rowwise";
  static constexpr Requirements needs = {.packets = true};
#if defined(CASE_named_algorithm_that_splits_rows)  // expect-error: chevron: an epilogue of row scope needs an algorithm whose ranks own whole rows; got an algorithm without owns_whole_rows
#elif defined(CASE_row_that_splits_rows)  // expect-error: chevron: a row for epilogues of row scope must name an algorithm whose ranks own whole rows
// and: RowIsSound<Table, 0
#else
  static constexpr bool owns_whole_rows = true;
#endif
  template <class Lane>
  static void run(Lane&, Call<T, E> const&) {}
};
constexpr auto rowwise = AllReduceAlgorithm{130};
template <int NRanks, class T, class Op, class E>
struct chevron::AlgorithmNamed<rowwise, NRanks, T, Op, E> {
  using type = Rowwise<NRanks, T, Op, E>;
};

struct Table {
  static constexpr auto rows() {
    return std::array{
#if defined(CASE_table_without_a_row_for_it)  // expect-error: chevron: a selection table must have a row for epilogues of row scope to be used with one
#elif defined(CASE_library_algorithm_in_the_row)  // expect-error: chevron: a row for epilogues of row scope must name an algorithm whose ranks own whole rows
        // and: RowIsSound<Table, 0
        Row{.epilogues = ScopeSet::of(EpilogueScope::row), .policy = {one_shot_push}},
#else
        Row{.epilogues = ScopeSet::of(EpilogueScope::row), .policy = {rowwise}},
#endif
        Row{.policy = {one_shot_push}},
    };
  }
};

#if defined(CASE_named_algorithm_that_splits_rows)
using Chosen = Rowwise<2, float, Sum, Normalise>;
#else
using Chosen = Selector<Table, RankCounts<2>, Elements<float>>;
#endif

#if defined(__CUDACC__) && !defined(CASE_named_algorithm_that_splits_rows)  // nvcc would not compile a host's lanes for a device
constexpr bool fits = detail::fits_selector<Chosen, HostThreads<2>, float, Sum, Normalise>();
#elif defined(__CUDACC__)
constexpr bool fits = detail::fits_algorithm<Chosen, HostThreads<2>, float, Sum, Normalise>();
#else
Result<void> call(Communicator<HostThreads<2>> const& ranks, float* data) {
  return all_reduce<Chosen>(ranks, data, data, 10, Sum{}, Normalise{10});
}
#endif

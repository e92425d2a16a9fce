// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_ROUTES_HPP
#define CHEVRON_TESTS_COLLECTIVE_ALL_REDUCE_MATRIX_ROUTES_HPP

//! @file
//! How a call gets to an algorithm: by its name, or through a selector with a table of its own; and which of
//! all the combinations of rank count, element, task and route are compiled.

#include <chevron/collective/all_reduce.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>

#include <collective/all_reduce_matrix/operations.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace chevron::test {

enum class Route : unsigned char {
  one_shot_push,
  reduce_scatter_all_gather,
  zero_copy,
  one_shot_pull,
  two_shot_push,
  push_rsag,
  by_temporal_table,
  by_non_temporal_table,
};
inline constexpr int algorithm_count = 6;
inline constexpr int route_count = algorithm_count + 2;

constexpr char const* name(Route route) {
  switch (route) {
    case Route::one_shot_push:
      return "one_shot_push";
    case Route::reduce_scatter_all_gather:
      return "reduce_scatter_all_gather";
    case Route::zero_copy:
      return "reduce_scatter_all_gather_zero_copy";
    case Route::one_shot_pull:
      return "one_shot_pull";
    case Route::two_shot_push:
      return "two_shot_push";
    case Route::push_rsag:
      return "reduce_scatter_all_gather_push";
    case Route::by_temporal_table:
      return "selector(temporal)";
    case Route::by_non_temporal_table:
      return "selector(non-temporal)";
  }
  return "unknown";
}

//! Several algorithms within a few kilobytes, so that one communicator goes back and forth between them.
struct TemporalTable {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{
        Row{.bytes = {0, 100}, .in_windows_only = true, .policy = {reduce_scatter_all_gather}},
        Row{.bytes = {300, 3000}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {3000, 4000}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_push}},
        Row{.bytes = {0, 900}, .policy = {one_shot_push}},
        Row{.bytes = {900, 5000}, .policy = {reduce_scatter_all_gather}},
        Row{.bytes = {5000}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {5000}, .policy = {one_shot_push}},
    };
  }
};

//! The others. Where the windows allow it, past the caches: for some sizes a push of shards, for all others a pull, which
//! moves as zero copy does where a rank is in place.
struct NonTemporalTable {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{
        Row{.bytes = {500, 2000},
            .in_windows_only = true,
            .policy = {reduce_scatter_all_gather_push, Stores::non_temporal}},
        Row{.in_windows_only = true, .policy = {one_shot_pull, Stores::non_temporal}},
        Row{.bytes = {0, 1000}, .policy = {two_shot_push, Stores::non_temporal}},
        Row{.bytes = {1000}, .policy = {reduce_scatter_all_gather, Stores::non_temporal}},
    };
  }
};

template <class Table, int NRanks, class T>
using MatrixSelector =
    Selector<Table, RankCounts<NRanks>, Elements<T>, Operations<Sum, Prod, Min, Max, Avg, Steered>>;

#if defined(CHEVRON_TEST_FULL_MATRIX)
inline constexpr bool everything_is_compiled = true;
#else
inline constexpr bool everything_is_compiled = false;
#endif

//! A third of the (rank count, element) pairs, so that each rank count and each element has some.
constexpr bool is_of_the_third(int ranks, ElementKind element) {
  return everything_is_compiled || (ranks + static_cast<int>(element)) % 3 == 0;
}

//! Whether the matrix has groups of this size at all: all rank counts for a wide float, a narrow one and an integer; for
//! the other elements, which share the code of these but for the arithmetic, a third of them and two ranks. With
//! CHEVRON_TEST_GROUPS=1, all for every element; with 0 a third for every element, for sanitizers.
constexpr bool has_groups(int ranks, ElementKind element) {
#if defined(CHEVRON_TEST_GROUPS)
  bool const all = CHEVRON_TEST_GROUPS == 1;
#else
  bool const all =
      element == ElementKind::float32 || element == ElementKind::bfloat16 || element == ElementKind::int32;
#endif
  return all || ranks == 2 || is_of_the_third(ranks, element);
}

//! Whether the matrix has groups of processes of this size. They run the same bodies as threads do.
constexpr bool has_processes(int ranks, ElementKind element) { return is_of_the_third(ranks, element); }

//! Whether a call is compiled. All of them take many minutes, so by default each (rank count, element, task)
//! gets one of the six algorithms, in such a way that any three of {rank count, element, task, algorithm}
//! occur in every combination of groups there are, and the selectors get the pairs that have processes. With
//! CHEVRON_TEST_FULL_MATRIX defined, everything.
constexpr bool is_compiled(int ranks, ElementKind element, int task, Route route) {
  int const mixed = ranks + static_cast<int>(element);
  bool const selectors = is_of_the_third(ranks, element);
  switch (route) {
    case Route::one_shot_push:
    case Route::reduce_scatter_all_gather:
    case Route::zero_copy:
    case Route::one_shot_pull:
    case Route::two_shot_push:
    case Route::push_rsag:
      return everything_is_compiled || (mixed + task) % algorithm_count == static_cast<int>(route);
    case Route::by_temporal_table:
      return selectors && task == mixed / 3 % task_count;
    case Route::by_non_temporal_table:
      return selectors && task == (mixed / 3 + 3) % task_count;
  }
  return false;
}

//! One compiled call.
template <class Comm, class T>
using CallFunction = Result<void> (*)(Comm const&, T const* in, T* out, std::size_t count,
                                      std::uint64_t salt);

template <Route R, int NRanks, class T, class Op, class E>
struct ChoiceOf;
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::one_shot_push, NRanks, T, Op, E> {
  using type = OneShotPush<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::reduce_scatter_all_gather, NRanks, T, Op, E> {
  using type = ReduceScatterAllGather<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::zero_copy, NRanks, T, Op, E> {
  using type = ReduceScatterAllGatherZeroCopy<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::one_shot_pull, NRanks, T, Op, E> {
  using type = OneShotPull<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::two_shot_push, NRanks, T, Op, E> {
  using type = TwoShotPush<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::push_rsag, NRanks, T, Op, E> {
  using type = ReduceScatterAllGatherPush<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::by_temporal_table, NRanks, T, Op, E> {
  using type = MatrixSelector<TemporalTable, NRanks, T>;
};
template <int NRanks, class T, class Op, class E>
struct ChoiceOf<Route::by_non_temporal_table, NRanks, T, Op, E> {
  using type = MatrixSelector<NonTemporalTable, NRanks, T>;
};

//! The compiled call for a task and a route; null where it is not compiled.
template <class Comm, class T>
class Calls {
 public:
  Calls() {
    [this]<std::size_t... I>(std::index_sequence<I...>) {
      (this->template put<static_cast<int>(I) / route_count, static_cast<Route>(I % route_count)>(), ...);
    }
    (std::make_index_sequence<task_count * route_count>{});
  }
  [[nodiscard]] CallFunction<Comm, T> find(int task, Route route) const {
    return functions_[static_cast<std::size_t>(task)][static_cast<std::size_t>(route)];
  }

 private:
  template <int Index, Route R>
  void put() {
    if constexpr (is_compiled(Comm::ranks, element_kind<T>, Index, R)) {
      using Op = typename TaskAt<Index>::Op;
      using E = typename TaskAt<Index>::Epilogue;
      functions_[Index][static_cast<std::size_t>(R)] = [](Comm const& communicator, T const* in, T* out,
                                                          std::size_t count, std::uint64_t salt) {
        return all_reduce<typename ChoiceOf<R, Comm::ranks, T, Op, E>::type>(communicator, in, out, count,
                                                                             Op{}, make_epilogue<E>(salt));
      };
    }
  }

  std::array<std::array<CallFunction<Comm, T>, route_count>, task_count> functions_{};
};

}  // namespace chevron::test

#endif

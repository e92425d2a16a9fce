// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_POLICY_HPP
#define CHEVRON_SELECT_POLICY_HPP

//! @file
//! What a selection table chooses: an algorithm by name, and how it is to run.

#include <chevron/algorithm/all_reduce/one_shot_push.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather_zero_copy.hpp>
#include <chevron/core/pack.hpp>

namespace chevron {

//! @brief The all-reduce algorithms, by name, so that a table can be a plain value.
enum class AllReduceAlgorithm : unsigned char {
  one_shot_push,
  reduce_scatter_all_gather,
  reduce_scatter_all_gather_zero_copy,
};

//! @brief An algorithm and how it runs.
struct Policy {
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::reduce_scatter_all_gather;
  Stores stores = Stores::temporal;

  friend constexpr bool operator==(Policy const&, Policy const&) = default;
};

namespace detail {

//! @brief From an algorithm's name to its template. An algorithm without a row here can't be named by a
//! table.
template <AllReduceAlgorithm Algorithm, int NRanks, class T, class Op, class E>
struct AlgorithmNamed;
template <int NRanks, class T, class Op, class E>
struct AlgorithmNamed<AllReduceAlgorithm::one_shot_push, NRanks, T, Op, E> {
  using type = OneShotPush<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct AlgorithmNamed<AllReduceAlgorithm::reduce_scatter_all_gather, NRanks, T, Op, E> {
  using type = ReduceScatterAllGather<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct AlgorithmNamed<AllReduceAlgorithm::reduce_scatter_all_gather_zero_copy, NRanks, T, Op, E> {
  using type = ReduceScatterAllGatherZeroCopy<NRanks, T, Op, E>;
};

}  // namespace detail

//! @brief The algorithm that a policy names, instantiated.
template <AllReduceAlgorithm Algorithm, int NRanks, class T, class Op, class E>
using algorithm_named_t = typename detail::AlgorithmNamed<Algorithm, NRanks, T, Op, E>::type;

//! @brief The name of an algorithm, as its template has it.
[[nodiscard]] constexpr char const* name(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::one_shot_push:
      return "one_shot_push";
    case AllReduceAlgorithm::reduce_scatter_all_gather:
      return "reduce_scatter_all_gather";
    case AllReduceAlgorithm::reduce_scatter_all_gather_zero_copy:
      return "reduce_scatter_all_gather_zero_copy";
  }
  return "unknown";
}

[[nodiscard]] constexpr char const* name(Stores stores) {
  return stores == Stores::temporal ? "temporal" : "non_temporal";
}

}  // namespace chevron

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_POLICY_HPP
#define CHEVRON_SELECT_POLICY_HPP

//! @file
//! What a selection table chooses: an algorithm by name, and how it is to run.

#include <chevron/algorithm/all_reduce/one_shot_pull.hpp>
#include <chevron/algorithm/all_reduce/one_shot_push.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather_push.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather_zero_copy.hpp>
#include <chevron/algorithm/all_reduce/two_shot_push.hpp>
#include <chevron/core/pack.hpp>
#include <chevron/transport/cuda_segment.hpp>

namespace chevron {

//! @brief The all-reduce algorithms, by name, so that a table can be a plain value.
enum class AllReduceAlgorithm : unsigned char {
  one_shot_push,
  reduce_scatter_all_gather,
  reduce_scatter_all_gather_zero_copy,
  one_shot_pull,
  two_shot_push,
  reduce_scatter_all_gather_push,

  //! The first of the numbers that are a program's own: AlgorithmNamed says which templates they stand for.
  own = 128,
};

//! Packs that a thread may have in flight at most: more would not stay in registers.
inline constexpr int most_packs_in_flight = 8;

//! @brief Packs that a thread loads before it stores the first, where nobody says another number: as many as keep the memory
//! busy and the registers few.
template <int NRanks>
inline constexpr int usual_packs_in_flight = NRanks <= 4 ? 2 : 1;

//! @brief An algorithm whose threads have `Packs` packs in flight on a device where another number than the usual suits.
template <class Algorithm, int Packs>
struct InFlight : Algorithm {};

//! @brief How a call is launched on a device; the same on all ranks.
struct CudaGeometry {
  int lanes = 0;      //!< thread blocks of a rank, 0: by the size of the call
  int threads = 512;  //!< of a lane, a multiple of 64, 64 to 512

  //! Packs of 16 bytes that a thread loads before it stores the first, 1 to 8; 0: what suits most rank counts. A table's
  //! number makes a kernel of its own; a call of a named algorithm says it by InFlight. Packets know no packs.
  int packs = 0;
  PacketKind packets = PacketKind::automatic;  //!< of the algorithms that push packets

  Ordering ordering = Ordering::relaxed_arrival;  //!< see docs/memory-model.md
  bool dependent_launch = true;                   //!< programmatic dependent launch, on devices that have it

  //! Where there is room for it. Kernels of the user's own that are launched as dependents of a call on a device that ranks
  //! share must leave room too, or be given LetGo::when_met.
  LetGo let_go = LetGo::at_once;

  friend constexpr bool operator==(CudaGeometry const&, CudaGeometry const&) = default;
};

//! @brief An algorithm and how it runs.
struct Policy {
  AllReduceAlgorithm algorithm = AllReduceAlgorithm::reduce_scatter_all_gather;
  Stores stores = Stores::temporal;  //!< on a host
  CudaGeometry cuda{};               //!< on a device

  friend constexpr bool operator==(Policy const&, Policy const&) = default;
};

//! @brief From an algorithm's name to its template. An algorithm without a specialisation can't be named by a table.
//!
//! An algorithm of one's own, for tables of one's own:
//! ```cpp
//! constexpr auto mine = chevron::AllReduceAlgorithm{128};
//! template <int NRanks, class T, class Op, class E>
//! struct chevron::AlgorithmNamed<mine, NRanks, T, Op, E> {
//!   using type = Mine<NRanks, T, Op, E>;
//! };
//! ```
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
template <int NRanks, class T, class Op, class E>
struct AlgorithmNamed<AllReduceAlgorithm::one_shot_pull, NRanks, T, Op, E> {
  using type = OneShotPull<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct AlgorithmNamed<AllReduceAlgorithm::two_shot_push, NRanks, T, Op, E> {
  using type = TwoShotPush<NRanks, T, Op, E>;
};
template <int NRanks, class T, class Op, class E>
struct AlgorithmNamed<AllReduceAlgorithm::reduce_scatter_all_gather_push, NRanks, T, Op, E> {
  using type = ReduceScatterAllGatherPush<NRanks, T, Op, E>;
};

//! @brief The algorithm that a policy names, instantiated.
template <AllReduceAlgorithm Algorithm, int NRanks, class T, class Op, class E>
using algorithm_named_t = typename AlgorithmNamed<Algorithm, NRanks, T, Op, E>::type;

//! @brief The name of an algorithm, as its template has it.
[[nodiscard]] constexpr char const* name(AllReduceAlgorithm algorithm) {
  switch (algorithm) {
    case AllReduceAlgorithm::one_shot_push:
      return "one_shot_push";
    case AllReduceAlgorithm::reduce_scatter_all_gather:
      return "reduce_scatter_all_gather";
    case AllReduceAlgorithm::reduce_scatter_all_gather_zero_copy:
      return "reduce_scatter_all_gather_zero_copy";
    case AllReduceAlgorithm::one_shot_pull:
      return "one_shot_pull";
    case AllReduceAlgorithm::two_shot_push:
      return "two_shot_push";
    case AllReduceAlgorithm::reduce_scatter_all_gather_push:
      return "reduce_scatter_all_gather_push";
    default:
      break;
  }
  return algorithm >= AllReduceAlgorithm::own ? "own" : "unknown";
}

[[nodiscard]] constexpr char const* name(Stores stores) {
  return stores == Stores::temporal ? "temporal" : "non_temporal";
}
[[nodiscard]] constexpr char const* name(PacketKind packets) {
  return packets == PacketKind::automatic ? "automatic" : packets == PacketKind::flagged ? "flagged" : "bare";
}

}  // namespace chevron

#endif

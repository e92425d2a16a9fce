// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_TO_ALL_HPP
#define CHEVRON_ALGORITHM_ALL_REDUCE_REDUCE_TO_ALL_HPP

//! @file
//! The inner loop of every algorithm on windows, and of the staged one: load from all, reduce, store to all.

#include <chevron/core/call.hpp>
#include <chevron/core/pack.hpp>
#include <chevron/core/rank.hpp>

#include <cstddef>

CHEVRON_BODIES_BEGIN

namespace chevron::detail {

//! @brief Reduces `size` elements of `from` in rank order into every one of `to`.
//! @param workers  who does it: this lane, or each lane of the rank a part of it
//! @param first    index of the first element within the whole call, for the epilogue
template <class Op, class Lane, class T, int NRanks, int Targets, class Epilogue>
CHEVRON_HD void reduce_to_all(Lane& lane, Workers workers, PerRank<T const*, NRanks> const& from,
                              PerRank<T*, Targets> const& to, std::size_t size, std::size_t first,
                              Epilogue const& epilogue, Stores stores) {
  lane.template for_each_pack<T>(
      lane.packing_of(from, to, size, workers), stores,  //
      [&](auto at) { return lane.load_all(from, at); },
      [&](auto at, auto const& all) {
        lane.store_all(to, at, finish_pack<T>(epilogue, reduce_in_rank_order<Op>(all), first + at.index));
      });
}

//! @brief The same pointers, `count` elements further on.
template <class T, int NRanks>
CHEVRON_HD constexpr PerRank<T*, NRanks> advanced(PerRank<T*, NRanks> pointers, std::size_t count) {
  for (int rank = 0; rank < NRanks; ++rank) pointers[rank] += count;
  return pointers;
}

}  // namespace chevron::detail

CHEVRON_BODIES_END

#endif

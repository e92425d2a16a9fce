// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_RANK_HPP
#define CHEVRON_CORE_RANK_HPP

//! @file
//! Rank counts: how many ranks a group may have, and one value for each of them.

#include <chevron/core/config.hpp>

namespace chevron {

//! The largest rank count that anything can be instantiated for. 2 to 16 are tested, 17 to 32 compile.
inline constexpr int max_ranks = 32;

//! @brief A rank count that algorithms and transports can be instantiated for.
template <int NRanks>
concept RankCountInRange = NRanks >= 1 && NRanks <= max_ranks;

//! @brief One value per rank, indexed by rank; a plain aggregate that lives in registers on a GPU.
template <class Value, int NRanks>
struct PerRank {
  Value of[NRanks];

  CHEVRON_INLINE constexpr Value& operator[](int rank) { return of[rank]; }
  CHEVRON_INLINE constexpr Value const& operator[](int rank) const { return of[rank]; }
};

}  // namespace chevron

#endif

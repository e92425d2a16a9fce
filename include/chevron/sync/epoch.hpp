// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SYNC_EPOCH_HPP
#define CHEVRON_SYNC_EPOCH_HPP

//! @file
//! Epochs and stamps: how a reader knows that what it sees was written for this step, and for the same call.

#include <chevron/core/config.hpp>

#include <cstdint>

namespace chevron {

//! @brief The step counter of a lane: the same on every rank, since every rank runs the same steps. It wraps.
using Epoch = std::uint32_t;

//! @brief Whether `seen` is `expected` or later, right across the wrap as long as the two are less than 2^31
//! apart.
CHEVRON_HD constexpr bool reached(Epoch seen, Epoch expected) {
  return static_cast<std::int32_t>(seen - expected) >= 0;
}

//! @brief What marks a flag or a packet as written: the step, and a signature of the call that all ranks must
//! share. One 64-bit word, so that it is stored and loaded whole.
struct Stamp {
  Epoch epoch = 0;
  std::uint32_t signature = 0;

  [[nodiscard]] CHEVRON_HD constexpr std::uint64_t word() const {
    return std::uint64_t{epoch} << 32 | signature;
  }
  //! Memory that nobody has written to yet holds zeros; no signature is zero.
  [[nodiscard]] CHEVRON_HD constexpr bool written() const { return signature != 0; }
  [[nodiscard]] static CHEVRON_HD constexpr Stamp of(std::uint64_t word) {
    return {static_cast<Epoch>(word >> 32), static_cast<std::uint32_t>(word)};
  }
};

//! @brief The era of an epoch: a quarter of the counter's range.
//!
//! Stamps are compared for equality, so one that is exactly 2^32 steps old would pass for new. When a lane
//! enters a new era the ranks therefore meet and wipe their stamps (HostWait::enter_era): no stamp lives to
//! see its epoch again.
CHEVRON_HD constexpr std::uint32_t era_of(Epoch epoch) { return epoch >> 30; }

}  // namespace chevron

#endif

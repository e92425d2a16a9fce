// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SYNC_FAILURE_HPP
#define CHEVRON_SYNC_FAILURE_HPP

//! @file
//! A failure as one 64-bit word, so that the rank that notices it can tell all the others with one store.

#include <chevron/core/config.hpp>
#include <chevron/core/error.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstdint>

namespace chevron {

//! @brief What is written into every rank's abort word. The first failure stays; a communicator that has one
//! is over.
struct Failure {
  Errc code = Errc::ok;
  std::uint8_t rank = none;      //!< the rank at fault
  std::uint8_t reporter = none;  //!< the rank that noticed
  std::uint8_t lane = none;      //!< the lane that noticed
  Epoch epoch = 0;

  static constexpr std::uint8_t none = 0xff;

  [[nodiscard]] CHEVRON_HD constexpr std::uint64_t word() const {
    return std::uint64_t{static_cast<std::uint8_t>(code)} | std::uint64_t{rank} << 8 |
           std::uint64_t{reporter} << 16 | std::uint64_t{lane} << 24 | std::uint64_t{epoch} << 32;
  }
  [[nodiscard]] static CHEVRON_HD constexpr Failure of(std::uint64_t word) {
    return {static_cast<Errc>(word & 0xff), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint8_t>(word >> 16), static_cast<std::uint8_t>(word >> 24),
            static_cast<Epoch>(word >> 32)};
  }
  [[nodiscard]] Error error(char const* during) const {
    auto const index = [](std::uint8_t i) { return i == none ? std::int16_t{-1} : std::int16_t{i}; };
    return {.code = code,
            .rank = index(rank),
            .reporter = index(reporter),
            .lane = index(lane),
            .epoch = epoch,
            .native = 0,
            .during = during,
            .detail = {}};
  }
};

}  // namespace chevron

#endif

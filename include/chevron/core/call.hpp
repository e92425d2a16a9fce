// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_CALL_HPP
#define CHEVRON_CORE_CALL_HPP

//! @file
//! One rank's call of a collective, as an algorithm's body sees it.

#include <chevron/core/pack.hpp>
#include <chevron/core/rank.hpp>

#include <cstddef>
#include <cstdint>

namespace chevron {

//! @brief Where a buffer lies: in which window, and how far into it (bytes). What a call tells its peers
//! (contract C4).
struct Location {
  std::uint32_t window = nowhere;
  std::uint64_t offset = 0;

  static constexpr std::uint32_t nowhere = 0xffffffff;
  [[nodiscard]] CHEVRON_HD constexpr bool in_window() const { return window != nowhere; }
};

//! @brief Who shares in a loop: the lane alone, or all lanes of the rank together.
enum class Workers : unsigned char { this_lane, all_lanes };

//! @brief What a thread of a lane does in an algorithm with two kinds of work that go on side by side, where a lane has
//! threads for both.
struct Roles {
  bool contributes = true;
  bool reduces = true;
};

//! @brief Whose memory an algorithm on windows writes: the rank's own output, or everybody's.
enum class Wrote : unsigned char { own, all };

//! @brief The arguments of a call on one rank: `in` and `out` hold `count` elements each and may be the same
//! buffer.
template <class T, class Epilogue>
struct Call {
  T const* in = nullptr;
  T* out = nullptr;
  std::size_t count = 0;
  Location in_at{};
  Location out_at{};
  Stores stores = Stores::temporal;
  [[no_unique_address]] Epilogue epilogue{};
};

//! @brief What a rank knows of all ranks' buffers once everybody has arrived.
template <class T, int NRanks>
struct Arrival {
  PerRank<T const*, NRanks> in{};
  PerRank<T*, NRanks> out{};
  int outside =
      -1;  //!< a rank whose buffers lie in no window, -1 where there is none: the same answer on every rank

  [[nodiscard]] CHEVRON_HD constexpr bool direct() const { return outside < 0; }
};

}  // namespace chevron

#endif

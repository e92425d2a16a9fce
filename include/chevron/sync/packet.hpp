// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SYNC_PACKET_HPP
#define CHEVRON_SYNC_PACKET_HPP

//! @file
//! Flagged packets: data that carries its own flag, so that it needs no barrier.

#include <chevron/core/config.hpp>
#include <chevron/sync/epoch.hpp>

#include <cstddef>
#include <cstdint>

namespace chevron {

//! @brief The packet of a CPU: one cache line, 56 bytes of payload and the stamp that says they are there.
//!
//! The writer fills the payload, then stores the stamp with release; the reader loads the stamp with acquire,
//! then reads the payload. One line crosses between the cores, flag and data together.
struct alignas(64) FlaggedLine {
  static constexpr std::size_t payload_bytes = 56;

  std::byte payload[payload_bytes];
  std::uint64_t stamp;

  //! Elements of type T that one line carries.
  template <class T>
  static constexpr int capacity = static_cast<int>(payload_bytes / sizeof(T));
};
static_assert(sizeof(FlaggedLine) == 64);

//! @brief Lines that `bytes` of elements of `element_bytes` each need; at least one, so that ranks with
//! nothing to say meet as well.
CHEVRON_HD constexpr std::size_t lines_for(std::size_t count, std::size_t element_bytes) {
  std::size_t const each = FlaggedLine::payload_bytes / element_bytes;
  std::size_t const lines = count / each + (count % each != 0 ? 1 : 0);
  return lines == 0 ? 1 : lines;
}

}  // namespace chevron

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_COLLECTIVE_CHECK_BUFFERS_HPP
#define CHEVRON_COLLECTIVE_CHECK_BUFFERS_HPP

//! @file
//! What a rank can find wrong with its own buffers before it calls anybody.

#include <chevron/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace chevron::detail {

//! @brief Null, misaligned, overflowing or partly overlapping buffers of `count` elements each; Errc::ok
//! otherwise.
[[nodiscard]] inline Errc check_buffers(void const* in, void const* out, std::size_t count,
                                        std::size_t element_bytes, std::size_t alignment) {
  auto const from = reinterpret_cast<std::uintptr_t>(in);
  auto const to = reinterpret_cast<std::uintptr_t>(out);
  if (count != 0 && (in == nullptr || out == nullptr)) return Errc::null_pointer;
  if (from % alignment != 0 || to % alignment != 0) return Errc::misaligned;
  constexpr std::size_t largest = std::numeric_limits<std::ptrdiff_t>::max();
  if (count > largest / element_bytes) return Errc::size_overflow;
  std::size_t const size_bytes = count * element_bytes;
  constexpr std::uintptr_t end = std::numeric_limits<std::uintptr_t>::max();
  if (size_bytes > end - from || size_bytes > end - to) return Errc::size_overflow;
  if (from != to && from < to + size_bytes && to < from + size_bytes) return Errc::buffers_overlap;
  return Errc::ok;
}

}  // namespace chevron::detail

#endif

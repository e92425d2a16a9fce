// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_BITS_HPP
#define CHEVRON_CORE_BITS_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <chevron/core/config.hpp>

//! @file
//! A value's bits, and choices between values without a branch, so that loops vectorise.
//! All of it works on the host, in device code and in constant expressions.

namespace chevron::detail {

//! @brief The value of type To that has the bits of `from`.
//! std::bit_cast is not annotated for device code, so the compilers' builtin is called directly.
template <class To, class From>
requires(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
         std::is_trivially_copyable_v<From>) CHEVRON_INLINE constexpr To bit_cast(From const& from) noexcept {
  return __builtin_bit_cast(To, from);
}

//! @brief All ones where a < b, else 0.
CHEVRON_INLINE constexpr std::int32_t less_mask(std::int32_t a, std::int32_t b) noexcept { return -(a < b); }

//! Spelled without a comparison, which plain SSE2 does not have for 64-bit integers.
CHEVRON_INLINE constexpr std::int64_t less_mask(std::int64_t a, std::int64_t b) noexcept {
  auto const x = static_cast<std::uint64_t>(a);
  auto const y = static_cast<std::uint64_t>(b);
  auto const sign = ((x & ~y) | (~(x ^ y) & (x - y))) >> 63;  // of a - b, or of a where that would overflow
  return static_cast<std::int64_t>(std::uint64_t{0} - sign);
}

//! @brief `a` where the mask is all ones, `b` where it is 0.
//! Compilers turn `?:` into a jump again when one side is costly, and then don't vectorise.
template <std::signed_integral I>
CHEVRON_INLINE constexpr I select(I mask, I a, I b) noexcept {
  return b ^ ((a ^ b) & mask);
}

}  // namespace chevron::detail

#endif

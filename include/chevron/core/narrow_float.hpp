// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_NARROW_FLOAT_HPP
#define CHEVRON_CORE_NARROW_FLOAT_HPP

#include <cstdint>

#include <chevron/core/bits.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/narrow_float_ptx.hpp>

//! @file
//! Storage types for floats of 16 and 8 bits, and their conversions to and from float.
//!
//! A narrow float is stored and moved; arithmetic happens in float. Decoding is exact. Encoding rounds once,
//! to nearest, ties to even; every NaN becomes the format's positive NaN with all bits set; -0 and subnormals
//! survive. Results too large become infinity in half and bfloat16, and the largest finite value of that sign
//! in the two 8-bit formats (infinities too), as in the CUDA Toolkit's constructors of those types.
//!
//! GPUs have instructions for it. The code for all others has no branches and shifts by constants only, so
//! that loops over it vectorise even with SSE2. Nothing depends on the flush-to-zero or denormals-are-zero
//! modes: bits are compared and moved as integers, and the three floating-point instructions that remain
//! never see an operand or give a result for which those modes matter. The rounding mode must be to nearest,
//! which is the default everywhere.

namespace chevron {

namespace detail {

//! How a format packs sign, exponent and mantissa, and what becomes of values beyond its largest one.
struct NarrowFormat {
  int mantissa_bits;       //!< without the implicit one
  int exponent_bias;       //!< of the exponent 0 in the format's own encoding
  std::int32_t ceiling;    //!< magnitude bits that anything too large gets
  std::int32_t first_nan;  //!< smallest magnitude bits whose exponent must not be rebiased: inf and NaN
  int sign_bit;            //!< index of the sign bit
};

inline constexpr NarrowFormat half_format = {10, 15, 0x7c00, 0x7c00, 15};
inline constexpr NarrowFormat e4m3_format = {3, 7, 0x7e, 0x7f, 7};
inline constexpr NarrowFormat e5m2_format = {2, 15, 0x7b, 0x7c, 7};

//! The float 2^exponent.
CHEVRON_INLINE constexpr float power_of_two(int exponent) noexcept {
  return bit_cast<float>((exponent + 127) << 23);
}

inline constexpr std::int32_t float_infinity_bits = 0x7f800000;

//! The low bits of the result are the encoded value; F is one of the formats above.
template <NarrowFormat F>
CHEVRON_INLINE constexpr std::int32_t encode(float value) noexcept {
  constexpr int dropped_bits = 23 - F.mantissa_bits;
  constexpr int rebias = 127 - F.exponent_bias;
  constexpr std::int32_t smallest_normal = (rebias + 1) << 23;
  constexpr std::int32_t all_ones = (std::int32_t{1} << F.sign_bit) - 1;

  auto const bits = bit_cast<std::uint32_t>(value);
  auto const sign = static_cast<std::int32_t>((bits >> 31) << F.sign_bit);
  auto const magnitude = bits & 0x7fffffffu;
  auto const order = static_cast<std::int32_t>(magnitude);  // ordered like |value|, NaNs on top

  // A normal result: add just under half a unit, plus one if the kept part is odd, and cut.
  auto const odd = (magnitude >> dropped_bits) & 1u;
  auto const rounded = magnitude - (std::uint32_t{rebias} << 23) + ((1u << (dropped_bits - 1)) - 1u) + odd;
  auto const normal = static_cast<std::int32_t>(rounded) >> dropped_bits;

  // A subnormal result: the sum's unit in the last place is the format's smallest subnormal, so the adder
  // rounds. Where |value| is a float subnormal, the result is 0 whether or not the adder flushes it.
  constexpr float anchor = power_of_two(1 - F.exponent_bias - F.mantissa_bits + 23);
  auto const is_small = less_mask(order, smallest_normal);
  auto const sum = bit_cast<float>(order & is_small) + anchor;
  auto const subnormal = bit_cast<std::int32_t>(sum) - bit_cast<std::int32_t>(anchor);

  auto const finite = select(is_small, subnormal, normal);
  auto const bounded = select(less_mask(finite, F.ceiling), finite, F.ceiling) | sign;
  return select(less_mask(float_infinity_bits, order), all_ones, bounded);
}

//! The value that the low bits of `bits` encode; the bits above them must be 0.
template <NarrowFormat F>
CHEVRON_INLINE constexpr float decode(std::uint32_t bits) noexcept {
  constexpr int missing_bits = 23 - F.mantissa_bits;
  constexpr int rebias = 127 - F.exponent_bias;
  constexpr std::uint32_t magnitude_mask = (1u << F.sign_bit) - 1u;

  auto const sign = (bits >> F.sign_bit) << 31;
  auto const magnitude = static_cast<std::int32_t>(bits & magnitude_mask);

  auto const normal = (magnitude << missing_bits) + (rebias << 23);
  auto const special = (magnitude << missing_bits) | float_infinity_bits;
  // Exact: an integer below 2^mantissa_bits, and a product that is a normal float or 0.
  auto const subnormal = bit_cast<std::int32_t>(static_cast<float>(magnitude) *
                                                power_of_two(1 - F.exponent_bias - F.mantissa_bits));

  auto const finite = select(less_mask(magnitude, 1 << F.mantissa_bits), subnormal, normal);
  auto const wide = select(less_mask(magnitude, F.first_nan), finite, special);
  return bit_cast<float>(static_cast<std::uint32_t>(wide) | sign);
}

CHEVRON_INLINE constexpr std::int32_t encode_bfloat16(float value) noexcept {
  auto const bits = bit_cast<std::uint32_t>(value);
  auto const rounded = static_cast<std::int32_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  auto const order = static_cast<std::int32_t>(bits & 0x7fffffffu);
  return select(less_mask(float_infinity_bits, order), std::int32_t{0x7fff}, rounded);
}

}  // namespace detail

//! @brief IEEE 754 binary16: 5 exponent bits, 10 mantissa bits.
//! `==` compares the stored bits: -0 differs from +0, and a NaN equals itself.
struct half {
  std::uint16_t bits;

  //! The nearest half, ties to even; infinity beyond the largest finite one.
  CHEVRON_INLINE static constexpr half from_float(float value) noexcept {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) return {detail::ptx::encode_half(value)};
#endif
    return {static_cast<std::uint16_t>(detail::encode<detail::half_format>(value))};
  }
  CHEVRON_INLINE constexpr float to_float() const noexcept {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) return detail::ptx::decode_half(bits);
#endif
    return detail::decode<detail::half_format>(bits);
  }
  CHEVRON_HD friend constexpr bool operator==(half, half) = default;
};

//! @brief The upper half of a float: 8 exponent bits, 7 mantissa bits.
//! `==` compares the stored bits, as for chevron::half.
struct bfloat16 {
  std::uint16_t bits;

  //! The nearest bfloat16, ties to even; infinity beyond the largest finite one.
  CHEVRON_INLINE static constexpr bfloat16 from_float(float value) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (!__builtin_is_constant_evaluated()) return {detail::ptx::encode_bfloat16(value)};
#endif
    return {static_cast<std::uint16_t>(detail::encode_bfloat16(value))};
  }
  CHEVRON_INLINE constexpr float to_float() const noexcept {
    return detail::bit_cast<float>(std::uint32_t{bits} << 16);
  }
  CHEVRON_HD friend constexpr bool operator==(bfloat16, bfloat16) = default;
};

//! @brief OCP 8-bit float with 4 exponent and 3 mantissa bits: no infinity, one NaN per sign, at most 448.
//! `==` compares the stored bits, as for chevron::half.
struct float8_e4m3 {
  std::uint8_t bits;

  //! The nearest float8_e4m3, ties to even; +-448 beyond that.
  CHEVRON_INLINE static constexpr float8_e4m3 from_float(float value) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if (!__builtin_is_constant_evaluated()) return {detail::ptx::encode_e4m3(value)};
#endif
    return {static_cast<std::uint8_t>(detail::encode<detail::e4m3_format>(value))};
  }
  CHEVRON_INLINE constexpr float to_float() const noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if (!__builtin_is_constant_evaluated()) return detail::ptx::decode_e4m3(bits);
#endif
    return detail::decode<detail::e4m3_format>(bits);
  }
  CHEVRON_HD friend constexpr bool operator==(float8_e4m3, float8_e4m3) = default;
};

//! @brief OCP 8-bit float with 5 exponent and 2 mantissa bits. It has infinities, but from_float makes none.
//! `==` compares the stored bits, as for chevron::half.
struct float8_e5m2 {
  std::uint8_t bits;

  //! The nearest float8_e5m2, ties to even; +-57344 beyond that.
  CHEVRON_INLINE static constexpr float8_e5m2 from_float(float value) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if (!__builtin_is_constant_evaluated()) return {detail::ptx::encode_e5m2(value)};
#endif
    return {static_cast<std::uint8_t>(detail::encode<detail::e5m2_format>(value))};
  }
  //! Exact through half, of which this is the upper byte.
  CHEVRON_INLINE constexpr float to_float() const noexcept {
    return half{static_cast<std::uint16_t>(bits << 8)}.to_float();
  }
  CHEVRON_HD friend constexpr bool operator==(float8_e5m2, float8_e5m2) = default;
};

}  // namespace chevron

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_DATA_HPP
#define CHEVRON_TESTS_SUPPORT_DATA_HPP

//! @file
//! What ranks put into their buffers: values that depend on the rank, the position and a seed, so that an
//! element that went to the wrong place, or came from the wrong rank, has the wrong bits.

#include <chevron/core/element.hpp>

#include <support/noise.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace chevron::test {

//! The kinds of data.
enum class Data : unsigned char {
  tame,     //!< floats of both signs in [0.5, 2): sums round, products stay finite; odd integers: they wrap
  wild,     //!< any bits: NaNs, infinities, subnormals, extremes
  special,  //!< every other value one of the format's corners, with either sign
};

constexpr char const* name(Data data) {
  switch (data) {
    case Data::tame:
      return "tame";
    case Data::wild:
      return "wild";
    case Data::special:
      return "special";
  }
  return "unknown";
}

//! The unsigned integer that has the size of T.
template <class T>
using bits_t =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
constexpr bits_t<T> bits_of(T value) {
  return __builtin_bit_cast(bits_t<T>, value);
}
template <class T>
constexpr T from_bits(std::uint64_t bits) {
  return __builtin_bit_cast(T, static_cast<bits_t<T>>(bits));
}

//! How a float's bits are divided; 0 exponent bits for what is no float.
struct FloatLayout {
  int mantissa_bits = 0;
  int exponent_bits = 0;
};
template <class T>
inline constexpr FloatLayout float_layout = {};
template <>
inline constexpr FloatLayout float_layout<float> = {23, 8};
template <>
inline constexpr FloatLayout float_layout<double> = {52, 11};
template <>
inline constexpr FloatLayout float_layout<half> = {10, 5};
template <>
inline constexpr FloatLayout float_layout<bfloat16> = {7, 8};
template <>
inline constexpr FloatLayout float_layout<float8_e4m3> = {3, 4};
template <>
inline constexpr FloatLayout float_layout<float8_e5m2> = {2, 5};

template <class T>
inline constexpr bool is_float = float_layout<T>.exponent_bits != 0;

template <class T>
constexpr bool is_nan(T value) {
  if constexpr (is_float<T>) {
    auto const wide = ElementTraits<T>::widen(value);
    return wide != wide;
  } else {
    return false;
  }
}

namespace detail {

template <class T>
constexpr T tame_value(std::uint64_t random) {
  if constexpr (is_float<T>) {
    constexpr FloatLayout layout = float_layout<T>;
    constexpr std::uint64_t bias = (std::uint64_t{1} << (layout.exponent_bits - 1)) - 1;
    std::uint64_t const mantissa = random & ((std::uint64_t{1} << layout.mantissa_bits) - 1);
    std::uint64_t const exponent = bias - (random >> 62 & 1);
    std::uint64_t const sign = random >> 63;
    return from_bits<T>((sign << layout.exponent_bits | exponent) << layout.mantissa_bits | mantissa);
  } else {
    return from_bits<T>(random | 1);
  }
}

template <class T>
constexpr T special_value(std::uint64_t random) {
  if constexpr (is_float<T>) {
    constexpr FloatLayout layout = float_layout<T>;
    constexpr std::uint64_t smallest_normal = std::uint64_t{1} << layout.mantissa_bits;
    constexpr std::uint64_t magnitudes = (smallest_normal << layout.exponent_bits) - 1;
    constexpr std::uint64_t top = magnitudes - (smallest_normal - 1);  // infinity, but for e4m3
    constexpr std::uint64_t one = ((std::uint64_t{1} << (layout.exponent_bits - 1)) - 1)
                                  << layout.mantissa_bits;
    constexpr std::uint64_t corners[] = {
        0,       1,       smallest_normal - 1, smallest_normal, one, one + 1, one - 1, top,
        top - 1, top + 1, magnitudes - 1,      magnitudes,      0,   1,
    };
    std::uint64_t const sign = random >> 63;
    return from_bits<T>(sign << (layout.exponent_bits + layout.mantissa_bits) |
                        corners[random % std::size(corners)]);
  } else {
    constexpr T corners[] = {0,
                             1,
                             2,
                             static_cast<T>(-1),
                             std::numeric_limits<T>::max(),
                             std::numeric_limits<T>::min(),
                             static_cast<T>(std::numeric_limits<T>::max() / 2 + 1),
                             static_cast<T>(std::numeric_limits<T>::min() + 1)};
    return corners[random % std::size(corners)];
  }
}

}  // namespace detail

//! Element `index` of a rank's input.
template <class T>
constexpr T value_of(Data data, std::uint64_t seed, int rank, std::size_t index) {
  std::uint64_t const random = noise(seed, static_cast<std::uint64_t>(rank), index);
  switch (data) {
    case Data::wild:
      return from_bits<T>(random);
    case Data::special:
      if ((random >> 60 & 1) != 0) return detail::special_value<T>(random);
      break;
    case Data::tame:
      break;
  }
  return detail::tame_value<T>(random);
}

}  // namespace chevron::test

#endif

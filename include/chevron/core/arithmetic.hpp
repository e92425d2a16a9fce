// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_ARITHMETIC_HPP
#define CHEVRON_CORE_ARITHMETIC_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <chevron/core/bits.hpp>
#include <chevron/core/config.hpp>

//! @file
//! The arithmetic of accumulators, with the same bits wherever it runs.
//!
//! In device code the instruction is spelled out: then neither -use_fast_math (which flushes subnormals and
//! divides approximately) nor contraction to a fused multiply-add changes a result. On the host, addition,
//! multiplication and division follow the caller's floating-point modes; minimum and maximum don't.

namespace chevron::detail {

template <class T, class... Us>
concept one_of = (std::same_as<T, Us> || ...);

//! Several of these have the same size on every platform; all are accepted, so that `std::int64_t` and
//! `long long` both work wherever they differ.
template <class T>
concept StandardInteger = one_of<T, signed char, unsigned char, int, unsigned int, long, unsigned long,
                                 long long, unsigned long long>;

template <class T>
concept StandardFloat = one_of<T, float, double>;

template <class T>
concept StandardArithmetic = StandardInteger<T> || StandardFloat<T>;

template <class A>
concept Addable = requires(A a, A b) {
  { a + b } -> std::convertible_to<A>;
};
template <class A>
concept Multipliable = requires(A a, A b) {
  { a* b } -> std::convertible_to<A>;
};
template <class A>
concept DivisibleByCount = requires(A a, int count) {
  { a / count } -> std::convertible_to<A>;
};

//! Unsigned, at least as wide as T, and not promoted to a signed type: sums and products wrap without
//! overflow.
template <StandardInteger T>
using Wrapping = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;

// One PTX instruction each; constant evaluation can't see it and takes the operator.
#if defined(__CUDA_ARCH__)

CHEVRON_INLINE constexpr float add(float a, float b) noexcept {
  if (__builtin_is_constant_evaluated()) return a + b;
  float sum{};
  asm("add.rn.f32 %0, %1, %2;" : "=f"(sum) : "f"(a), "f"(b));
  return sum;
}
CHEVRON_INLINE constexpr double add(double a, double b) noexcept {
  if (__builtin_is_constant_evaluated()) return a + b;
  double sum{};
  asm("add.rn.f64 %0, %1, %2;" : "=d"(sum) : "d"(a), "d"(b));
  return sum;
}
CHEVRON_INLINE constexpr float multiply(float a, float b) noexcept {
  if (__builtin_is_constant_evaluated()) return a * b;
  float product{};
  asm("mul.rn.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}
CHEVRON_INLINE constexpr double multiply(double a, double b) noexcept {
  if (__builtin_is_constant_evaluated()) return a * b;
  double product{};
  asm("mul.rn.f64 %0, %1, %2;" : "=d"(product) : "d"(a), "d"(b));
  return product;
}
//! Division by a power of two is one exact multiplication, also where the quotient is subnormal.
CHEVRON_INLINE constexpr float divide(float value, int count) noexcept {
  auto const divisor = static_cast<float>(count);
  if (__builtin_is_constant_evaluated()) return value / divisor;
  if ((count & (count - 1)) == 0) {
    return multiply(value, bit_cast<float>((254 << 23) - bit_cast<std::int32_t>(divisor)));
  }
  float quotient{};
  asm("div.rn.f32 %0, %1, %2;" : "=f"(quotient) : "f"(value), "f"(divisor));
  return quotient;
}

#else

template <StandardFloat T>
CHEVRON_INLINE constexpr T add(T a, T b) noexcept {
  return a + b;
}
template <StandardFloat T>
CHEVRON_INLINE constexpr T multiply(T a, T b) noexcept {
  return a * b;
}
CHEVRON_INLINE constexpr float divide(float value, int count) noexcept {
  return value / static_cast<float>(count);
}

#endif

template <StandardInteger T>
CHEVRON_INLINE constexpr T add(T a, T b) noexcept {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
}
template <StandardInteger T>
CHEVRON_INLINE constexpr T multiply(T a, T b) noexcept {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
}

template <class A>
requires(!StandardArithmetic<A> && Addable<A>) CHEVRON_INLINE constexpr A add(A a, A b) noexcept {
  return a + b;
}
template <class A>
requires(!StandardArithmetic<A> && Multipliable<A>) CHEVRON_INLINE constexpr A multiply(A a, A b) noexcept {
  return a * b;
}

//! Integers truncate toward zero. `count` is at least 1.
template <DivisibleByCount A>
CHEVRON_INLINE constexpr A divide_by_count(A value, int count) noexcept {
  if constexpr (std::same_as<A, float>) {
    return divide(value, count);
  } else if constexpr (StandardInteger<A> && std::is_unsigned_v<A>) {
    return static_cast<A>(value / static_cast<Wrapping<A>>(count));
  } else {
    return static_cast<A>(value / count);
  }
}

//! The bits of a float, and what their order as signed integers needs.
template <StandardFloat T>
struct FloatBits {
  using Signed = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  using Unsigned = std::make_unsigned_t<Signed>;
  static constexpr Signed magnitude = static_cast<Signed>(~Unsigned{0} >> 1);
  static constexpr Signed infinity = static_cast<Signed>(sizeof(T) == 4 ? 0x7f800000 : 0x7ff0000000000000);

  //! The bits as a signed integer in the order of the floats, with -0 below +0.
  CHEVRON_INLINE static constexpr Signed ordered(Signed bits) noexcept {
    auto const sign = static_cast<Unsigned>(bits) >> (8 * sizeof(T) - 1);
    return bits ^ (static_cast<Signed>(Unsigned{0} - sign) & magnitude);
  }
  //! `extreme`, or the NaN if a or b is one.
  CHEVRON_INLINE static constexpr T unless_nan(Signed extreme, Signed a, Signed b) noexcept {
    auto const unless_b = select(less_mask(infinity, b & magnitude), b, extreme);
    return bit_cast<T>(select(less_mask(infinity, a & magnitude), a, unless_b));
  }
};

//! IEEE 754-2019 minimum and maximum, on integers: subnormals count in every floating-point mode.
template <StandardFloat T>
CHEVRON_INLINE constexpr T minimum(T a, T b) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::same_as<T, float>) {
    if (!__builtin_is_constant_evaluated()) {
      T extreme{};
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(extreme) : "f"(a), "f"(b));
      return extreme;
    }
  }
#endif
  using Bits = FloatBits<T>;
  auto const x = bit_cast<typename Bits::Signed>(a);
  auto const y = bit_cast<typename Bits::Signed>(b);
  return Bits::unless_nan(select(less_mask(Bits::ordered(x), Bits::ordered(y)), x, y), x, y);
}
template <StandardFloat T>
CHEVRON_INLINE constexpr T maximum(T a, T b) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  if constexpr (std::same_as<T, float>) {
    if (!__builtin_is_constant_evaluated()) {
      T extreme{};
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(extreme) : "f"(a), "f"(b));
      return extreme;
    }
  }
#endif
  using Bits = FloatBits<T>;
  auto const x = bit_cast<typename Bits::Signed>(a);
  auto const y = bit_cast<typename Bits::Signed>(b);
  return Bits::unless_nan(select(less_mask(Bits::ordered(y), Bits::ordered(x)), x, y), x, y);
}

template <StandardInteger T>
CHEVRON_INLINE constexpr T minimum(T a, T b) noexcept {
  return b < a ? b : a;
}
template <StandardInteger T>
CHEVRON_INLINE constexpr T maximum(T a, T b) noexcept {
  return a < b ? b : a;
}

}  // namespace chevron::detail

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_ELEMENT_HPP
#define CHEVRON_CORE_ELEMENT_HPP

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <chevron/core/arithmetic.hpp>
#include <chevron/core/bits.hpp>
#include <chevron/core/config.hpp>
#include <chevron/core/narrow_float.hpp>

//! @file
//! What a buffer may hold, and in which type it is accumulated.
//!
//! <chevron/core/element_cuda.hpp> adds the CUDA Toolkit's own narrow floats.

namespace chevron {

//! @brief The kind of an element, the same number in every build: ranks compare it when they meet.
enum class ElementKind : std::uint8_t {
  float32 = 0,
  float64 = 1,
  float16 = 2,
  bfloat16 = 3,
  float8_e4m3 = 4,
  float8_e5m2 = 5,
  int8 = 6,
  uint8 = 7,
  int32 = 8,
  uint32 = 9,
  int64 = 10,
  uint64 = 11,
  user = 12,  //!< a type for which the user specialised ElementTraits
};

//! @brief The enumerator's name, for tables and messages.
CHEVRON_HD constexpr char const* name(ElementKind kind) noexcept {
  switch (kind) {
    case ElementKind::float32:
      return "float32";
    case ElementKind::float64:
      return "float64";
    case ElementKind::float16:
      return "float16";
    case ElementKind::bfloat16:
      return "bfloat16";
    case ElementKind::float8_e4m3:
      return "float8_e4m3";
    case ElementKind::float8_e5m2:
      return "float8_e5m2";
    case ElementKind::int8:
      return "int8";
    case ElementKind::uint8:
      return "uint8";
    case ElementKind::int32:
      return "int32";
    case ElementKind::uint32:
      return "uint32";
    case ElementKind::int64:
      return "int64";
    case ElementKind::uint64:
      return "uint64";
    case ElementKind::user:
      return "user";
  }
  return "unknown";
}

//! @brief What the library has to know about an element type.
//! @tparam T  float, double, half, bfloat16, float8_e4m3, float8_e5m2, or an integer of 8 (signed or
//! unsigned),
//!            32 or 64 bits under any of its names; bool, character types other than signed and unsigned
//!            char, and 16-bit integers are no elements.
//!
//! A user may specialise it for a trivially copyable type of 1, 2, 4 or 8 bytes, with
//!  - `static constexpr ElementKind kind = ElementKind::user;`
//!  - `using Accumulator`, trivially copyable, in which ranks' values are combined,
//!  - `static Accumulator widen(T)` and `static T narrow(Accumulator)`, marked CHEVRON_HD if kernels use
//!  them.
//! Sum, Prod and Avg then work where `+`, `*` and `/ int` do for the Accumulator; other operations are the
//! user's.
template <class T>
struct ElementTraits;

namespace detail {

template <StandardInteger T>
consteval ElementKind integer_kind() {
  static_assert(sizeof(T) == 1 || sizeof(T) == 4 || sizeof(T) == 8);
  constexpr bool is_signed = std::is_signed_v<T>;
  if constexpr (sizeof(T) == 1) return is_signed ? ElementKind::int8 : ElementKind::uint8;
  if constexpr (sizeof(T) == 4) return is_signed ? ElementKind::int32 : ElementKind::uint32;
  return is_signed ? ElementKind::int64 : ElementKind::uint64;
}

//! An element that is accumulated in its own type.
template <class T, ElementKind Kind>
struct OwnAccumulator {
  using Accumulator = T;
  static constexpr ElementKind kind = Kind;
  CHEVRON_INLINE static constexpr T widen(T value) noexcept { return value; }
  CHEVRON_INLINE static constexpr T narrow(T value) noexcept { return value; }
};

//! An element that has the bits of the narrow float Stored and is accumulated in float.
template <class T, class Stored, ElementKind Kind>
struct FloatAccumulator {
  using Accumulator = float;
  static constexpr ElementKind kind = Kind;
  CHEVRON_INLINE static constexpr float widen(T value) noexcept { return bit_cast<Stored>(value).to_float(); }
  CHEVRON_INLINE static constexpr T narrow(float value) noexcept {
    return bit_cast<T>(Stored::from_float(value));
  }
};

}  // namespace detail

template <>
struct ElementTraits<float> : detail::OwnAccumulator<float, ElementKind::float32> {};
template <>
struct ElementTraits<double> : detail::OwnAccumulator<double, ElementKind::float64> {};
template <detail::StandardInteger T>
struct ElementTraits<T> : detail::OwnAccumulator<T, detail::integer_kind<T>()> {};
template <>
struct ElementTraits<half> : detail::FloatAccumulator<half, half, ElementKind::float16> {};
template <>
struct ElementTraits<bfloat16> : detail::FloatAccumulator<bfloat16, bfloat16, ElementKind::bfloat16> {};
template <>
struct ElementTraits<float8_e4m3>
    : detail::FloatAccumulator<float8_e4m3, float8_e4m3, ElementKind::float8_e4m3> {};
template <>
struct ElementTraits<float8_e5m2>
    : detail::FloatAccumulator<float8_e5m2, float8_e5m2, ElementKind::float8_e5m2> {};

namespace detail {

template <class T>
concept TriviallyCopyable = std::is_trivially_copyable_v<T> && std::same_as<T, std::remove_cv_t<T>>;

//! A whole number of elements fills a word that is read and written indivisibly.
template <class T>
concept FillsWord = sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;

template <class T>
concept HasKind = std::same_as<decltype(ElementTraits<T>::kind), ElementKind const>;

template <class T>
concept HasAccumulator = TriviallyCopyable<typename ElementTraits<T>::Accumulator>;

template <class T>
concept WidensToAccumulator = requires(T value) {
  { ElementTraits<T>::widen(value) } -> std::same_as<typename ElementTraits<T>::Accumulator>;
};

template <class T>
concept NarrowsFromAccumulator = requires(typename ElementTraits<T>::Accumulator value) {
  { ElementTraits<T>::narrow(value) } -> std::same_as<T>;
};

}  // namespace detail

//! @brief A type that collective operations can move and reduce; see ElementTraits for which those are.
template <class T>
concept Element = detail::TriviallyCopyable<T> && detail::FillsWord<T> && detail::HasKind<T> &&
    detail::HasAccumulator<T> && detail::WidensToAccumulator<T> && detail::NarrowsFromAccumulator<T>;

//! @brief The type in which ranks' values of T are combined.
template <Element T>
using accumulator_t = typename ElementTraits<T>::Accumulator;

//! @brief The kind of T.
template <Element T>
inline constexpr ElementKind element_kind = ElementTraits<T>::kind;

}  // namespace chevron

#endif

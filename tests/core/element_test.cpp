// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include <chevron/core/element.hpp>
#include <chevron/core/element_cuda.hpp>

#include <support/catch.hpp>

namespace {

using chevron::accumulator_t;
using chevron::bfloat16;
using chevron::Element;
using chevron::element_kind;
using chevron::ElementKind;
using chevron::ElementTraits;
using chevron::float8_e4m3;
using chevron::float8_e5m2;

template <class T, class A, ElementKind Kind>
constexpr bool element_is = Element<T>&& std::same_as<accumulator_t<T>, A>&& element_kind<T> == Kind;

// -- the elements that the library has ----------------------------------------------------------------

static_assert(element_is<float, float, ElementKind::float32>);
static_assert(element_is<double, double, ElementKind::float64>);
static_assert(element_is<chevron::half, float, ElementKind::float16>);
static_assert(element_is<bfloat16, float, ElementKind::bfloat16>);
static_assert(element_is<float8_e4m3, float, ElementKind::float8_e4m3>);
static_assert(element_is<float8_e5m2, float, ElementKind::float8_e5m2>);
static_assert(element_is<std::int8_t, std::int8_t, ElementKind::int8>);
static_assert(element_is<std::uint8_t, std::uint8_t, ElementKind::uint8>);
static_assert(element_is<std::int32_t, std::int32_t, ElementKind::int32>);
static_assert(element_is<std::uint32_t, std::uint32_t, ElementKind::uint32>);
static_assert(element_is<std::int64_t, std::int64_t, ElementKind::int64>);
static_assert(element_is<std::uint64_t, std::uint64_t, ElementKind::uint64>);
// Whichever of these std::int64_t is, the others are elements too.
static_assert(element_is<long long, long long, ElementKind::int64>);
static_assert(element_is<unsigned long long, unsigned long long, ElementKind::uint64>);
static_assert(element_is < long, long, sizeof(long) == 8 ? ElementKind::int64 : ElementKind::int32 >);
static_assert(element_is < unsigned long, unsigned long,
              sizeof(long) == 8 ? ElementKind::uint64 : ElementKind::uint32 >);

// -- and near misses ----------------------------------------------------------------------------------

enum class Enumeration : int {};
static_assert(!Element<bool>);
static_assert(!Element<char> && !Element<wchar_t> && !Element<char8_t> && !Element<char16_t> &&
              !Element<char32_t>);
static_assert(!Element<short> && !Element<unsigned short>);
static_assert(!Element<long double>);
static_assert(!Element<std::byte> && !Element<Enumeration>);
static_assert(!Element<float const> && !Element<float&> && !Element<float*> && !Element<float[2]>);
static_assert(!Element<void>);

// -- a user's element ---------------------------------------------------------------------------------

struct Complex {
  float re, im;
};
struct WideComplex {
  double re, im;
};
struct NoKind {
  float value;
};
struct WrongWiden {
  float value;
};
struct WrongNarrow {
  float value;
};
struct ThreeBytes {
  char value[3];
};
struct SixteenBytes {
  double value[2];
};
struct NotTrivial {
  NotTrivial(NotTrivial const&) {}
  float value;
};
struct NotTrivialAccumulator {
  float value;
};

}  // namespace

template <>
struct chevron::ElementTraits<Complex> {
  static constexpr ElementKind kind = ElementKind::user;
  using Accumulator = WideComplex;
  static constexpr WideComplex widen(Complex value) { return {value.re, value.im}; }
  static constexpr Complex narrow(WideComplex value) {
    return {static_cast<float>(value.re), static_cast<float>(value.im)};
  }
};

namespace {

//! Complete traits, which each near miss below spoils in one place.
template <class T, class A = float>
struct PlainTraits {
  static constexpr ElementKind kind = ElementKind::user;
  using Accumulator = A;
  static A widen(T);
  static T narrow(A);
};

}  // namespace

template <>
struct chevron::ElementTraits<NoKind> {
  using Accumulator = float;
  static float widen(NoKind);
  static NoKind narrow(float);
};
template <>
struct chevron::ElementTraits<WrongWiden> : PlainTraits<WrongWiden> {
  static double widen(WrongWiden);
};
template <>
struct chevron::ElementTraits<WrongNarrow> : PlainTraits<WrongNarrow> {
  static float narrow(float);
};
template <>
struct chevron::ElementTraits<ThreeBytes> : PlainTraits<ThreeBytes> {};
template <>
struct chevron::ElementTraits<SixteenBytes> : PlainTraits<SixteenBytes> {};
template <>
struct chevron::ElementTraits<NotTrivial> : PlainTraits<NotTrivial> {};
template <>
struct chevron::ElementTraits<NotTrivialAccumulator> : PlainTraits<NotTrivialAccumulator, NotTrivial> {};

namespace {

static_assert(element_is<Complex, WideComplex, ElementKind::user>);
static_assert(!Element<NoKind>);
static_assert(!Element<WrongWiden>);
static_assert(!Element<WrongNarrow>);
static_assert(!Element<ThreeBytes>);
static_assert(!Element<SixteenBytes>);
static_assert(!Element<NotTrivial>);
static_assert(!Element<NotTrivialAccumulator>);

// Each is refused by the concept that names what is missing.
static_assert(!chevron::detail::HasKind<NoKind> && chevron::detail::WidensToAccumulator<NoKind>);
static_assert(!chevron::detail::WidensToAccumulator<WrongWiden> && chevron::detail::HasKind<WrongWiden>);
static_assert(!chevron::detail::NarrowsFromAccumulator<WrongNarrow> &&
              chevron::detail::WidensToAccumulator<WrongNarrow>);
static_assert(!chevron::detail::FillsWord<ThreeBytes> && !chevron::detail::FillsWord<SixteenBytes>);
static_assert(!chevron::detail::TriviallyCopyable<NotTrivial>);
static_assert(!chevron::detail::HasAccumulator<NotTrivialAccumulator>);

static_assert(ElementTraits<float>::widen(-0.5f) == -0.5f &&
              ElementTraits<std::int8_t>::narrow(-128) == -128);
static_assert(ElementTraits<chevron::half>::widen(chevron::half{0x3c00}) == 1.0f);
static_assert(ElementTraits<float8_e5m2>::narrow(1.0f) == float8_e5m2{0x3c});

}  // namespace

TEST_CASE("every kind has its own name", "[element]") {
  std::set<std::string> names;
  int const kinds = static_cast<int>(ElementKind::user) + 1;
  for (int kind = 0; kind < kinds; ++kind) names.insert(chevron::name(static_cast<ElementKind>(kind)));
  CHECK(names.size() == static_cast<std::size_t>(kinds));
  CHECK(names.count("unknown") == 0);
  CHECK(chevron::name(ElementKind::bfloat16) == std::string("bfloat16"));
}

TEST_CASE("the numbers of kinds stay what they are", "[element]") {
  // Ranks of different builds compare them.
  CHECK(static_cast<int>(ElementKind::float32) == 0);
  CHECK(static_cast<int>(ElementKind::float64) == 1);
  CHECK(static_cast<int>(ElementKind::float16) == 2);
  CHECK(static_cast<int>(ElementKind::bfloat16) == 3);
  CHECK(static_cast<int>(ElementKind::float8_e4m3) == 4);
  CHECK(static_cast<int>(ElementKind::float8_e5m2) == 5);
  CHECK(static_cast<int>(ElementKind::int8) == 6);
  CHECK(static_cast<int>(ElementKind::uint8) == 7);
  CHECK(static_cast<int>(ElementKind::int32) == 8);
  CHECK(static_cast<int>(ElementKind::uint32) == 9);
  CHECK(static_cast<int>(ElementKind::int64) == 10);
  CHECK(static_cast<int>(ElementKind::uint64) == 11);
  CHECK(static_cast<int>(ElementKind::user) == 12);
}

TEST_CASE("a user's element is accumulated in the type that its traits name", "[element]") {
  auto const wide = ElementTraits<Complex>::widen({1.5f, -2.0f});
  CHECK(wide.im == -2.0);
  CHECK(ElementTraits<Complex>::narrow(wide).re == 1.5f);
}

#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>) && __has_include(<cuda_fp8.h>)

static_assert(element_is<__half, float, ElementKind::float16>);
static_assert(element_is<__nv_bfloat16, float, ElementKind::bfloat16>);
static_assert(element_is<__nv_fp8_e4m3, float, ElementKind::float8_e4m3>);
static_assert(element_is<__nv_fp8_e5m2, float, ElementKind::float8_e5m2>);

TEMPLATE_TEST_CASE("the Toolkit's types convert as chevron's own", "[element][toolkit]",
                   (std::pair<__half, chevron::half>), (std::pair<__nv_bfloat16, bfloat16>),
                   (std::pair<__nv_fp8_e4m3, float8_e4m3>), (std::pair<__nv_fp8_e5m2, float8_e5m2>)) {
  using Theirs = typename TestType::first_type;
  using Ours = typename TestType::second_type;
  using chevron::detail::bit_cast;
  unsigned wrong = 0;
  for (unsigned bits = 0; bits < (1u << (8 * sizeof(Ours))); ++bits) {
    Ours const ours = {static_cast<decltype(Ours::bits)>(bits)};
    auto const theirs = bit_cast<Theirs>(ours);
    float const wide = ElementTraits<Theirs>::widen(theirs);
    wrong += bit_cast<std::uint32_t>(wide) != bit_cast<std::uint32_t>(ours.to_float());
    wrong += !(bit_cast<Ours>(ElementTraits<Theirs>::narrow(wide * 1.01f)) == Ours::from_float(wide * 1.01f));
  }
  CHECK(wrong == 0);
}

#endif

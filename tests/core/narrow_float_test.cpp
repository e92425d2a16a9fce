// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <chevron/core/narrow_float.hpp>

#include <support/catch.hpp>
#include <support/float_modes.hpp>
#include <support/seed.hpp>

#if __has_include(<cuda_fp16.h>) && __has_include(<cuda_bf16.h>) && __has_include(<cuda_fp8.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define HAVE_TOOLKIT 1
#else
#define HAVE_TOOLKIT 0
#endif

namespace {

using chevron::bfloat16;
using chevron::float8_e4m3;
using chevron::float8_e5m2;
using chevron::detail::bit_cast;

std::uint32_t bits_of(float value) { return bit_cast<std::uint32_t>(value); }
float float_of(std::uint32_t bits) { return bit_cast<float>(bits); }

// -- a slow reference, written from the formats' definitions ----------------------------------------------

struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;  // the largest exponent means infinity and NaN; else only all ones is NaN
  bool saturates;
};

template <class T>
constexpr Format format = {};
template <>
constexpr Format format<chevron::half> = {5, 10, true, false};
template <>
constexpr Format format<bfloat16> = {8, 7, true, false};
template <>
constexpr Format format<float8_e4m3> = {4, 3, false, true};
template <>
constexpr Format format<float8_e5m2> = {5, 2, true, true};

long double reference_decode(Format f, unsigned bits) {
  unsigned const mantissa = bits & ((1u << f.mantissa_bits) - 1);
  int const largest_exponent = (1 << f.exponent_bits) - 1;
  int const exponent = static_cast<int>(bits >> f.mantissa_bits) & largest_exponent;
  bool const negative = ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1) != 0;
  int const bias = (1 << (f.exponent_bits - 1)) - 1;
  auto magnitude = exponent == 0 ? std::ldexp(static_cast<long double>(mantissa), 1 - bias - f.mantissa_bits)
                                 : std::ldexp(static_cast<long double>(mantissa + (1u << f.mantissa_bits)),
                                              exponent - bias - f.mantissa_bits);
  if (f.has_infinity && exponent == largest_exponent) {
    magnitude = mantissa == 0 ? std::numeric_limits<long double>::infinity()
                              : std::numeric_limits<long double>::quiet_NaN();
  } else if (!f.has_infinity && exponent == largest_exponent && mantissa == (1u << f.mantissa_bits) - 1) {
    magnitude = std::numeric_limits<long double>::quiet_NaN();
  }
  return negative ? -magnitude : magnitude;
}

//! All finite values from +0 up, followed by the one that would come next if the exponent went on. The index
//! is the encoding.
template <class T>
std::vector<long double> const& magnitudes() {
  static auto const values = [] {
    std::vector<long double> all;
    for (unsigned bits = 0; std::isfinite(reference_decode(format<T>, bits)); ++bits) {
      all.push_back(reference_decode(format<T>, bits));
    }
    all.push_back(2 * all[all.size() - 1] - all[all.size() - 2]);
    return all;
  }();
  return values;
}

template <class T>
unsigned reference_encode(float value) {
  auto const f = format<T>;
  auto const all_ones = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (std::isnan(value)) return all_ones;
  auto const& all = magnitudes<T>();
  auto const sign = std::signbit(value) ? all_ones + 1 : 0u;
  auto const magnitude = std::fabs(static_cast<long double>(value));

  auto const above = std::upper_bound(all.begin(), all.end(), magnitude);
  auto index = static_cast<unsigned>(above - all.begin()) - 1;
  if (above != all.end()) {
    auto const to_lower = magnitude - all[index];
    auto const to_upper = all[index + 1] - magnitude;
    if (to_upper < to_lower || (to_upper == to_lower && index % 2 == 1)) ++index;
  }
  auto const largest_finite = static_cast<unsigned>(all.size()) - 2;
  auto const too_large = f.saturates ? largest_finite : largest_finite + 1;  // what follows it is infinity
  return sign | std::min(index, too_large);
}

// -- the Toolkit's conversions ------------------------------------------------------------------------

#if HAVE_TOOLKIT
template <class T>
unsigned toolkit_encode(float value) {
  if constexpr (std::is_same_v<T, chevron::half>) {
    return static_cast<__half_raw>(__float2half_rn(value)).x;
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
  } else if constexpr (std::is_same_v<T, float8_e4m3>) {
    return __nv_fp8_e4m3(value).__x;
  } else {
    return __nv_fp8_e5m2(value).__x;
  }
}

template <class T>
float toolkit_decode(unsigned bits) {
  if constexpr (std::is_same_v<T, chevron::half>) {
    __half_raw raw;
    raw.x = static_cast<unsigned short>(bits);
    return __half2float(__half(raw));
  } else if constexpr (std::is_same_v<T, bfloat16>) {
    __nv_bfloat16_raw raw;
    raw.x = static_cast<unsigned short>(bits);
    return __bfloat162float(__nv_bfloat16(raw));
  } else if constexpr (std::is_same_v<T, float8_e4m3>) {
    __nv_fp8_e4m3 value;
    value.__x = static_cast<__nv_fp8_storage_t>(bits);
    return static_cast<float>(value);
  } else {
    __nv_fp8_e5m2 value;
    value.__x = static_cast<__nv_fp8_storage_t>(bits);
    return static_cast<float>(value);
  }
}
#endif

// -- inputs -------------------------------------------------------------------------------------------

template <class T>
constexpr unsigned pattern_count = 1u << (8 * sizeof(T));

template <class T>
T from_bits(unsigned bits) {
  return {static_cast<decltype(T::bits)>(bits)};
}

//! Every finite value of T, the point half way to its neighbour, the floats on both sides of each; with both
//! signs.
template <class T>
std::vector<float> borders() {
  std::vector<float> inputs;
  bool all_exact = true;
  auto const add_with_neighbours = [&](long double magnitude) {
    auto const value = static_cast<float>(magnitude);
    all_exact = all_exact && static_cast<long double>(value) == magnitude;
    auto const bits = bits_of(value);
    for (auto const near : {bits - 1, bits, bits + 1}) {
      if (near == ~0u) continue;  // nothing is below +0
      inputs.push_back(float_of(near));
      inputs.push_back(float_of(near | 0x80000000u));
    }
  };
  auto const& all = magnitudes<T>();
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    add_with_neighbours(all[i]);
    add_with_neighbours((all[i] + all[i + 1]) / 2);
  }
  if (all.back() <= static_cast<long double>(std::numeric_limits<float>::max()))
    add_with_neighbours(all.back());
  REQUIRE(all_exact);
  return inputs;
}

//! The edges of float itself, and NaNs of many payloads.
std::vector<float> float_edges() {
  std::vector<float> inputs;
  for (auto const bits :
       {0x00000000u, 0x00000001u, 0x00000002u, 0x00400000u, 0x007fffffu, 0x00800000u, 0x00800001u,
        0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x477fffffu, 0x7f7fffffu, 0x7f7fffffu, 0x7f800000u,
        0x7f800001u, 0x7f800002u, 0x7f801000u, 0x7f802000u, 0x7f808000u, 0x7f810000u, 0x7f900000u,
        0x7fa00000u, 0x7fbfffffu, 0x7fc00000u, 0x7fc00001u, 0x7fe00000u, 0x7fff0000u, 0x7fffffffu}) {
    inputs.push_back(float_of(bits));
    inputs.push_back(float_of(bits | 0x80000000u));
  }
  return inputs;
}

//! Any bits, and bits whose exponent lies in or near the range of T: those are rare among the first.
template <class T>
std::vector<float> random_floats(std::size_t count) {
  std::mt19937 random(chevron::test::seed());
  int const bias = (1 << (format<T>.exponent_bits - 1)) - 1;
  int const lowest = std::max(0, 127 - bias - format<T>.mantissa_bits - 3);
  std::uniform_int_distribution<std::uint32_t> near(
      static_cast<std::uint32_t>(lowest), static_cast<std::uint32_t>(std::min(255, 127 + bias + 3)));
  std::vector<float> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    auto const bits = static_cast<std::uint32_t>(random());
    inputs.push_back(float_of(bits));
    inputs.push_back(float_of((bits & 0x807fffffu) | (near(random) << 23)));
  }
  return inputs;
}

std::string hex(std::uint32_t bits) {
  std::string text = "0x";
  for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[(bits >> shift) & 15];
  return text;
}

//! Checks what every encoder must give; one assertion in all, as there are many inputs.
template <class T, class Reference>
void check_encode(std::vector<float> const& inputs, Reference const& reference) {
  std::size_t wrong = 0;
  for (float const input : inputs) {
    unsigned const got = T::from_float(input).bits;
    unsigned const wanted = reference(input);
    if (got != wanted && ++wrong <= 5) {
      UNSCOPED_INFO(hex(bits_of(input)) << ": got " << hex(got) << ", wanted " << hex(wanted));
    }
  }
  INFO("CHEVRON_TEST_SEED=" << chevron::test::seed());
  CHECK(wrong == 0);
}

template <class T>
void check_encode(std::vector<float> const& inputs) {
  check_encode<T>(inputs, reference_encode<T>);
#if HAVE_TOOLKIT
  check_encode<T>(inputs, toolkit_encode<T>);
#endif
}

template <class T, class Reference>
void check_decode(Reference const& reference) {
  unsigned wrong = 0;
  for (unsigned bits = 0; bits < pattern_count<T>; ++bits) {
    float const got = from_bits<T>(bits).to_float();
    float const wanted = reference(bits);
    bool const same = std::isnan(wanted) ? std::isnan(got) : bits_of(got) == bits_of(wanted);
    if (!same && ++wrong <= 5) UNSCOPED_INFO(hex(bits) << ": got " << got << ", wanted " << wanted);
  }
  CHECK(wrong == 0);
}

#define NARROW_FLOATS chevron::half, bfloat16, float8_e4m3, float8_e5m2

}  // namespace

TEMPLATE_TEST_CASE("narrow floats are plain data", "[narrow_float]", NARROW_FLOATS) {
  STATIC_REQUIRE(std::is_trivially_copyable_v<TestType>);
  STATIC_REQUIRE(std::is_trivially_default_constructible_v<TestType>);
  STATIC_REQUIRE(std::is_aggregate_v<TestType>);
  STATIC_REQUIRE(sizeof(TestType) ==
                 (1 + format<TestType>.exponent_bits + format<TestType>.mantissa_bits) / 8);
  STATIC_REQUIRE(alignof(TestType) == sizeof(TestType));
}

TEMPLATE_TEST_CASE("every pattern decodes to its value", "[narrow_float]", NARROW_FLOATS) {
  check_decode<TestType>(
      [](unsigned bits) { return static_cast<float>(reference_decode(format<TestType>, bits)); });
#if HAVE_TOOLKIT
  check_decode<TestType>(toolkit_decode<TestType>);
#endif
}

TEMPLATE_TEST_CASE("a decoded value encodes to its pattern", "[narrow_float]", NARROW_FLOATS) {
  unsigned wrong = 0;
  for (unsigned bits = 0; bits < pattern_count<TestType>; ++bits) {
    auto const narrow = from_bits<TestType>(bits);
    auto const again = TestType::from_float(narrow.to_float());
    if (std::isnan(narrow.to_float())) {
      wrong += !std::isnan(again.to_float());
    } else if (std::isinf(narrow.to_float()) && format<TestType>.saturates) {
      wrong += again.bits != bits - 1;  // the largest finite value
    } else {
      wrong += !(again == narrow);
    }
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("encoding rounds to nearest even at every border", "[narrow_float]", NARROW_FLOATS) {
  auto const inputs = borders<TestType>();
  CHECK(inputs.size() > 6 * (pattern_count<TestType> / 2 - pattern_count<TestType> / 8));
  check_encode<TestType>(inputs);
}

TEMPLATE_TEST_CASE("encoding the edges of float", "[narrow_float]", NARROW_FLOATS) {
  check_encode<TestType>(float_edges());
}

TEMPLATE_TEST_CASE("encoding random bits", "[narrow_float]", NARROW_FLOATS) {
  check_encode<TestType>(random_floats<TestType>(200'000));
}

TEMPLATE_TEST_CASE("conversions ignore the modes for subnormals", "[narrow_float]", NARROW_FLOATS) {
  auto inputs = borders<TestType>();
  for (float const edge : float_edges()) inputs.push_back(edge);
  std::vector<TestType> encoded(inputs.size());
  std::vector<std::uint32_t> decoded(pattern_count<TestType>);
  {
    chevron::test::SubnormalsFlushed const while_here;
    if (chevron::test::SubnormalsFlushed::works) {
      float volatile subnormal = std::numeric_limits<float>::denorm_min();
      CHECK(subnormal * 2.0f == 0.0f);  // the modes are on
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) encoded[i] = TestType::from_float(inputs[i]);
    for (unsigned bits = 0; bits < pattern_count<TestType>; ++bits) {
      decoded[bits] = bits_of(from_bits<TestType>(bits).to_float());
    }
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    wrong += encoded[i].bits != reference_encode<TestType>(inputs[i]);
  }
  CHECK(wrong == 0);
  check_decode<TestType>([&](unsigned bits) { return float_of(decoded[bits]); });
}

TEST_CASE("equality compares bits", "[narrow_float]") {
  CHECK(chevron::half{0x7e00} == chevron::half{0x7e00});
  CHECK_FALSE(chevron::half{0x0000} == chevron::half{0x8000});
  CHECK(float8_e4m3{0x7f} != float8_e4m3{0xff});
}

// -- constant expressions: the same code at compile time ----------------------------------------------

namespace {

template <class T>
consteval unsigned encoded(float value) {
  return T::from_float(value).bits;
}
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

static_assert(encoded<chevron::half>(1.0f) == 0x3c00);
static_assert(encoded<chevron::half>(-0.0f) == 0x8000);
static_assert(encoded<chevron::half>(0x1p-24f) == 0x0001);
static_assert(encoded<chevron::half>(0x1p-25f) == 0x0000, "a tie goes to the even one, 0");
static_assert(encoded<chevron::half>(0x1.000002p-25f) == 0x0001);
static_assert(encoded<chevron::half>(0x1.8p-24f) == 0x0002, "a tie goes to the even one, above");
static_assert(encoded<chevron::half>(0x1.ffcp-15f) == 0x0400, "subnormals round up into the normals");
static_assert(encoded<chevron::half>(0x1.002p0f) == 0x3c00 && encoded<chevron::half>(0x1.006p0f) == 0x3c02);
static_assert(encoded<chevron::half>(65519.996f) == 0x7bff && encoded<chevron::half>(65520.0f) == 0x7c00);
static_assert(encoded<chevron::half>(-infinity) == 0xfc00 && encoded<chevron::half>(nan) == 0x7fff);

static_assert(encoded<bfloat16>(1.0f) == 0x3f80 && encoded<bfloat16>(-0.0f) == 0x8000);
static_assert(encoded<bfloat16>(0x1.01p0f) == 0x3f80 && encoded<bfloat16>(0x1.03p0f) == 0x3f82);
static_assert(encoded<bfloat16>(0x1p-133f) == 0x0001 && encoded<bfloat16>(0x1p-134f) == 0x0000);
static_assert(encoded<bfloat16>(0x1.fffffep127f) == 0x7f80 && encoded<bfloat16>(nan) == 0x7fff);

static_assert(encoded<float8_e4m3>(448.0f) == 0x7e && encoded<float8_e4m3>(464.0f) == 0x7e);
static_assert(encoded<float8_e4m3>(465.0f) == 0x7e && encoded<float8_e4m3>(-infinity) == 0xfe);
static_assert(encoded<float8_e4m3>(nan) == 0x7f && encoded<float8_e4m3>(-0.0f) == 0x80);
static_assert(encoded<float8_e4m3>(0x1p-10f) == 0x00 && encoded<float8_e4m3>(0x1.8p-9f) == 0x02);

static_assert(encoded<float8_e5m2>(57344.0f) == 0x7b && encoded<float8_e5m2>(61440.0f) == 0x7b);
static_assert(encoded<float8_e5m2>(infinity) == 0x7b && encoded<float8_e5m2>(-1e30f) == 0xfb);
static_assert(encoded<float8_e5m2>(nan) == 0x7f && encoded<float8_e5m2>(0x1p-16f) == 0x01);

static_assert(chevron::half{0x0001}.to_float() == 0x1p-24f && chevron::half{0xfc00}.to_float() == -infinity);
static_assert(chevron::half{0x7c01}.to_float() != chevron::half{0x7c01}.to_float());
static_assert(bfloat16{0x0001}.to_float() == 0x1p-133f && bfloat16{0x3f80}.to_float() == 1.0f);
static_assert(float8_e4m3{0x7e}.to_float() == 448.0f && float8_e4m3{0x01}.to_float() == 0x1p-9f);
static_assert(float8_e5m2{0x7b}.to_float() == 57344.0f && float8_e5m2{0x7c}.to_float() == infinity);
static_assert(chevron::half{1} == chevron::half{1} && !(bfloat16{0x8000} == bfloat16{0}));

}  // namespace

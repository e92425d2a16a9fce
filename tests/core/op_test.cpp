// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include <chevron/core/op.hpp>

#include <support/catch.hpp>
#include <support/float_modes.hpp>
#include <support/seed.hpp>

namespace {

using chevron::Avg;
using chevron::Max;
using chevron::Min;
using chevron::Prod;
using chevron::ReductionOp;
using chevron::Sum;
using chevron::detail::bit_cast;
using chevron::detail::finish;

// -- which operations can reduce what -----------------------------------------------------------------

struct KeepFirst {
  template <class A>
  static constexpr A combine(A a, A) {
    return a;
  }
};
struct Named {
  static constexpr char const* name = "a name of its own";
  static constexpr float combine(float a, float b) { return 2 * a + b; }
};
struct NamedAlike {
  static constexpr char const* name = "a name of its own";
  static constexpr float combine(float a, float b) { return 2 * a + b; }
};
struct NamedLikeOurs {
  static constexpr char const* name = "sum";
  static constexpr float combine(float a, float b) { return a + b; }
};
struct MeanSquare {
  static constexpr float combine(float a, float b) { return a + b * b; }
  static constexpr float finish(float sum, int rank_count) { return sum / static_cast<float>(rank_count); }
};
struct NoCombine {};
struct WrongResult {
  static constexpr double combine(float a, float b) { return a + b; }
};
struct MemberCombine {
  constexpr float combine(float a, float b) const { return a + b; }
};
struct Stateful {
  float scale;
  static constexpr float combine(float a, float b) { return a + b; }
};
struct Final final {
  static constexpr float combine(float a, float b) { return a + b; }
};
struct FinishWithoutCount {
  static constexpr float combine(float a, float b) { return a + b; }
  static constexpr float finish(float sum) { return sum; }
};
struct FinishToOtherType {
  static constexpr float combine(float a, float b) { return a + b; }
  static constexpr double finish(float sum, int) { return sum; }
};
struct FinishOfSomethingElse {
  static constexpr float combine(float a, float b) { return a + b; }
  template <std::integral A>
  static constexpr A finish(A sum, int) {
    return sum;
  }
};

template <class T>
constexpr bool has_all = ReductionOp<Sum, T>&& ReductionOp<Prod, T>&& ReductionOp<Min, T>&&
    ReductionOp<Max, T>&& ReductionOp<Avg, T>;
static_assert(has_all<float> && has_all<double> && has_all<chevron::half> && has_all<chevron::bfloat16>);
static_assert(has_all<chevron::float8_e4m3> && has_all<chevron::float8_e5m2>);
static_assert(has_all<std::int8_t> && has_all<std::uint8_t> && has_all<std::int32_t> &&
              has_all<std::uint32_t>);
static_assert(has_all<std::int64_t> && has_all<std::uint64_t> && has_all<long long> &&
              has_all<unsigned long long>);

static_assert(ReductionOp<KeepFirst, float> && ReductionOp<KeepFirst, std::int8_t>);
static_assert(ReductionOp<Named, float> && ReductionOp<Named, chevron::half>);
static_assert(ReductionOp<MeanSquare, chevron::bfloat16>);
static_assert(!ReductionOp<Sum, bool> && !ReductionOp<Sum, short> && !ReductionOp<Sum, void>);
static_assert(!ReductionOp<Named, double>, "its result is a float");
static_assert(!ReductionOp<NoCombine, float> && !ReductionOp<WrongResult, float>);
static_assert(!ReductionOp<MemberCombine, float> && !ReductionOp<int, float>);
static_assert(!ReductionOp<Stateful, float> && !ReductionOp<Final, float>);
static_assert(!ReductionOp<FinishWithoutCount, float> && !ReductionOp<FinishToOtherType, float>);
static_assert(!ReductionOp<FinishOfSomethingElse, float>);

//! A user's accumulator that can be added and scaled, but neither multiplied nor ordered.
struct Vector {
  float x, y;
  friend constexpr Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y}; }
};
struct DivisibleVector {
  float x, y;
  friend constexpr DivisibleVector operator+(DivisibleVector a, DivisibleVector b) {
    return {a.x + b.x, a.y + b.y};
  }
  friend constexpr DivisibleVector operator/(DivisibleVector a, int count) {
    return {a.x / static_cast<float>(count), a.y / static_cast<float>(count)};
  }
};

template <class T>
struct UserTraits {
  static constexpr chevron::ElementKind kind = chevron::ElementKind::user;
  using Accumulator = T;
  static constexpr T widen(T value) { return value; }
  static constexpr T narrow(T value) { return value; }
};

}  // namespace

template <>
struct chevron::ElementTraits<Vector> : UserTraits<Vector> {};
template <>
struct chevron::ElementTraits<DivisibleVector> : UserTraits<DivisibleVector> {};

namespace {

static_assert(ReductionOp<Sum, Vector> && ReductionOp<KeepFirst, Vector>);
static_assert(!ReductionOp<Prod, Vector> && !ReductionOp<Min, Vector> && !ReductionOp<Max, Vector>);
static_assert(!ReductionOp<Avg, Vector> && ReductionOp<Avg, DivisibleVector>);
static_assert(Sum::combine(Vector{1, 2}, Vector{3, 4}).y == 6);
static_assert(finish<Avg>(DivisibleVector{8, 4}, 4).x == 2);

// -- values -------------------------------------------------------------------------------------------

template <class T>
constexpr T lowest = std::numeric_limits<T>::lowest();
template <class T>
constexpr T highest = std::numeric_limits<T>::max();

//! What combine and finish give for all ranks, in rank order.
template <class Op, class A>
constexpr A fold(std::initializer_list<A> values) {
  auto accumulator = *values.begin();
  for (auto value = values.begin() + 1; value != values.end(); ++value) {
    accumulator = Op::combine(accumulator, *value);
  }
  return finish<Op>(accumulator, static_cast<int>(values.size()));
}

template <class T>
constexpr bool integers_wrap() {
  using Unsigned = std::make_unsigned_t<T>;
  auto const wrapped = [](auto value) { return static_cast<T>(static_cast<Unsigned>(value)); };
  return Sum::combine(highest<T>, T{1}) == lowest<T> &&
         Sum::combine(lowest<T>, lowest<T>) == wrapped(2 * static_cast<std::uint64_t>(lowest<T>)) &&
         Prod::combine(highest<T>, highest<T>) == T{1} &&
         Prod::combine(lowest<T>, static_cast<T>(-1)) == wrapped(0 - static_cast<std::uint64_t>(lowest<T>)) &&
         Min::combine(lowest<T>, highest<T>) == lowest<T> &&
         Min::combine(highest<T>, lowest<T>) == lowest<T> &&
         Max::combine(lowest<T>, highest<T>) == highest<T> &&
         Max::combine(highest<T>, lowest<T>) == highest<T>;
}
static_assert(integers_wrap<std::int8_t>() && integers_wrap<std::uint8_t>());
static_assert(integers_wrap<std::int32_t>() && integers_wrap<std::uint32_t>());
static_assert(integers_wrap<std::int64_t>() && integers_wrap<std::uint64_t>());
static_assert(integers_wrap<long long>() && integers_wrap<unsigned long long>());

static_assert(fold<Avg, std::int32_t>({7, 0}) == 3 && fold<Avg, std::int32_t>({-7, 0}) == -3, "toward zero");
static_assert(fold<Avg, std::int8_t>({-100, -5, 0}) == -35);
static_assert(fold<Avg, std::int8_t>({100, 100, 0}) == -18, "of the wrapped sum");
static_assert(fold<Avg, std::uint8_t>({200, 100}) == 22, "of the wrapped sum");
static_assert(fold<Avg, std::uint32_t>({0xffffffffu, 0}) == 0x7fffffffu);
static_assert(fold<Avg, std::uint64_t>({highest<std::uint64_t>, 0}) == highest<std::uint64_t> / 2);
static_assert(fold<Avg, std::int64_t>({lowest<std::int64_t>, 0}) == lowest<std::int64_t> / 2);
static_assert(fold<Avg, float>({1.0f, 2.0f, 4.0f}) == 7.0f / 3.0f);
static_assert(fold<Avg, double>({1.0, 2.0, 4.0}) == 7.0 / 3.0);
static_assert(fold<Avg, float>({5.0f}) == 5.0f);
static_assert(fold<Sum, float>({0x1p24f, 1.0f, 1.0f}) == 0x1p24f, "from the left");
static_assert(fold<Sum, float>({1.0f, 1.0f, 0x1p24f}) == 0x1.000002p24f);
static_assert(fold<Prod, float>({2.0f, -3.0f}) == -6.0f && fold<Prod, double>({0.5, 0.25}) == 0.125);
static_assert(fold<Named, float>({1.0f, 10.0f, 100.0f}) == 124.0f, "not commutative, in rank order");
static_assert(fold<MeanSquare, float>({1.0f, 3.0f}) == 5.0f);
static_assert(finish<Sum>(5.0f, 3) == 5.0f, "nothing to finish");
static_assert(Min::combine(-1.0f, 1.0f) == -1.0f && Max::combine(-1.0, 1.0) == 1.0);

template <class T>
auto bits_of(T value) {
  return bit_cast<typename chevron::detail::FloatBits<T>::Signed>(value);
}

//! IEEE 754-2019 minimum, from its definition.
template <class T>
T reference_minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;  // the same value, or zeros
  return a < b ? a : b;
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  using Bits = typename chevron::detail::FloatBits<T>::Signed;
  std::vector<T> values = {T(0),
                           Limits::denorm_min(),
                           2 * Limits::denorm_min(),
                           Limits::min() - Limits::denorm_min(),
                           Limits::min(),
                           T(1),
                           T(1) + Limits::epsilon(),
                           Limits::max(),
                           Limits::infinity(),
                           Limits::quiet_NaN(),
                           bit_cast<T>(static_cast<Bits>(bits_of(Limits::infinity()) + 1)),
                           bit_cast<T>(std::numeric_limits<Bits>::max())};
  for (std::size_t i = values.size(); i-- > 0;) values.push_back(-values[i]);
  return values;
}

template <class T>
bool same(T got, T wanted) {
  return std::isnan(wanted) ? std::isnan(got) : bits_of(got) == bits_of(wanted);
}

template <class T>
struct Pairs {
  std::vector<T> a, b;
};

template <class T>
Pairs<T> all_pairs() {
  using Bits = typename chevron::detail::FloatBits<T>::Signed;
  Pairs<T> pairs;
  auto const special = special_values<T>();
  for (T const a : special) {
    for (T const b : special) {
      pairs.a.push_back(a);
      pairs.b.push_back(b);
    }
  }
  std::mt19937_64 random(chevron::test::seed());
  for (int i = 0; i < 100'000; ++i) {
    auto const bits = static_cast<Bits>(random());
    pairs.a.push_back(bit_cast<T>(bits));
    // Independent bits, or bits that differ in few of the low ones and perhaps the sign.
    auto const other = static_cast<Bits>(random());
    auto const sign = std::numeric_limits<Bits>::min();
    pairs.b.push_back(bit_cast<T>(i % 2 == 0 ? other : static_cast<Bits>(bits ^ (other & (sign | 3)))));
  }
  return pairs;
}

}  // namespace

TEMPLATE_TEST_CASE("minimum and maximum of floats", "[op]", float, double) {
  auto const pairs = all_pairs<TestType>();
  auto const count = pairs.a.size();
  auto const flushed = GENERATE(false, true);
  std::vector<TestType> smaller(count);
  std::vector<TestType> larger(count);
  auto const combine_all = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      smaller[i] = Min::combine(pairs.a[i], pairs.b[i]);
      larger[i] = Max::combine(pairs.a[i], pairs.b[i]);
    }
  };
  if (flushed) {
    chevron::test::SubnormalsFlushed const while_here;
    combine_all();
  } else {
    combine_all();
  }
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const a = pairs.a[i];
    auto const b = pairs.b[i];
    if (!same(smaller[i], reference_minimum(a, b)) || !same(larger[i], -reference_minimum(-a, -b))) {
      if (++wrong <= 5) UNSCOPED_INFO(a << ", " << b << ": min " << smaller[i] << ", max " << larger[i]);
    }
  }
  INFO("CHEVRON_TEST_SEED=" << chevron::test::seed() << ", subnormals flushed: " << flushed);
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("sums keep signs of zero, subnormals and NaNs", "[op]", float, double) {
  using Limits = std::numeric_limits<TestType>;
  TestType const zero = 0;
  CHECK(std::signbit(Sum::combine(-zero, -zero)));
  CHECK_FALSE(std::signbit(Sum::combine(-zero, zero)));
  CHECK(Sum::combine(Limits::denorm_min(), zero) == Limits::denorm_min());
  CHECK(std::isnan(Sum::combine(Limits::infinity(), -Limits::infinity())));
  CHECK(std::isnan(Prod::combine(Limits::quiet_NaN(), zero)));
  CHECK(std::signbit(Prod::combine(-zero, TestType(2))));
  CHECK(finish<Avg>(4 * Limits::denorm_min(), 4) == Limits::denorm_min());
  CHECK(std::signbit(finish<Avg>(-zero, 3)));
}

TEMPLATE_TEST_CASE("the average is one division", "[op]", float, double) {
  std::mt19937 random(chevron::test::seed());
  std::uniform_real_distribution<TestType> values(-1000, 1000);
  int wrong = 0;
  for (int count = 1; count <= 32; ++count) {
    for (int i = 0; i < 1000; ++i) {
      TestType const volatile sum = values(random);
      TestType const volatile quotient = sum / static_cast<TestType>(count);
      wrong += bits_of<TestType>(finish<Avg>(TestType{sum}, count)) != bits_of<TestType>(quotient);
    }
  }
  INFO("CHEVRON_TEST_SEED=" << chevron::test::seed());
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("the average of 8-bit integers, all of them", "[op]", std::int8_t, std::uint8_t) {
  int wrong = 0;
  for (int sum = lowest<TestType>; sum <= highest<TestType>; ++sum) {
    for (int count = 1; count <= 32; ++count) {
      wrong += finish<Avg>(static_cast<TestType>(sum), count) != sum / count;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a user's accumulator brings its own arithmetic", "[op]") {
  CHECK(Sum::combine(Vector{1, 2}, Vector{3, 4}).x == 4);
  CHECK(finish<Avg>(Avg::combine(DivisibleVector{8, 4}, DivisibleVector{0, 2}), 2).y == 3);
}

TEST_CASE("an operation's id tells operations apart", "[op]") {
  std::set<std::uint64_t> const ids = {
      chevron::op_id<Sum>(),   chevron::op_id<Prod>(),          chevron::op_id<Min>(),
      chevron::op_id<Max>(),   chevron::op_id<Avg>(),           chevron::op_id<KeepFirst>(),
      chevron::op_id<Named>(), chevron::op_id<NamedLikeOurs>(), chevron::op_id<MeanSquare>()};
  CHECK(ids.size() == 9);
  CHECK(chevron::op_id<Named>() == chevron::op_id<NamedAlike>());
}

TEST_CASE("the ids and names of the library's operations stay what they are", "[op]") {
  // Ranks of different builds compare them.
  CHECK(chevron::op_id<Sum>() == 1);
  CHECK(chevron::op_id<Prod>() == 2);
  CHECK(chevron::op_id<Min>() == 3);
  CHECK(chevron::op_id<Max>() == 4);
  CHECK(chevron::op_id<Avg>() == 5);
  CHECK(chevron::op_id<Named>() == 0xcb08bcd8c9128866u);
  CHECK(Sum::name == std::string("sum"));
  CHECK(Prod::name == std::string("prod"));
  CHECK(Min::name == std::string("min"));
  CHECK(Max::name == std::string("max"));
  CHECK(Avg::name == std::string("avg"));
}

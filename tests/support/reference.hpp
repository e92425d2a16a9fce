// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_REFERENCE_HPP
#define CHEVRON_TESTS_SUPPORT_REFERENCE_HPP

//! @file
//! The one reference of contract C1, one element at a time and as plain as it can be: `((a0 op a1) op a2) ...
//! op aN-1` in rank order in the accumulator type, finished, given to the epilogue, rounded once.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>

#include <support/data.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

namespace chevron::test {

// The library's operations once more, written for the reader instead of for the vectoriser.

template <class A>
A plain_combine(Sum, A a, A b) {
  if constexpr (std::is_floating_point_v<A>)
    return a + b;
  else
    return static_cast<A>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <class A>
A plain_combine(Avg, A a, A b) {
  return plain_combine(Sum{}, a, b);
}

template <class A>
A plain_combine(Prod, A a, A b) {
  if constexpr (std::is_floating_point_v<A>)
    return a * b;
  else
    return static_cast<A>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

template <class A>
A plain_combine(Min, A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<A>::quiet_NaN();
    if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  }
  return a < b ? a : b;
}

template <class A>
A plain_combine(Max, A a, A b) {
  if constexpr (std::is_floating_point_v<A>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<A>::quiet_NaN();
    if (a == 0 && b == 0) return std::signbit(a) ? b : a;
  }
  return a > b ? a : b;
}

//! An operation of the user's is its own reference.
template <class Op, class A>
A plain_combine(Op, A a, A b) {
  return Op::combine(a, b);
}

template <class A>
A plain_finish(Avg, A sum, int ranks) {
  return static_cast<A>(sum / static_cast<A>(ranks));  // integers: toward zero
}
template <class Op, class A>
A plain_finish(Op, A value, int) {
  return value;
}

//! What every rank gets for an element of which rank r has `by_rank[r]`.
template <class Op, class T, class Epilogue>
T reference(std::span<T const> by_rank, Epilogue const& epilogue, std::size_t index) {
  using A = accumulator_t<T>;
  A value = ElementTraits<T>::widen(by_rank[0]);
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    value = plain_combine(Op{}, value, A{ElementTraits<T>::widen(by_rank[rank])});
  }
  value = plain_finish(Op{}, value, static_cast<int>(by_rank.size()));
  return ElementTraits<T>::narrow(epilogue(value, index));
}

//! The same bits; of NaNs only that they are NaNs.
template <class T>
bool same_bits(T expected, T got) {
  return is_nan(expected) ? is_nan(got) : bits_of(expected) == bits_of(got);
}

//! The first index at which two buffers differ; `count` where they don't.
template <class T>
std::size_t first_difference(T const* expected, T const* got, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!same_bits(expected[i], got[i])) return i;
  }
  return count;
}

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_REFERENCE_HPP
#define CHEVRON_PERF_REFERENCE_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>

//! @file
//! The data of a checked call, and what must come of it, bit for bit.

namespace perf {

//! @brief The element that a rank contributes at a position: another for each, and for each seed.
template <chevron::Element T>
T sample(std::uint64_t seed, int rank, std::size_t position) {
  // The finishing steps of SplitMix64.
  auto bits = (seed * 64 + static_cast<std::uint64_t>(rank)) * 0x9e3779b97f4a7c15u + position;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  bits ^= bits >> 31;
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(bits);
  } else {
    auto const fraction = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-62;  // in [-2, 2)
    using Traits = chevron::ElementTraits<T>;
    return Traits::narrow(static_cast<typename Traits::Accumulator>(fraction));
  }
}

//! @brief ((a0 op a1) op a2) ... in rank order in the accumulator type, rounded once.
template <class Op, chevron::Element T>
T reference(std::uint64_t seed, int rank_count, std::size_t position) {
  using Traits = chevron::ElementTraits<T>;
  auto result = Traits::widen(sample<T>(seed, 0, position));
  for (int rank = 1; rank < rank_count; ++rank)
    result = Op::combine(result, Traits::widen(sample<T>(seed, rank, position)));
  if constexpr (requires { Op::finish(result, rank_count); }) result = Op::finish(result, rank_count);
  return Traits::narrow(result);
}

//! @brief The same bits, or both not a number.
template <chevron::Element T>
bool same(T a, T b) {
  if (std::memcmp(&a, &b, sizeof a) == 0) return true;
  auto const wide_a = chevron::ElementTraits<T>::widen(a);
  auto const wide_b = chevron::ElementTraits<T>::widen(b);
  return wide_a != wide_a && wide_b != wide_b;
}

//! @brief How many of a result's elements are wrong.
template <class Op, chevron::Element T>
std::uint64_t count_wrong(T const* result, std::size_t count, std::uint64_t seed, int rank_count) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (!same(result[i], reference<Op, T>(seed, rank_count, i))) ++wrong;
  return wrong;
}

}  // namespace perf

#endif

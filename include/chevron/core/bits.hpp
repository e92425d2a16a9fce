// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_BITS_HPP
#define CHEVRON_CORE_BITS_HPP

#include <type_traits>

#include <chevron/core/config.hpp>

//! @file
//! Reading a value's bits, on the host, in device code and in constant expressions.

namespace chevron::detail {

//! @brief The value of type To that has the bits of `from`.
//! std::bit_cast is not annotated for device code, so the compilers' builtin is called directly.
template <class To, class From>
requires(sizeof(To) == sizeof(From) && std::is_trivially_copyable_v<To> &&
         std::is_trivially_copyable_v<From>) CHEVRON_INLINE constexpr To bit_cast(From const& from) noexcept {
  return __builtin_bit_cast(To, from);
}

}  // namespace chevron::detail

#endif

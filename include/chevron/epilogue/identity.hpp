// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_EPILOGUE_IDENTITY_HPP
#define CHEVRON_EPILOGUE_IDENTITY_HPP

//! @file
//! Epilogues: what is done to a reduced value before it is rounded and stored. This one does nothing.

#include <chevron/core/config.hpp>
#include <chevron/core/element.hpp>
#include <chevron/epilogue/scope.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>

namespace chevron {

//! @brief The epilogue that stores what was reduced.
struct Identity {
  static constexpr char const* name = "identity";
  static constexpr bool ignores_index = true;
  template <class Accumulator>
  CHEVRON_INLINE constexpr Accumulator operator()(Accumulator value, std::size_t /*index*/) const {
    return value;
  }
};

//! @brief Called with a reduced value in the accumulator type and its index in the output; gives what is to
//! be rounded.
template <class E, class T>
concept CallableAsEpilogue = requires(E const& epilogue, accumulator_t<T> value, std::size_t index) {
  { epilogue(value, index) } -> std::same_as<accumulator_t<T>>;
};

//! @brief Copied into kernels and between ranks' lanes as bytes.
template <class E>
concept CopiedAsBytes = std::is_trivially_copyable_v<E>;

//! @brief An epilogue of element scope: a small value with `accumulator_t<T> operator()(accumulator_t<T>,
//! index) const`.
//!
//! Which rank applies it to an element depends on the algorithm, so all ranks must pass one that computes the
//! same.
template <class E, class T>
concept ElementEpilogue = CallableAsEpilogue<E, T> && CopiedAsBytes<E> && epilogue_scope<E>
== EpilogueScope::element;

//! @brief An epilogue of row scope, which says so: only for algorithms that own whole rows, which say how they call it.
template <class E>
concept RowEpilogue = CopiedAsBytes<E> && epilogue_scope<E>
== EpilogueScope::row;

}  // namespace chevron

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_EPILOGUE_SCOPE_HPP
#define CHEVRON_EPILOGUE_SCOPE_HPP

//! @file
//! How much of the result an epilogue must see at once, and which algorithms can show it that much.

#include <concepts>

namespace chevron {

//! @brief What an epilogue looks at: one reduced value, or all values of a row (as a normalisation does).
enum class EpilogueScope : unsigned char { element, row };

//! @brief Says of itself how much it looks at, by `static constexpr EpilogueScope scope`.
template <class E>
concept StatesScope = requires {
  { E::scope } -> std::convertible_to<EpilogueScope>;
};

//! @brief The scope of an epilogue: what it says, one element where it says nothing.
template <class E>
inline constexpr EpilogueScope epilogue_scope = EpilogueScope::element;
template <StatesScope E>
inline constexpr EpilogueScope epilogue_scope<E> = E::scope;

//! @brief Whether an algorithm says, by `static constexpr bool owns_whole_rows = true`, that shards and lanes follow whole
//! rows: the rank that finishes an element has all of its row. Where it says nothing it does not.
template <class Algorithm>
inline constexpr bool owns_whole_rows = requires {
  requires Algorithm::owns_whole_rows;
};

//! @brief An algorithm that can carry out an epilogue as far as scopes go.
template <class Algorithm, class E>
concept ScopeIsServed = epilogue_scope<E>
== EpilogueScope::element || owns_whole_rows<Algorithm>;

}  // namespace chevron

#endif

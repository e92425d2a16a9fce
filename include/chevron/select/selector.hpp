// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_SELECTOR_HPP
#define CHEVRON_SELECT_SELECTOR_HPP

//! @file
//! Selectors: a table, and for which rank counts, elements and operations it is to be used. Exactly what a
//! selector can reach is instantiated.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/select/table.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace chevron {

//! @brief The rank counts that a program is compiled for.
template <int... Counts>
requires(RankCountInRange<Counts>&&...) struct RankCounts {
  [[nodiscard]] static constexpr bool contains(int count) { return ((count == Counts) || ...); }
};

//! @brief The element types that a program is compiled for.
template <Element... Ts>
struct Elements {
  template <class T>
  static constexpr bool contains = (std::is_same_v<T, Ts> || ...);
};

//! @brief The reduction operations that a program is compiled for.
template <class... Ops>
struct Operations {
  template <class Op>
  static constexpr bool contains = (std::is_same_v<Op, Ops> || ...);
};

//! @brief A call size that is known when the program is compiled, in elements.
template <std::size_t Elements>
struct Count {
  static constexpr std::size_t value = Elements;
};

//! @brief Selects by table among what a program is compiled for.
//!
//! A selector whose table has a hole does not compile: the sentence says which kind of hole, and for which
//! rank count and element.
//! @tparam Table   see table.hpp
//! @tparam Ranks   RankCounts<...>
//! @tparam Types   Elements<...>
//! @tparam Ops     Operations<...>; sums alone where it is left out
template <SelectionTable Table, class Ranks, class Types, class Ops = Operations<Sum>>
struct Selector;

template <SelectionTable Table, int... Counts, class... Ts, class... Ops>
struct Selector<Table, RankCounts<Counts...>, Elements<Ts...>, Operations<Ops...>> {
  static_assert(
      sizeof...(Counts) > 0 && sizeof...(Ts) > 0 && sizeof...(Ops) > 0,
      "chevron: a selector needs a rank count, an element and an operation at least; got an empty list; see "
      "chevron/select/selector.hpp");

  //! Contract C2, checked when the selector is first used.
  template <int NRanks>
  static constexpr bool covers = (detail::TableCovers<Table, NRanks, Ts>::value && ...);
  static constexpr bool total = (covers<Counts> && ...);
  static_assert(total || !total);  // evaluates it: the sentence comes from TableCovers

  using Ranks = RankCounts<Counts...>;
  using Types = Elements<Ts...>;
  using OperationList = Operations<Ops...>;

  //! @brief The policy for a call: a pure function, at run time or at compile time.
  //! @param ranks       a rank count of this selector
  //! @param size_bytes  of one rank's buffer
  //! @param windows     whether all ranks' buffers lie in windows
  template <Element T, class Op = Sum>
  [[nodiscard]] static constexpr Policy choose(int ranks, std::size_t size_bytes,
                                               WindowState windows = WindowState::all) {
    constexpr auto rows = Table::rows();
    int const row = detail::row_for<Table>(ranks, ElementTraits<T>::kind, size_bytes, windows);
    return row == detail::no_row ? Policy{} : rows[static_cast<std::size_t>(row)].policy;
  }

  //! Whether some size makes this selector choose an algorithm.
  [[nodiscard]] static constexpr bool reaches(int ranks, ElementKind element, WindowState windows,
                                              AllReduceAlgorithm algorithm) {
    bool found = false;
    detail::for_each_size_class<Table>(ranks, element, windows, [&](std::size_t, int row) {
      if (row != detail::no_row) {
        found = found || Table::rows()[static_cast<std::size_t>(row)].policy.algorithm == algorithm;
      }
    });
    return found;
  }

  //! A number that ranks compare: equal tables, rank counts, elements and operations give equal numbers.
  [[nodiscard]] static consteval std::uint32_t fingerprint() {
    std::uint32_t hash = detail::fingerprint_of_table<Table>();
    ((hash = mix(hash, static_cast<std::uint64_t>(Counts))), ...);
    ((hash = mix(hash, static_cast<std::uint64_t>(ElementTraits<Ts>::kind) + 100)), ...);
    ((hash = mix(hash, op_id<Ops>())), ...);
    return hash;
  }
};

//! @brief Tells a selector from an algorithm.
template <class Choice>
inline constexpr bool is_selector = false;
template <class Table, class Ranks, class Types, class Ops>
inline constexpr bool is_selector<Selector<Table, Ranks, Types, Ops>> = true;

}  // namespace chevron

#endif

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
struct RankCounts {
  [[nodiscard]] static constexpr bool contains(int count) { return ((count == Counts) || ...); }
};

//! @brief The element types that a program is compiled for.
template <class... Ts>
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
  static constexpr bool not_empty = sizeof...(Counts) > 0 && sizeof...(Ts) > 0 && sizeof...(Ops) > 0;
  static_assert(
      not_empty,
      "chevron: a selector needs a rank count, an element and an operation at least; got an empty list; see "
      "chevron/select/selector.hpp");
  static constexpr bool ranks_are_good = (RankCountInRange<Counts> && ...);
  static constexpr bool elements_are_good = (Element<Ts> && ...);
  static_assert(
      ranks_are_good,
      "chevron: a rank count must be 1 to 32; got another in RankCounts; see chevron/core/rank.hpp");
  static_assert(
      elements_are_good,
      "chevron: Elements must list elements; got a type without ElementTraits; see chevron/core/element.hpp");
  static constexpr bool lists_are_good = not_empty && ranks_are_good && elements_are_good;

  //! Contract C2: whether the table has a row for everything. Where it has not, the sentence comes from TableCovers.
  template <int NRanks>
  [[nodiscard]] static consteval bool covers() {
    if constexpr (lists_are_good) return (detail::TableCovers<Table, NRanks, Ts>::value && ...);
    return false;
  }
  static constexpr bool total = (covers<Counts>() && ...) && lists_are_good;

  using Ranks = RankCounts<Counts...>;
  using Types = Elements<Ts...>;
  using OperationList = Operations<Ops...>;

  //! @brief The policy for a call: a pure function, at run time or at compile time.
  //! @param ranks       a rank count of this selector
  //! @param size_bytes  of one rank's buffer
  //! @param windows     whether all ranks' buffers lie in windows
  template <class T, class Op = Sum>
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

  //! Whether some size makes this selector choose one algorithm for buffers in windows and another for others.
  [[nodiscard]] static constexpr bool reaches_pair(int ranks, ElementKind element,
                                                   AllReduceAlgorithm in_windows,
                                                   AllReduceAlgorithm elsewhere) {
    bool found = false;
    detail::for_each_size_class<Table>(ranks, element, WindowState::all, [&](std::size_t size, int row) {
      int const other = detail::row_for<Table>(ranks, element, size, WindowState::none);
      if (row == detail::no_row || other == detail::no_row) return;
      auto const rows = Table::rows();
      found = found || (rows[static_cast<std::size_t>(row)].policy.algorithm == in_windows &&
                        rows[static_cast<std::size_t>(other)].policy.algorithm == elsewhere);
    });
    return found;
  }

  //! A number that ranks compare: equal tables, rank counts, elements and operations give equal numbers.
  [[nodiscard]] static consteval std::uint32_t fingerprint() {
    std::uint32_t hash = detail::fingerprint_of_table<Table>();
    ((hash = mix(hash, static_cast<std::uint64_t>(Counts))), ...);
    if constexpr (lists_are_good) {
      ((hash = mix(hash, static_cast<std::uint64_t>(ElementTraits<Ts>::kind) + 100)), ...);
    }
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_SELECTOR_HPP
#define CHEVRON_SELECT_SELECTOR_HPP

//! @file
//! Selectors: a table, and for which rank counts, elements and operations it is to be used. Exactly what a
//! selector can reach is instantiated.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/size_classes.hpp>
#include <chevron/select/table.hpp>
#include <chevron/select/table_proof.hpp>

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

//! @brief The architectures that a program runs on; none listed: any, hosts and all devices.
//!
//! Listed ones spare what the others would need, and a communicator on another device is refused when it is made.
template <int... Values>
struct Architectures {
  static constexpr bool any = sizeof...(Values) == 0;

  [[nodiscard]] static constexpr bool contains(int architecture) {
    return any || ((architecture == Values) || ...);
  }
  //! Whether one of them lies in a half-open range.
  [[nodiscard]] static constexpr bool meets(int from, int to) {
    return any ? from < to : ((from <= Values && Values < to) || ...);
  }
};

namespace detail {

//! @brief Whether a table has a row for everything that a selector lists.
template <class Table, EpilogueScope Scope, Numerics Allowed, class Ranks, class Archs, class Types,
          class Ops>
inline constexpr bool covers_all = false;
template <class Table, EpilogueScope Scope, Numerics Allowed, int... Counts, class Types, class Ops>
inline constexpr bool covers_all<Table, Scope, Allowed, RankCounts<Counts...>, Architectures<>, Types, Ops> =
    (table_covers<Table, Counts, Scope, Allowed, 0, ArchitectureRange::unlimited, Types, Ops> && ...);
template <class Table, EpilogueScope Scope, Numerics Allowed, int... Counts, int First, int... Rest,
          class Types, class Ops>
inline constexpr bool
    covers_all<Table, Scope, Allowed, RankCounts<Counts...>, Architectures<First, Rest...>, Types, Ops> =
        (table_covers<Table, Counts, Scope, Allowed, First, First + 1, Types, Ops> && ...) &&
        (covers_all<Table, Scope, Allowed, RankCounts<Counts...>, Architectures<Rest>, Types, Ops> && ...);

}  // namespace detail

//! @brief Selects by table among what a program is compiled for.
//!
//! A selector whose table has a hole does not compile: the sentence says which kind of hole, and the arguments of the type
//! that it stands in say where (table_proof.hpp).
//! @tparam Table    see table.hpp
//! @tparam Ranks    RankCounts<...>
//! @tparam Types    Elements<...>
//! @tparam Ops      Operations<...>; sums alone where it is left out
//! @tparam Archs    Architectures<...>; any where it is left out
//! @tparam Allowed  relaxed: rows may be taken whose results are not the reference's bits
template <SelectionTable Table, class Ranks, class Types, class Ops = Operations<Sum>,
          class Archs = Architectures<>, Numerics Allowed = Numerics::exact>
struct Selector;

template <SelectionTable Table_, int... Counts, class... Ts, class... Ops, int... Values, Numerics Allowed>
struct Selector<Table_, RankCounts<Counts...>, Elements<Ts...>, Operations<Ops...>, Architectures<Values...>,
                Allowed> {
  static constexpr bool not_empty = sizeof...(Counts) > 0 && sizeof...(Ts) > 0 && sizeof...(Ops) > 0;
  static_assert(
      not_empty,
      "chevron: a selector needs a rank count, an element and an operation at least; got an empty list; see "
      "chevron/select/selector.hpp");
  static constexpr bool ranks_are_good = (RankCountInRange<Counts> && ...);
  static constexpr bool elements_are_good = (Element<Ts> && ...);
  static constexpr bool architectures_are_good = ((Values >= host_architecture) && ...);
  static_assert(
      ranks_are_good,
      "chevron: a rank count must be 1 to 32; got another in RankCounts; see chevron/core/rank.hpp");
  static_assert(
      elements_are_good,
      "chevron: Elements must list elements; got a type without ElementTraits; see chevron/core/element.hpp");
  static_assert(
      architectures_are_good,
      "chevron: an architecture must be 0, a host, or a compute capability times ten; got a negative one in "
      "Architectures; see chevron/select/selector.hpp");
  static constexpr bool lists_are_good =
      not_empty && ranks_are_good && elements_are_good && architectures_are_good;

  using Table = Table_;
  using Ranks = RankCounts<Counts...>;
  using Types = Elements<Ts...>;
  using OperationList = Operations<Ops...>;
  using ArchitectureList = Architectures<Values...>;
  static constexpr Numerics numerics = Allowed;

  //! Contract C2: whether the table has a row for every call with epilogues of a scope, and sound ones. Where not, the
  //! sentence comes from TableHole, HiddenRow or RowIsSound.
  template <EpilogueScope Scope>
  static constexpr bool total_for = [] {
    if constexpr (lists_are_good) {
      if constexpr (detail::rows_sound<Table>) {
        return detail::covers_all<Table, Scope, Allowed, Ranks, ArchitectureList, Types, OperationList>;
      }
    }
    return false;
  }();
  static constexpr bool total = total_for<EpilogueScope::element>;

  //! The rows that are left of the table for one rank count, element and operation.
  template <int NRanks, class T, class Op, EpilogueScope Scope = EpilogueScope::element>
  using Classes =
      detail::SizeClasses<Table, NRanks, ElementTraits<T>::kind, operation_kind<Op>, Scope, Allowed>;

  //! @brief The policy for a call: a pure function, at run time or at compile time.
  //! @param ranks         a rank count of this selector; for another the answer means nothing
  //! @param size_bytes    of one rank's buffer
  //! @param windows       whether all ranks' buffers lie in windows
  //! @param architecture  of the ranks: see ArchitectureRange
  //! Cost: a few nanoseconds, see docs/selection.md
  template <class T, class Op = Sum, EpilogueScope Scope = EpilogueScope::element>
  [[nodiscard]] static constexpr Policy choose(int ranks, std::size_t size_bytes,
                                               WindowState windows = WindowState::all,
                                               int architecture = host_architecture) {
    int row = detail::no_row;
    static_cast<void>(
        ((ranks == Counts &&
          (row = row_of(Classes<Counts, T, Op, Scope>::of(architecture, size_bytes), windows), true)) ||
         ...));
    return row == detail::no_row ? Policy{} : detail::rows_of<Table>[static_cast<std::size_t>(row)].policy;
  }

  //! @brief The same where the compiler knows the rank count.
  template <int NRanks, class T, class Op = Sum, EpilogueScope Scope = EpilogueScope::element>
  [[nodiscard]] static constexpr Policy choose(std::size_t size_bytes, WindowState windows = WindowState::all,
                                               int architecture = host_architecture) {
    int const row = row_of(Classes<NRanks, T, Op, Scope>::of(architecture, size_bytes), windows);
    return row == detail::no_row ? Policy{} : detail::rows_of<Table>[static_cast<std::size_t>(row)].policy;
  }

  //! Whether some size on some architecture of this selector makes it choose an algorithm.
  template <int NRanks, class T, class Op = Sum>
  [[nodiscard]] static constexpr bool reaches(WindowState windows, AllReduceAlgorithm algorithm) {
    for (detail::SizeClass const& sizes : Classes<NRanks, T, Op>::all) {
      if (!ArchitectureList::meets(sizes.architecture_from, sizes.architecture_to)) continue;
      int const row = row_of(sizes, windows);
      if (row != detail::no_row &&
          detail::rows_of<Table>[static_cast<std::size_t>(row)].policy.algorithm == algorithm) {
        return true;
      }
    }
    return false;
  }

  //! A number that ranks compare: equal tables, rank counts, elements, operations, architectures and numerics give equal
  //! numbers.
  [[nodiscard]] static consteval std::uint32_t fingerprint() {
    std::uint32_t hash = detail::fingerprint_of_table<Table>();
    ((hash = mix(hash, static_cast<std::uint64_t>(Counts))), ...);
    if constexpr (lists_are_good) {
      ((hash = mix(hash, static_cast<std::uint64_t>(ElementTraits<Ts>::kind) + 100)), ...);
    }
    ((hash = mix(hash, op_id<Ops>())), ...);
    ((hash = mix(hash, static_cast<std::uint64_t>(Values) + 200)), ...);
    return mix(hash, static_cast<std::uint64_t>(Allowed) + 300);
  }

 private:
  [[nodiscard]] static constexpr int row_of(detail::SizeClass const& sizes, WindowState windows) {
    return windows == WindowState::all ? sizes.in_windows : sizes.elsewhere;
  }
};

//! @brief Tells a selector from an algorithm.
template <class Choice>
inline constexpr bool is_selector = false;
template <class Table, class Ranks, class Types, class Ops, class Archs, Numerics Allowed>
inline constexpr bool is_selector<Selector<Table, Ranks, Types, Ops, Archs, Allowed>> = true;

}  // namespace chevron

#endif

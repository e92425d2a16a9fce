// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLE_HPP
#define CHEVRON_SELECT_TABLE_HPP

//! @file
//! Selection tables: constexpr values that say which policy handles which call.
//!
//! A table is an empty type with `static constexpr auto rows()`, which returns a std::array of Row. The first
//! row that matches a call is taken, so later rows are fallbacks. One's own:
//! ```cpp
//! struct MyTable {
//!   static constexpr auto rows() {
//!     return std::array{
//!         chevron::Row{.bytes = {0, 4096}, .policy = {chevron::AllReduceAlgorithm::one_shot_push}},
//!         chevron::Row{.policy = {chevron::AllReduceAlgorithm::reduce_scatter_all_gather}},
//!     };
//!   }
//! };
//! ```

#include <chevron/core/element.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/sync/call_record.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace chevron {

//! @brief Whether the buffers of all ranks of a call lie in windows.
enum class WindowState : unsigned char { none, all };

//! @brief A half-open range of call sizes, in bytes of one rank's buffer.
struct ByteRange {
  std::size_t from = 0;
  std::size_t to = unlimited;
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
};

//! @brief A closed range of rank counts.
struct RankRange {
  int from = 1;
  int to = max_ranks;
};

//! @brief A half-open range of architectures: compute capabilities times ten (90 is Hopper, 100 Blackwell); a host is 0.
//! The architecture of a group is the least of its devices', so that all ranks choose alike.
struct ArchitectureRange {
  int from = 0;
  int to = unlimited;
  static constexpr int unlimited = std::numeric_limits<int>::max();
};

//! @brief The architecture of ranks that run on a host.
inline constexpr int host_architecture = 0;

//! @brief A set of element kinds; every kind by default.
struct ElementSet {
  std::uint32_t bits = ~std::uint32_t{0};

  template <class... Kinds>
  [[nodiscard]] static constexpr ElementSet of(Kinds... kinds) {
    return {((std::uint32_t{1} << static_cast<unsigned>(kinds)) | ... | 0u)};
  }
  [[nodiscard]] constexpr bool contains(ElementKind kind) const {
    return (bits >> static_cast<unsigned>(kind) & 1u) != 0;
  }
};

//! @brief A set of operation kinds; every kind by default, also operations of one's own, which are of the kind user.
struct OperationSet {
  std::uint32_t bits = ~std::uint32_t{0};

  template <class... Kinds>
  [[nodiscard]] static constexpr OperationSet of(Kinds... kinds) {
    return {((std::uint32_t{1} << static_cast<unsigned>(kinds)) | ... | 0u)};
  }
  [[nodiscard]] constexpr bool contains(OperationKind kind) const {
    return (bits >> static_cast<unsigned>(kind) & 1u) != 0;
  }
};

//! @brief A set of epilogue scopes; element scope alone by default, which every algorithm serves.
struct ScopeSet {
  std::uint32_t bits = 1;

  template <class... Scopes>
  [[nodiscard]] static constexpr ScopeSet of(Scopes... scopes) {
    return {((std::uint32_t{1} << static_cast<unsigned>(scopes)) | ... | 0u)};
  }
  [[nodiscard]] constexpr bool contains(EpilogueScope scope) const {
    return (bits >> static_cast<unsigned>(scope) & 1u) != 0;
  }
};

//! @brief A row of a table: which calls it is for, what handles them, and where that was measured.
struct Row {
  ArchitectureRange architectures{};
  RankRange ranks{};
  ByteRange bytes{};
  ElementSet elements{};
  OperationSet operations{};
  bool in_windows_only = false;  //!< for calls whose buffers all lie in windows
  ScopeSet epilogues{};          //!< with row scope, the algorithm must own whole rows
  Numerics numerics =
      Numerics::exact;  //!< relaxed: only for selectors that allow it; the algorithm may then round otherwise
  Policy policy{};
  char const* source = "";  //!< machine, date and command that the row comes from

  [[nodiscard]] constexpr bool matches(int rank_count, ElementKind element, std::size_t size_bytes,
                                       WindowState windows) const {
    return rank_count >= ranks.from && rank_count <= ranks.to && elements.contains(element) &&
           size_bytes >= bytes.from && size_bytes < bytes.to &&
           (!in_windows_only || windows == WindowState::all);
  }
};

//! @brief The algorithms that only run on buffers in windows.
[[nodiscard]] constexpr bool needs_windows(AllReduceAlgorithm algorithm) {
  return algorithm == AllReduceAlgorithm::reduce_scatter_all_gather_zero_copy ||
         algorithm == AllReduceAlgorithm::one_shot_pull;
}

namespace detail {

inline constexpr int no_row = -1;

//! @brief The first row of a table that matches; no_row where none does.
template <class Table>
[[nodiscard]] constexpr int row_for(int ranks, ElementKind element, std::size_t size_bytes,
                                    WindowState windows) {
  constexpr auto rows = Table::rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].matches(ranks, element, size_bytes, windows)) return static_cast<int>(i);
  }
  return no_row;
}

//! @brief The next size above `size_bytes` at which any row begins or ends; unlimited where there is none.
template <class Table>
[[nodiscard]] constexpr std::size_t next_border(std::size_t size_bytes) {
  std::size_t next = ByteRange::unlimited;
  for (Row const& row : Table::rows()) {
    if (row.bytes.from > size_bytes && row.bytes.from < next) next = row.bytes.from;
    if (row.bytes.to > size_bytes && row.bytes.to < next) next = row.bytes.to;
  }
  return next;
}

//! @brief Calls `visit(size, row)` for the smallest size of every range within which the same row is taken.
template <class Table, class Visit>
constexpr void for_each_size_class(int ranks, ElementKind element, WindowState windows, Visit&& visit) {
  for (std::size_t size = 0; size != ByteRange::unlimited; size = next_border<Table>(size)) {
    visit(size, row_for<Table>(ranks, element, size, windows));
  }
}

//! @brief What is wrong with a table for one rank count and element.
enum class TableFault : unsigned char { none, rank_count, element, size, windows, needs_windows };

template <class Table>
[[nodiscard]] constexpr TableFault fault_of(int ranks, ElementKind element) {
  bool any_for_ranks = false;
  bool any_for_element = false;
  for (Row const& row : Table::rows()) {
    bool const for_ranks = ranks >= row.ranks.from && ranks <= row.ranks.to;
    any_for_ranks = any_for_ranks || for_ranks;
    any_for_element = any_for_element || (for_ranks && row.elements.contains(element));
    if (for_ranks && needs_windows(row.policy.algorithm) && !row.in_windows_only)
      return TableFault::needs_windows;
  }
  if (!any_for_ranks) return TableFault::rank_count;
  if (!any_for_element) return TableFault::element;
  TableFault fault = TableFault::none;
  for_each_size_class<Table>(ranks, element, WindowState::none, [&](std::size_t size, int row) {
    if (row != no_row || fault != TableFault::none) return;
    fault = row_for<Table>(ranks, element, size, WindowState::all) == no_row ? TableFault::size
                                                                             : TableFault::windows;
  });
  return fault;
}

//! @brief Contract C2 for one rank count and element. The type's arguments are what the compiler shows beside
//! the sentence: the table, the rank count and the element of the hole.
template <class Table, int NRanks, class T>
struct TableCovers {
  static constexpr TableFault fault = fault_of<Table>(NRanks, ElementTraits<T>::kind);
  static_assert(
      fault != TableFault::rank_count,
      "chevron: a selection table must have a row for every rank count asked for; got no row for the NRanks "
      "of this TableCovers; see chevron/select/table.hpp");
  static_assert(
      fault != TableFault::element,
      "chevron: a selection table must have a row for every element asked for; got no row for the T of this "
      "TableCovers; see chevron/select/table.hpp");
  static_assert(
      fault != TableFault::size,
      "chevron: a selection table must have a row for every size; got a gap between its byte ranges for this "
      "TableCovers; see chevron/select/table.hpp");
  static_assert(fault != TableFault::windows,
                "chevron: a selection table must have a row for buffers that lie in no window; got rows with "
                "in_windows_only alone for some size; see chevron/select/table.hpp");
  static_assert(
      fault != TableFault::needs_windows,
      "chevron: a row whose algorithm works on windows must say in_windows_only; got one that claims every "
      "buffer; see chevron/select/table.hpp");
  static constexpr bool value = fault == TableFault::none;
};

//! @brief A number that stands for a table's rows.
template <class Table>
[[nodiscard]] consteval std::uint32_t fingerprint_of_table() {
  std::uint32_t hash = hash32("chevron table");
  for (Row const& row : Table::rows()) {
    hash = mix(hash,
               static_cast<std::uint64_t>(row.ranks.from) << 32 | static_cast<std::uint64_t>(row.ranks.to));
    hash = mix(mix(hash, row.bytes.from), row.bytes.to);
    hash = mix(mix(hash, row.elements.bits), row.in_windows_only ? 1 : 0);
    hash = mix(mix(hash, static_cast<std::uint64_t>(row.policy.algorithm)),
               static_cast<std::uint64_t>(row.policy.stores));
    CudaGeometry const& cuda = row.policy.cuda;
    hash = mix(mix(hash, static_cast<std::uint64_t>(cuda.lanes)), static_cast<std::uint64_t>(cuda.threads));
    hash = mix(hash, static_cast<std::uint64_t>(cuda.let_go));
    hash = mix(mix(hash, static_cast<std::uint64_t>(cuda.ordering)),
               static_cast<std::uint64_t>(cuda.dependent_launch));
  }
  return hash;
}

}  // namespace detail

//! @brief An empty type whose `rows()` is a constexpr array of Row.
template <class Table>
concept SelectionTable = std::is_empty_v<Table> && requires {
  { Table::rows()[0] } -> std::convertible_to<Row>;
  { Table::rows().size() } -> std::convertible_to<std::size_t>;
};

}  // namespace chevron

#endif

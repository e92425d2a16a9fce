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
//!     using enum chevron::AllReduceAlgorithm;
//!     return std::array{
//!         chevron::Row{.bytes = {0, 4096}, .policy = {one_shot_push}},
//!         chevron::Row{.architectures = {90, 100}, .ranks = {2, 4}, .in_windows_only = true,
//!                      .policy = {.algorithm = one_shot_pull, .cuda = {.lanes = 32, .packs = 4}}},
//!         chevron::Row{.policy = {reduce_scatter_all_gather}},
//!     };
//!   }
//! };
//! ```
//! What a table must be is proven by the compiler (table_proof.hpp): every call that a selector asks for reaches a row; every
//! row is reached by some call; and each row's algorithm can do what the row says. docs/selection.md tells it at length.

#include <chevron/core/element.hpp>
#include <chevron/core/hash.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/policy.hpp>

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

  //! Whether the row is for calls of a kind, at some size, wherever the buffers lie.
  //! @param allowed  relaxed where the caller allows results that are rounded otherwise
  [[nodiscard]] constexpr bool is_for(int rank_count, ElementKind element, OperationKind operation,
                                      EpilogueScope scope = EpilogueScope::element,
                                      Numerics allowed = Numerics::exact) const {
    return rank_count >= ranks.from && rank_count <= ranks.to && elements.contains(element) &&
           operations.contains(operation) && epilogues.contains(scope) &&
           (numerics == Numerics::exact || allowed == Numerics::relaxed);
  }

  //! Whether the row is for a call.
  [[nodiscard]] constexpr bool matches(int rank_count, ElementKind element, std::size_t size_bytes,
                                       WindowState windows, OperationKind operation = OperationKind::sum,
                                       int architecture = host_architecture,
                                       EpilogueScope scope = EpilogueScope::element,
                                       Numerics allowed = Numerics::exact) const {
    return is_for(rank_count, element, operation, scope, allowed) && size_bytes >= bytes.from &&
           size_bytes < bytes.to && architecture >= architectures.from && architecture < architectures.to &&
           (!in_windows_only || windows == WindowState::all);
  }
};

namespace detail {

//! @brief The rows of a table, made once.
template <class Table>
inline constexpr auto rows_of = Table::rows();

inline constexpr int no_row = -1;

//! @brief A number that stands for a table's rows.
template <class Table>
[[nodiscard]] consteval std::uint32_t fingerprint_of_table() {
  std::uint32_t hash = hash32("chevron table");
  for (Row const& row : rows_of<Table>) {
    hash = mix(hash, static_cast<std::uint64_t>(row.architectures.from) << 32 |
                         static_cast<std::uint64_t>(row.architectures.to));
    hash = mix(hash,
               static_cast<std::uint64_t>(row.ranks.from) << 32 | static_cast<std::uint64_t>(row.ranks.to));
    hash = mix(mix(hash, row.bytes.from), row.bytes.to);
    hash = mix(mix(hash, row.elements.bits), row.in_windows_only ? 1 : 0);
    hash = mix(mix(hash, row.operations.bits), row.epilogues.bits);
    hash = mix(hash, static_cast<std::uint64_t>(row.numerics));
    hash = mix(mix(hash, static_cast<std::uint64_t>(row.policy.algorithm)),
               static_cast<std::uint64_t>(row.policy.stores));
    CudaGeometry const& cuda = row.policy.cuda;
    hash = mix(mix(hash, static_cast<std::uint64_t>(cuda.lanes)), static_cast<std::uint64_t>(cuda.threads));
    hash = mix(mix(hash, static_cast<std::uint64_t>(cuda.packs)), static_cast<std::uint64_t>(cuda.packets));
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

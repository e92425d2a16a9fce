// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLE_PROOF_HPP
#define CHEVRON_SELECT_TABLE_PROOF_HPP

//! @file
//! Contract C2: what the compiler proves of a table. Each fault is one sentence, and the arguments of the type that it stands
//! in, which the compilers show beside it, name the row or the hole.

#include <chevron/core/op.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/identity.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/call_box.hpp>
#include <chevron/select/policy.hpp>
#include <chevron/select/table.hpp>
#include <chevron/transport/cuda_segment.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace chevron::detail {

// ---- each row by itself, and below the rows before it

//! @brief What may be wrong with a row.
enum class RowFault : unsigned char {
  none,
  no_algorithm,
  needs_windows,
  inexact,
  splits_rows,
  no_sentinel,
  bad_geometry,
  matches_nothing,
  hidden
};

//! @brief An algorithm that tables can name.
template <AllReduceAlgorithm Algorithm>
concept IsNamed = requires {
  typename AlgorithmNamed<Algorithm, 2, float, Sum, Identity>::type;
};

//! @brief The fault of a row that names `Algorithm`, as far as the row alone shows it.
template <class Algorithm>
[[nodiscard]] constexpr RowFault fault_of_row(Row const& row) {
  if (Algorithm::needs.direct_access && !row.in_windows_only) return RowFault::needs_windows;
  if (numerics_of<Algorithm> == Numerics::relaxed && row.numerics != Numerics::relaxed)
    return RowFault::inexact;
  if (!owns_whole_rows<Algorithm> && row.epilogues.contains(EpilogueScope::row)) return RowFault::splits_rows;
  if (row.policy.cuda.packets == PacketKind::bare) {
    for (unsigned kind = 0; CallBox::every[0] >> kind != 0; ++kind) {
      auto const element = static_cast<ElementKind>(kind);
      if (row.elements.contains(element) && !has_sentinel(element)) return RowFault::no_sentinel;
    }
  }
  CudaGeometry const& cuda = row.policy.cuda;
  if (cuda.lanes < 0 || cuda.threads < 128 || cuda.threads > 512 || cuda.threads % 32 != 0 ||
      cuda.packs < 0 || cuda.packs > most_packs_in_flight) {
    return RowFault::bad_geometry;
  }
  return RowFault::none;
}

//! @brief The fault of row `Number` of a table.
template <class Table, std::size_t Number>
[[nodiscard]] consteval RowFault fault_of_row() {
  constexpr Row const& row = rows_of<Table>[Number];
  if constexpr (!IsNamed<row.policy.algorithm>) {
    return RowFault::no_algorithm;
  } else {
    using Algorithm = typename AlgorithmNamed<row.policy.algorithm, 2, float, Sum, Identity>::type;
    if (RowFault const fault = fault_of_row<Algorithm>(row); fault != RowFault::none) return fault;
    auto const& boxes = boxes_of<Table>;
    if (boxes[Number].empty()) return RowFault::matches_nothing;
    bool const reached = !left_by(boxes.data(), boxes.data() + Number, boxes[Number]).empty();
    return reached ? RowFault::none : RowFault::hidden;
  }
}

//! @brief The first of the rows that take calls of row `number` away from it.
template <class Table>
[[nodiscard]] consteval std::size_t first_to_hide(std::size_t number) {
  auto const& boxes = boxes_of<Table>;
  std::size_t by = 0;
  while (by < number && boxes[by].and_also(boxes[number]).empty()) ++by;
  return by;
}

//! @brief A row that no call reaches: rows before it, of which `By` is the first, take all of its calls.
template <class Table, std::size_t Row, std::size_t By>
struct HiddenRow {
  static_assert(
      Row == By,
      "chevron: every row of a selection table must be reached by some call; got a row, the Row of this "
      "HiddenRow, all of whose calls are taken by rows before it, the first of them its By; see "
      "chevron/select/table.hpp");
  static constexpr bool value = Row == By;
};

//! @brief Whether row `Row` of a table, counted from 0, can do what it says.
template <class Table, std::size_t Row>
struct RowIsSound {
  static constexpr RowFault fault = fault_of_row<Table, Row>();
  static_assert(
      fault != RowFault::no_algorithm,
      "chevron: a row must name an algorithm that exists; got a Row of this RowIsSound whose algorithm has "
      "no AlgorithmNamed; see chevron/select/policy.hpp");
  static_assert(fault != RowFault::needs_windows,
                "chevron: a row whose algorithm works on windows must say in_windows_only; got a Row of this "
                "RowIsSound that "
                "claims every buffer; see chevron/select/table.hpp");
  static_assert(fault != RowFault::inexact,
                "chevron: a row whose algorithm does not give the reference's bits must say "
                "Numerics::relaxed; got a Row of "
                "this RowIsSound that claims exact numerics; see chevron/core/requirements.hpp");
  static_assert(fault != RowFault::splits_rows,
                "chevron: a row for epilogues of row scope must name an algorithm whose ranks own whole "
                "rows; got a Row of "
                "this RowIsSound whose algorithm splits them; see chevron/epilogue/scope.hpp");
  static_assert(fault != RowFault::no_sentinel,
                "chevron: a row with bare packets must be for elements that have a sentinel, the floats; got "
                "a Row of this "
                "RowIsSound for others too; see chevron/transport/cuda_segment.hpp");
  static_assert(fault != RowFault::bad_geometry,
                "chevron: a row's geometry must have 0 or more lanes, 128 to 512 threads in multiples of 32, "
                "and 0 to 8 packs; "
                "got a Row of this RowIsSound with others; see chevron/select/policy.hpp");
  static_assert(fault != RowFault::matches_nothing,
                "chevron: every row of a selection table must be reached by some call; got a Row of this "
                "RowIsSound with an "
                "empty range or set; see chevron/select/table.hpp");

  static constexpr bool value = fault == RowFault::none;
};

//! @brief The verdict on a row. It stands in classes alone, from whose values compilers go on after an error.
template <class Table, std::size_t Row, RowFault Fault = fault_of_row<Table, Row>()>
struct RowVerdict : RowIsSound<Table, Row> {};
template <class Table, std::size_t Row>
struct RowVerdict<Table, Row, RowFault::hidden> : HiddenRow<Table, Row, first_to_hide<Table>(Row)> {};

template <class Table, class Rows = std::make_index_sequence<rows_of<Table>.size()>>
inline constexpr bool rows_sound = false;
//! @brief Whether all rows of a table can do what they say.
template <class Table, std::size_t... Rows>
inline constexpr bool rows_sound<Table, std::index_sequence<Rows...>> = (RowVerdict<Table, Rows>::value &&
                                                                         ...);

// ---- all rows together

//! @brief Which dimension of a call has no row.
enum class HoleKind : unsigned char {
  none,
  rank_count,
  element,
  operation,
  architecture,
  scope,
  numerics,
  windows,
  size
};

//! @brief Calls that no row takes, and in what they differ from those that some row takes.
struct Hole {
  HoleKind kind = HoleKind::none;
  CallBox calls{};
};

//! @brief Calls among those asked for that no row of a table takes. What is asked for has one rank count; of several elements
//! or operations the first with a hole is named.
template <class Table>
[[nodiscard]] constexpr Hole hole_in(CallBox const& asked) {
  auto const& boxes = boxes_of<Table>;
  CallBox hole = left_by(boxes.data(), boxes.data() + boxes.size(), asked);
  if (hole.empty()) return {};
  for (int i = 0; i < CallBox::sets; ++i) hole.set[i] &= ~hole.set[i] + 1;  // one of each
  hole.span[0].to = hole.span[0].from + 1;
  // Dimension by dimension: which is the first that leaves no row?
  CallBox seen = CallBox::everything();
  auto const no_row_takes = [&](HoleKind kind) {
    for (CallBox const& box : boxes) {
      if (!box.and_also(seen).empty()) return Hole{HoleKind::none, hole};
    }
    return Hole{kind, hole};
  };
  struct Dimension {
    HoleKind kind;
    int span;
    int set;
  };
  constexpr Dimension dimensions[] = {{HoleKind::rank_count, 1, -1}, {HoleKind::element, -1, 0},
                                      {HoleKind::operation, -1, 1},  {HoleKind::architecture, 0, -1},
                                      {HoleKind::scope, -1, 3},      {HoleKind::numerics, -1, 4}};
  for (Dimension const& dimension : dimensions) {
    if (dimension.span >= 0) seen.span[dimension.span] = hole.span[dimension.span];
    if (dimension.set >= 0) seen.set[dimension.set] = hole.set[dimension.set];
    if (Hole const found = no_row_takes(dimension.kind); found.kind != HoleKind::none) return found;
  }
  seen.span[2] = hole.span[2];
  Hole const gap = no_row_takes(HoleKind::size);
  return gap.kind == HoleKind::none ? Hole{HoleKind::windows, hole} : gap;
}

//! @brief A hole: what the compiler shows beside the sentence.
//! @tparam Architecture, FromBytes, ToBytes  the least architecture and the sizes [FromBytes, ToBytes) that no row takes
template <class Table, HoleKind Kind, int NRanks, class T, class Op, std::size_t Architecture,
          std::size_t FromBytes, std::size_t ToBytes>
struct TableHole {
  static_assert(Kind != HoleKind::rank_count,
                "chevron: a selection table must have a row for every rank count asked for; got no row for "
                "the NRanks of this "
                "TableHole; see chevron/select/table.hpp");
  static_assert(
      Kind != HoleKind::element,
      "chevron: a selection table must have a row for every element asked for; got no row for the T of this "
      "TableHole; see chevron/select/table.hpp");
  static_assert(Kind != HoleKind::operation,
                "chevron: a selection table must have a row for every operation asked for; got no row for "
                "the Op of this "
                "TableHole; see chevron/select/table.hpp");
  static_assert(Kind != HoleKind::architecture,
                "chevron: a selection table must have a row for every architecture asked for, hosts being 0; "
                "got no row for "
                "the Architecture of this TableHole; see chevron/select/table.hpp");
  static_assert(Kind != HoleKind::scope,
                "chevron: a selection table must have a row for epilogues of row scope to be used with one; "
                "got none for the "
                "calls of this TableHole; see chevron/select/table.hpp");
  static_assert(Kind != HoleKind::numerics,
                "chevron: a selection table must have a row with exact numerics for every call of a selector "
                "that does not "
                "allow relaxed ones; got none for the calls of this TableHole; see chevron/select/table.hpp");
  static_assert(Kind != HoleKind::size,
                "chevron: a selection table must have a row for every size; got a gap from FromBytes to "
                "ToBytes of this "
                "TableHole; see chevron/select/table.hpp");
  static_assert(Kind != HoleKind::windows,
                "chevron: a selection table must have a row for buffers that lie in no window; got rows with "
                "in_windows_only "
                "alone from FromBytes to ToBytes of this TableHole; see chevron/select/table.hpp");
  static constexpr bool value = Kind == HoleKind::none;
};

template <std::size_t Index, class First, class... Rest>
struct TypeAt : TypeAt<Index - 1, Rest...> {};
template <class First, class... Rest>
struct TypeAt<0, First, Rest...> {
  using type = First;
};

//! @brief Calls of one rank count, with what a selector lists.
template <int NRanks, EpilogueScope Scope, Numerics Allowed, int FromArchitecture, int ToArchitecture,
          class Types, class Ops>
struct AskedCalls;
template <int NRanks, EpilogueScope Scope, Numerics Allowed, int FromArchitecture, int ToArchitecture,
          template <class...> class Types, class... Ts, template <class...> class Operations, class... Ops>
struct AskedCalls<NRanks, Scope, Allowed, FromArchitecture, ToArchitecture, Types<Ts...>,
                  Operations<Ops...>> {
  static constexpr CallBox box{
      {{FromArchitecture, ToArchitecture}, {NRanks, NRanks + 1}, {0, ByteRange::unlimited}},
      {ElementSet::of(ElementTraits<Ts>::kind...).bits, OperationSet::of(operation_kind<Ops>...).bits,
       CallBox::every[2], ScopeSet::of(Scope).bits, std::uint32_t{1} << static_cast<unsigned>(Allowed)}};

  //! The first element and operation of a hole.
  [[nodiscard]] static constexpr std::size_t element_of(CallBox const& hole) {
    bool const is[] = {ElementSet{hole.set[0]}.contains(ElementTraits<Ts>::kind)...};
    return first_of(is);
  }
  [[nodiscard]] static constexpr std::size_t operation_of(CallBox const& hole) {
    bool const is[] = {OperationSet{hole.set[1]}.contains(operation_kind<Ops>)...};
    return first_of(is);
  }
  template <std::size_t Index>
  using element_at = typename TypeAt<Index, Ts...>::type;
  template <std::size_t Index>
  using operation_at = typename TypeAt<Index, Ops...>::type;

 private:
  template <std::size_t Size>
  [[nodiscard]] static constexpr std::size_t first_of(bool const (&is)[Size]) {
    std::size_t i = 0;
    while (i + 1 < Size && !is[i]) ++i;
    return i;
  }
};

template <class Table, int NRanks, class Asked, HoleKind Kind = hole_in<Table>(Asked::box).kind>
struct HoleVerdict {
  static constexpr CallBox hole = hole_in<Table>(Asked::box).calls;
  static constexpr bool value =
      TableHole<Table, Kind, NRanks, typename Asked::template element_at<Asked::element_of(hole)>,
                typename Asked::template operation_at<Asked::operation_of(hole)>, hole.span[0].from,
                hole.span[2].from, hole.span[2].to>::value;
};
template <class Table, int NRanks, class Asked>
struct HoleVerdict<Table, NRanks, Asked, HoleKind::none> : std::true_type {};

//! @brief Whether a table has a row for all calls of a kind; where not, the sentence is TableHole's.
template <class Table, int NRanks, EpilogueScope Scope, Numerics Allowed, int FromArchitecture,
          int ToArchitecture, class Types, class Ops>
inline constexpr bool table_covers =
    HoleVerdict<Table, NRanks,
                AskedCalls<NRanks, Scope, Allowed, FromArchitecture, ToArchitecture, Types, Ops>>::value;

}  // namespace chevron::detail

#endif

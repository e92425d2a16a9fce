// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_CALL_BOX_HPP
#define CHEVRON_SELECT_CALL_BOX_HPP

//! @file
//! Sets of calls as boxes: a range or a set in each of the dimensions that rows of a table speak of. A row takes a box of
//! calls, a selector asks for boxes, and what rows leave of a box is again a few boxes: so what no row takes is found
//! exactly, whatever the numbers, without looking at single calls.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/rank.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace chevron::detail {

//! @brief A half-open range of whatever numbers a dimension has.
struct Span {
  std::size_t from = 0;
  std::size_t to = 0;

  [[nodiscard]] constexpr bool empty() const { return from >= to; }
  [[nodiscard]] constexpr bool contains(Span const& other) const {
    return from <= other.from && other.to <= to;
  }
  [[nodiscard]] constexpr Span and_also(Span const& other) const {
    return {from > other.from ? from : other.from, to < other.to ? to : other.to};
  }
};

//! @brief All combinations of what stands in each dimension. Empty where one dimension is.
struct CallBox {
  static constexpr int spans = 3;  //!< architecture, rank count, size in bytes
  static constexpr int sets = 5;   //!< elements, operations, window states, epilogue scopes, numerics
  static constexpr std::uint32_t every[sets] = {0x1fff, 0x3f, 3, 3, 3};

  Span span[spans] = {};
  std::uint32_t set[sets] = {};

  //! Every call that there can be.
  [[nodiscard]] static constexpr CallBox everything() {
    return {{{0, ArchitectureRange::unlimited}, {1, max_ranks + 1}, {0, ByteRange::unlimited}},
            {every[0], every[1], every[2], every[3], every[4]}};
  }

  //! The calls that a row matches. One without exact numerics is only for calls that allow relaxed ones.
  [[nodiscard]] static constexpr CallBox of(Row const& row) {
    CallBox const all = everything();
    CallBox box{{{unsigned_of(row.architectures.from), unsigned_of(row.architectures.to)},
                 {unsigned_of(row.ranks.from), unsigned_of(row.ranks.to) + 1},
                 {row.bytes.from, row.bytes.to}},
                {row.elements.bits, row.operations.bits, row.in_windows_only ? 2u : 3u, row.epilogues.bits,
                 row.numerics == Numerics::relaxed ? 2u : 3u}};
    return box.and_also(all);
  }

  [[nodiscard]] constexpr bool empty() const {
    for (Span const& one : span) {
      if (one.empty()) return true;
    }
    for (std::uint32_t const one : set) {
      if (one == 0) return true;
    }
    return false;
  }
  [[nodiscard]] constexpr bool contains(CallBox const& other) const {
    for (int i = 0; i < spans; ++i) {
      if (!span[i].contains(other.span[i])) return false;
    }
    for (int i = 0; i < sets; ++i) {
      if ((other.set[i] & ~set[i]) != 0) return false;
    }
    return true;
  }
  [[nodiscard]] constexpr CallBox and_also(CallBox const& other) const {
    CallBox both;
    for (int i = 0; i < spans; ++i) both.span[i] = span[i].and_also(other.span[i]);
    for (int i = 0; i < sets; ++i) both.set[i] = set[i] & other.set[i];
    return both;
  }

 private:
  static constexpr std::size_t unsigned_of(int value) {
    return value < 0 ? 0 : static_cast<std::size_t>(value);
  }
};

//! @brief Calls of a box that none of the boxes [first, last) takes: a box of them, or an empty one where all are taken.
[[nodiscard]] constexpr CallBox left_by(CallBox const* first, CallBox const* last, CallBox box) {
  // Mostly one row takes all that is left.
  for (CallBox const* taker = first; taker != last; ++taker) {
    if (taker->contains(box)) return {};
  }
  for (; first != last; ++first) {
    CallBox const taken = box.and_also(*first);
    if (taken.empty()) continue;
    // What this row leaves, cut off dimension by dimension: what is cut off is looked at, the rest is still to be cut.
    for (int i = 0; i < CallBox::spans; ++i) {
      CallBox piece = box;
      piece.span[i] = {box.span[i].from, taken.span[i].from};
      if (!piece.span[i].empty()) {
        if (CallBox const left = left_by(first + 1, last, piece); !left.empty()) return left;
      }
      piece.span[i] = {taken.span[i].to, box.span[i].to};
      if (!piece.span[i].empty()) {
        if (CallBox const left = left_by(first + 1, last, piece); !left.empty()) return left;
      }
      box.span[i] = taken.span[i];
    }
    for (int i = 0; i < CallBox::sets; ++i) {
      CallBox piece = box;
      piece.set[i] = box.set[i] & ~taken.set[i];
      if (piece.set[i] != 0) {
        if (CallBox const left = left_by(first + 1, last, piece); !left.empty()) return left;
      }
      box.set[i] = taken.set[i];
    }
    return {};
  }
  return box;
}

//! @brief The calls of each row of a table.
template <class Table>
inline constexpr auto boxes_of = [] {
  std::array<CallBox, rows_of<Table>.size()> boxes{};
  for (std::size_t i = 0; i < boxes.size(); ++i) boxes[i] = CallBox::of(rows_of<Table>[i]);
  return boxes;
}();

}  // namespace chevron::detail

#endif

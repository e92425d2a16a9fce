// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_SIZE_CLASSES_HPP
#define CHEVRON_SELECT_SIZE_CLASSES_HPP

//! @file
//! What is left of a table once all but the size, the windows and the architecture is known: ranges of sizes, in order, with
//! a row for each. It is worked out by the compiler, so that a choice at run time is a look at a few numbers.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/requirements.hpp>
#include <chevron/epilogue/scope.hpp>
#include <chevron/select/table.hpp>

#include <array>
#include <cstddef>

namespace chevron::detail {

//! @brief Sizes and architectures for which the same two rows are taken; both ranges half-open. no_row where a table has none.
struct SizeClass {
  int architecture_from = 0;
  int architecture_to = 0;
  std::size_t bytes_from = 0;
  std::size_t bytes_to = 0;
  int in_windows = no_row;  //!< the row for buffers that all lie in windows
  int elsewhere = no_row;   //!< and for others
};

//! @brief Numbers at which something begins, in ascending order, each once.
template <class Number, std::size_t Most>
struct Borders {
  Number at[Most] = {};
  std::size_t count = 0;

  constexpr void add(Number border) {
    std::size_t i = count;
    while (i > 0 && at[i - 1] > border) --i;
    if (i > 0 && at[i - 1] == border) return;
    for (std::size_t k = count; k > i; --k) at[k] = at[k - 1];
    at[i] = border;
    ++count;
  }
};

//! @brief The classes of sizes of one rank count, element and operation.
template <class Table, int NRanks, ElementKind Element, OperationKind Operation, EpilogueScope Scope,
          Numerics Allowed>
struct SizeClasses {
 private:
  static constexpr std::size_t row_count = rows_of<Table>.size();

  template <class Visit>
  static constexpr void for_each_class(Visit&& visit) {
    auto const& rows = rows_of<Table>;
    int relevant[row_count] = {};
    std::size_t count = 0;
    Borders<int, 2 * row_count + 2> architectures;
    Borders<std::size_t, 2 * row_count + 2> bytes;
    architectures.add(0);
    bytes.add(0);
    for (std::size_t i = 0; i < row_count; ++i) {
      if (!rows[i].is_for(NRanks, Element, Operation, Scope, Allowed)) continue;
      relevant[count++] = static_cast<int>(i);
      architectures.add(rows[i].architectures.from);
      architectures.add(rows[i].architectures.to);
      bytes.add(rows[i].bytes.from);
      bytes.add(rows[i].bytes.to);
    }
    architectures.add(ArchitectureRange::unlimited);
    bytes.add(ByteRange::unlimited);

    SizeClass now{};
    bool is_first = true;
    for (std::size_t a = 0; a + 1 < architectures.count; ++a) {
      for (std::size_t b = 0; b + 1 < bytes.count; ++b) {
        SizeClass next{
            architectures.at[a], architectures.at[a + 1], bytes.at[b], bytes.at[b + 1], no_row, no_row};
        for (std::size_t r = 0; r < count && next.elsewhere == no_row; ++r) {
          Row const& row = rows[static_cast<std::size_t>(relevant[r])];
          bool const is_here = row.bytes.from <= next.bytes_from && next.bytes_from < row.bytes.to &&
                               row.architectures.from <= next.architecture_from &&
                               next.architecture_from < row.architectures.to;
          if (!is_here) continue;
          if (next.in_windows == no_row) next.in_windows = relevant[r];
          if (!row.in_windows_only) next.elsewhere = relevant[r];
        }
        bool const goes_on =
            !is_first && b > 0 && next.in_windows == now.in_windows && next.elsewhere == now.elsewhere;
        if (goes_on) {
          now.bytes_to = next.bytes_to;
        } else {
          if (!is_first) visit(now);
          now = next;
        }
        is_first = false;
      }
    }
    visit(now);
  }

  static constexpr std::size_t class_count = [] {
    std::size_t classes = 0;
    for_each_class([&](SizeClass const&) { ++classes; });
    return classes;
  }();

 public:
  //! By architecture, then by size; together they are everything.
  static constexpr std::array<SizeClass, class_count> all = [] {
    std::array<SizeClass, class_count> classes{};
    std::size_t i = 0;
    for_each_class([&](SizeClass const& one) { classes[i++] = one; });
    return classes;
  }();

  //! The class of one size on one architecture.
  [[nodiscard]] static constexpr SizeClass const& of(int architecture, std::size_t size_bytes) {
    std::size_t i = 0;
    while (i + 1 < class_count && (size_bytes >= all[i].bytes_to || architecture >= all[i].architecture_to)) {
      ++i;
    }
    return all[i];
  }
};

}  // namespace chevron::detail

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is a table. Here the compilers name the concept that does not hold.
#include <array>

#include <chevron/chevron.hpp>

using namespace chevron;

struct Table {
#if defined(CASE_table_with_state)  // expect-error: SelectionTable
  int state = 0;
#endif
#if defined(CASE_rows_of_something_else)  // expect-error: SelectionTable
  static constexpr auto rows() { return std::array{1, 2, 3}; }
#elif defined(CASE_no_rows)  // expect-error: SelectionTable
#elif defined(CASE_one_row_without_array)  // expect-error: SelectionTable
  static constexpr auto rows() { return Row{}; }
#else
  static constexpr auto rows() { return std::array{Row{}}; }
#endif
};

using Chosen = Selector<Table, RankCounts<2>, Elements<float>>;
constexpr bool total = Chosen::total;

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What with_rank_count returns must not depend on a rank count that is known only when the program runs.
#include <array>

#include <chevron/chevron.hpp>

using namespace chevron;

auto call(int rank_count) {
  return with_rank_count<RankCounts<2, 4>>(rank_count, [](auto n) {
#if defined(CASE_an_array_of_ranks)  // expect-error: chevron: a function must return one type for all rank counts; got another type for one of them
    return std::array<int, n()>{};
#elif defined(CASE_a_type_that_converts)  // expect-error: chevron: a function must return one type for all rank counts; got another type for one of them
    if constexpr (n() == 2) {
      return 1;
    } else {
      return 2.5;
    }
#elif defined(CASE_sometimes_nothing)  // expect-error: chevron: a function must return one type for all rank counts; got another type for one of them
    if constexpr (n() == 2) return 1;
#else
    return n();
#endif
  });
}

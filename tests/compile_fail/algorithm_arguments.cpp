// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An algorithm's own template arguments. Here the compilers name the concept that does not hold.
#include <chevron/chevron.hpp>

using namespace chevron;

struct NoOperation {};
struct NoEpilogue {};

#if defined(CASE_rank_count_of_33)  // expect-error: RankCountInRange
using Algorithm = OneShotPush<33, float>;
#elif defined(CASE_rank_count_of_0)  // expect-error: RankCountInRange
using Algorithm = ReduceScatterAllGather<0, float>;
#elif defined(CASE_bool_is_no_element)  // expect-error: Element<T>|'Element'
using Algorithm = ReduceScatterAllGatherZeroCopy<2, bool>;
#elif defined(CASE_no_operation)  // expect-error: ReductionOp
using Algorithm = OneShotPush<2, float, NoOperation>;
#elif defined(CASE_no_epilogue)  // expect-error: ElementEpilogue
using Algorithm = OneShotPush<2, float, Sum, NoEpilogue>;
#else
using Algorithm = OneShotPush<32, float>;
#endif

constexpr char const* name = Algorithm::name;

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An operation of one's own that is nearly one.
#include <chevron/chevron.hpp>

using namespace chevron;

#if defined(CASE_final)  // expect-error: chevron: a reduction operation must be an empty type with static combine
struct Own final {
#else
struct Own {
#endif
#if defined(CASE_combine_is_no_static_function)  // expect-error: chevron: a reduction operation must be an empty type with static combine
  float combine(float a, float b) const { return a + b; }
#elif defined(CASE_combine_takes_one)  // expect-error: chevron: a reduction operation must be an empty type with static combine
  static float combine(float a) { return a; }
#else
  static float combine(float a, float b) { return a + b; }
#endif
#if defined(CASE_finish_without_rank_count)  // expect-error: chevron: a reduction operation must be an empty type with static combine
  static float finish(float sum) { return sum; }
#elif defined(CASE_finish_gives_another_type)  // expect-error: chevron: a reduction operation must be an empty type with static combine
  static double finish(float sum, int) { return sum; }
#else
  static float finish(float sum, int rank_count) { return sum / static_cast<float>(rank_count); }
#endif
};

Result<void> call(Communicator<HostThreads<2>> const& ranks, float* data) {
  using Chosen = Selector<tables::Host, RankCounts<2>, Elements<float>, Operations<Own>>;
  return all_reduce<Chosen>(ranks, data, data, 10, Own{});
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An algorithm brings its operation; a call that names another one would not get it.
#include <chevron/chevron.hpp>

using namespace chevron;

#if defined(CASE_max_for_a_sum)  // expect-error: chevron: an algorithm must be instantiated for the operation of the call; got another Op
using Wanted = Max;
#elif defined(CASE_sum_for_one_of_the_users)  // expect-error: chevron: an algorithm must be instantiated for the operation of the call; got another Op
struct Wanted {
  static float combine(float a, float b) { return a + b; }
};
#else
using Wanted = Sum;
#endif

Result<void> calls(Communicator<HostThreads<2>> const& ranks, float* data) {
  if (auto done = all_reduce<ReduceScatterAllGather<2, float, Max>>(ranks, data, data, 10); !done) return done;
  return all_reduce<OneShotPush<2, float, Sum>>(ranks, data, data, 10, Wanted{});
}

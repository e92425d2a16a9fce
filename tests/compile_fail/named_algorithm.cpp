// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An algorithm that is named must be instantiated for exactly the call.
#include <chevron/chevron.hpp>

using namespace chevron;

struct Twice {
  float operator()(float value, std::size_t) const { return 2 * value; }
};

#if defined(CASE_other_rank_count)  // expect-error: chevron: an algorithm must be instantiated for the communicator's rank count
using Chosen = OneShotPush<4, float, Sum, Twice>;
#elif defined(CASE_other_element)  // expect-error: chevron: an algorithm must be instantiated for the element of the call
using Chosen = OneShotPush<2, double, Sum>;
#elif defined(CASE_other_epilogue)  // expect-error: chevron: an algorithm must be instantiated for the epilogue of the call
using Chosen = OneShotPush<2, float, Sum>;
#elif defined(CASE_no_algorithm)  // expect-error: chevron: the first template argument of a collective must be a Selector or one of its algorithms
using Chosen = Twice;
#else
using Chosen = OneShotPush<2, float, Sum, Twice>;
#endif

Result<void> call(Communicator<HostThreads<2>> const& ranks, float* data) {
  return all_reduce<Chosen>(ranks, data, data, 10, Sum{}, Twice{});
}

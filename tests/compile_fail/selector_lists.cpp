// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A call must be one that its selector was made for, and a selector's lists must make sense.
#include <chevron/chevron.hpp>

using namespace chevron;

#if defined(CASE_no_rank_count)  // expect-error: chevron: a selector needs a rank count, an element and an operation at least
using Counts = RankCounts<>;
#elif defined(CASE_rank_count_of_33)  // expect-error: chevron: a rank count must be 1 to 32; got another in RankCounts
using Counts = RankCounts<2, 33>;
#elif defined(CASE_rank_count_of_0)  // expect-error: chevron: a rank count must be 1 to 32; got another in RankCounts
using Counts = RankCounts<2, 0>;
#elif defined(CASE_other_rank_count)  // expect-error: chevron: a selector's RankCounts must contain the communicator's rank count
using Counts = RankCounts<3, 4>;
#else
using Counts = RankCounts<2>;
#endif

#if defined(CASE_no_element)  // expect-error: chevron: a selector needs a rank count, an element and an operation at least
using Types = Elements<>;
#elif defined(CASE_bool_is_no_element)  // expect-error: chevron: Elements must list elements; got a type without ElementTraits
using Types = Elements<float, bool>;
#elif defined(CASE_long_double_is_no_element)  // expect-error: chevron: Elements must list elements; got a type without ElementTraits
using Types = Elements<float, long double>;
#elif defined(CASE_other_element)  // expect-error: chevron: a selector's Elements must contain the element of the call
using Types = Elements<double>;
#else
using Types = Elements<float>;
#endif

#if defined(CASE_other_operation)  // expect-error: chevron: a selector's Operations must contain the operation of the call
using Ops = Operations<Max>;
#else
using Ops = Operations<Sum>;
#endif

#if defined(CASE_negative_architecture)  // expect-error: chevron: an architecture must be 0, a host, or a compute capability times ten
using Archs = Architectures<-90>;
#elif defined(CASE_devices_alone)  // expect-error: chevron: a selector's Architectures must contain one of the transport's, 0 on a host
using Archs = Architectures<90, 100>;
#else
using Archs = Architectures<90, host_architecture>;
#endif

using Chosen = Selector<tables::Host, Counts, Types, Ops, Archs>;

Result<void> call(Communicator<HostThreads<2>> const& ranks, float* data) {
  return all_reduce<Chosen>(ranks, data, data, 10, Sum{});
}

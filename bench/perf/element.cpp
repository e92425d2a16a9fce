// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! Everything that chevron-perf instantiates for one element. Meson compiles this file once for each, with
//! CHEVRON_PERF_ELEMENT, CHEVRON_PERF_RANK_COUNTS and CHEVRON_PERF_OPS set, so that the compiler works on
//! several at a time.

#include <string>
#include <utility>
#include <vector>

#include <chevron/chevron.hpp>
#include <perf/chevron_processes.hpp>
#include <perf/chevron_ranks.hpp>
#include <perf/chevron_threads.hpp>

namespace perf {

namespace {

template <class Ops>
struct OpNames;
template <class... Ops>
struct OpNames<chevron::Operations<Ops...>> {
  static std::vector<std::string> list() { return {Ops::name...}; }
};

}  // namespace

template <class T>
OpenedChevron open_chevron_ranks(ChevronRanks const& ranks) {
  using Counts = chevron::RankCounts<CHEVRON_PERF_RANK_COUNTS>;
  using Ops = chevron::Operations<CHEVRON_PERF_OPS>;

  auto contestant = chevron::with_rank_count<Counts>(ranks.rank_count, [&](auto count) {
    constexpr int n = decltype(count)::value;
    using Selector =
        chevron::Selector<chevron::tables::Host, chevron::RankCounts<n>, chevron::Elements<T>, Ops>;
    return ranks.transport == "host_threads" ? open_chevron_threads<Selector, T, n>(ranks)
                                             : open_chevron_processes<Selector, T, n>(ranks);
  });
  if (!contestant) return {.why_not = contestant.error().message()};
  return {.contestant = std::move(*contestant),
          .ops = OpNames<Ops>::list(),
          .why_not = "the ranks could not be started"};
}

template OpenedChevron open_chevron_ranks<CHEVRON_PERF_ELEMENT>(ChevronRanks const&);

}  // namespace perf

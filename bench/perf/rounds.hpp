// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_ROUNDS_HPP
#define CHEVRON_PERF_ROUNDS_HPP

#include <string>
#include <vector>

#include <perf/contestant.hpp>
#include <perf/rank/task.hpp>
#include <perf/row.hpp>
#include <perf/settings.hpp>

namespace perf {

//! @brief Something that is to be timed, and what came of it.
struct Entry {
  Contestant* contestant;
  Task task;
  std::vector<double> seconds = {};  //!< per call, for each batch of every round
  std::string policy = "-";
  std::string error = {};

  Times times() const { return Times::of(seconds); }
  long calls() const { return static_cast<long>(seconds.size()) * task.iterations; }
};

//! @brief Some batches of an entry: seconds per call for each; what failed, and the policy, go to the entry.
std::vector<double> ask(Entry& entry, long warmup, long batches);

//! @brief Finds how many calls fill a batch, unless that is given.
//! @return seconds per call of the batches that were run for that
std::vector<double> choose_iterations(Entry& entry, Settings const& settings);

//! @brief Times all entries in turns: each gets a share of every round, so that what else happens on the
//! machine meanwhile strikes all alike.
void run_rounds(std::vector<Entry*> const& entries, Settings const& settings);

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_RANK_BATCHES_HPP
#define CHEVRON_PERF_RANK_BATCHES_HPP

#include <chrono>
#include <vector>

#include <perf/rank/task.hpp>

namespace perf {

//! @brief This rank's time per call, for each batch of calls. A barrier stands before every batch and is not
//! timed. The same code times chevron and its peers.
template <class Barrier, class Call>
std::vector<double> time_batches(Task const& task, Barrier&& barrier, Call&& call) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> seconds(static_cast<std::size_t>(task.batches));
  for (long i = 0; i < task.warmup; ++i) call();
  for (double& batch : seconds) {
    barrier();
    auto const start = Clock::now();
    for (long i = 0; i < task.iterations; ++i) call();
    std::chrono::duration<double> const elapsed = Clock::now() - start;
    batch = elapsed.count() / static_cast<double>(task.iterations);
  }
  return seconds;
}

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CHEVRON_THREADS_HPP
#define CHEVRON_PERF_CHEVRON_THREADS_HPP

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <perf/join.hpp>

namespace perf {

//! @brief Ranks that are threads of this process.
template <class Selector, class T, int NRanks>
std::unique_ptr<Contestant> open_chevron_threads(ChevronRanks const& ranks) {
  struct Shared {
    explicit Shared(ChevronRanks const& given) : ranks(given) {}
    ChevronRanks ranks;
    chevron::HostThreads<NRanks> group;
    SpinBarrier barrier{NRanks};
    std::vector<std::jthread> threads;  // the last member, so the first to go
  };
  auto shared = std::make_shared<Shared>(ranks);
  std::vector<Channel> channels;
  for (int rank = 0; rank < NRanks; ++rank) {
    auto [here, there] = Channel::pair();
    channels.push_back(std::move(here));
    shared->threads.emplace_back([rank, &all = *shared, channel = std::move(there)]() mutable {
      join_and_serve<Selector, T>(all.group, rank, all.barrier, all.ranks, channel);
    });
  }
  return std::make_unique<Contestant>("chevron", "", std::move(channels),
                                      [shared] { shared->threads.clear(); });
}

}  // namespace perf

#endif

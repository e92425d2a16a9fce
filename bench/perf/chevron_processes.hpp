// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CHEVRON_PROCESSES_HPP
#define CHEVRON_PERF_CHEVRON_PROCESSES_HPP

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <perf/child_process.hpp>
#include <perf/join.hpp>

namespace perf {

//! @brief A barrier in memory that processes forked later share with this one.
inline std::shared_ptr<SpinBarrier> shared_barrier(int rank_count) {
  void* const memory =
      ::mmap(nullptr, sizeof(SpinBarrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {new (memory) SpinBarrier(rank_count),
          [](SpinBarrier* barrier) { ::munmap(barrier, sizeof *barrier); }};
}

//! @brief Ranks that are processes, forked from this one.
template <class Selector, class T, int NRanks>
std::unique_ptr<Contestant> open_chevron_processes(ChevronRanks const& ranks) {
  auto const barrier = shared_barrier(NRanks);
  if (!barrier) return nullptr;
  auto const key = chevron::SharedMemoryKey::random();
  auto processes = std::make_shared<std::vector<ChildProcess>>();
  std::vector<Channel> channels;
  for (int rank = 0; rank < NRanks; ++rank) {
    auto [here, there] = Channel::pair();
    auto const pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      {
        chevron::HostSharedMemory<NRanks> group(key);
        join_and_serve<Selector, T>(group, rank, *barrier, ranks, there);
      }
      ::_exit(0);
    }
    processes->emplace_back(pid > 0 ? pid : 0);
    channels.push_back(std::move(here));
  }
  return std::make_unique<Contestant>("chevron", "", std::move(channels), [processes, barrier] {
    for (auto& process : *processes) process.wait(std::chrono::seconds(5));
  });
}

}  // namespace perf

#endif

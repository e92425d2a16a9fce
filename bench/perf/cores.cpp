// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sched.h>

#include <fstream>
#include <set>
#include <string>

#include <perf/cores.hpp>

namespace perf {

namespace {

//! The CPUs that share a core with this one, as the kernel writes them; the same text for each of them.
std::string siblings(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::string list;
  if (!std::getline(file, list)) list = std::to_string(cpu);
  return list;
}

}  // namespace

std::vector<int> cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  std::set<std::string> seen;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed) && seen.insert(siblings(cpu)).second) cpus.push_back(cpu);
  return cpus;
}

}  // namespace perf

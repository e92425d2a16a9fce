// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ctime>
#include <fstream>
#include <string>

#include <chevron/core/config.hpp>
#include <perf/cores.hpp>
#include <perf/machine.hpp>

namespace perf {

namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    auto const begin = line.find_first_not_of(" \t", line.find(':') + 1);
    return begin == std::string::npos ? "unknown CPU" : line.substr(begin);
  }
  return "unknown CPU";
}

std::string compiler_version() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("gcc ") + __VERSION__;
#endif
}

std::string utc() {
  std::time_t const now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

Machine Machine::current() {
  return {.cpu = cpu_model(),
          .cores = perf::cores().size(),
          .compiler = compiler_version(),
          .date = utc(),
          .chevron = std::to_string(CHEVRON_VERSION_MAJOR) + '.' + std::to_string(CHEVRON_VERSION_MINOR) +
                     '.' + std::to_string(CHEVRON_VERSION_PATCH)};
}

}  // namespace perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_SETTINGS_HPP
#define CHEVRON_PERF_SETTINGS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perf {

enum class Memory { window, plain };

//! @brief What the command line asks for.
struct Settings {
  std::string collective = "all_reduce";

  std::size_t min_bytes = 64;
  std::size_t max_bytes = 64 << 20;
  std::size_t factor = 4;

  std::vector<std::string> transports = {"host_threads"};
  std::vector<int> rank_counts = {2};
  std::vector<std::string> elements = {"float"};
  std::vector<std::string> ops = {"sum"};
  std::vector<std::string> algorithms = {"auto"};
  std::vector<std::string> peers = {};

  Memory memory = Memory::window;
  std::optional<bool> pin;  //!< not given: where each rank gets a core of its own
  int lanes = 1;            //!< threads of each rank
  bool check = true;
  std::uint64_t seed = 1;

  std::optional<long> iterations;  //!< calls in a batch; not given: as many as fill batch_seconds
  std::optional<long> warmup;      //!< untimed calls before a round's batches
  double row_seconds = 0.4;        //!< what each contestant may spend on a row
  long rounds = 5;

  std::string json_file;
  std::string policies_file;         //!< instead of sizes and algorithms: heats, see heats.hpp
  std::optional<bool> non_temporal;  //!< whether stores may go past the caches; not given: by the CPU
  std::string command;               //!< as it was given
};

//! @brief Whether buffers lie where every rank can reach them. Threads reach all memory.
inline bool buffers_in_windows(std::string const& transport, Memory memory) {
  return memory == Memory::window || transport == "host_threads";
}

//! @brief Sizes from the smallest to the largest, each a factor above the last.
inline std::vector<std::size_t> sizes_of(Settings const& settings) {
  std::vector<std::size_t> sizes;
  for (auto bytes = settings.min_bytes; bytes <= settings.max_bytes; bytes *= settings.factor) {
    sizes.push_back(bytes);
    if (bytes > settings.max_bytes / settings.factor) break;  // the next one might not fit into a size_t
  }
  return sizes;
}

}  // namespace perf

#endif

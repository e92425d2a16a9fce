// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_SETTINGS_HPP
#define CHEVRON_PERF_CUDA_SETTINGS_HPP

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <perf/settings.hpp>

namespace perf {

//! @brief What the command line of chevron-perf-cuda asks for, beyond what chevron-perf's does.
struct CudaSettings : Settings {
  std::vector<int> devices = {0};  //!< of the ranks, in order; repeated where there are more ranks
  bool graph = false;              //!< time replays of captured calls instead of the calls themselves
  bool host_time = false;          //!< tell what a call costs the calling thread
  bool copy = true;                //!< the yardstick
  bool system_scope = false;       //!< also where all ranks share a device
  int most_lanes = 0;              //!< CudaOptions::lanes

  // The grid: an algorithm by name runs with each combination, and with the fastest of them is timed.
  std::vector<int> lanes_tried = {0};
  std::vector<int> threads_tried = {512};
  std::vector<std::string> orderings_tried = {"relaxed_arrival"};
  std::vector<int> packs_tried = {0};  //!< in flight in each thread; 0: as many as the library takes
  std::vector<std::string> let_go_tried = {"at_once"};
  std::string grid_file;  //!< for the times of all combinations

  std::chrono::milliseconds deadline{5'000};

  // Of the communicators; 0: the library's own number.
  std::size_t packet_bytes = 0;
  std::size_t chunk_bytes = 0;

  CudaSettings() {
    max_bytes = 256 << 20;
    elements = {"bfloat16"};
    transports = {"cuda_peer"};
    rounds = 9;
  }

  //! The device of each of so many ranks.
  [[nodiscard]] std::vector<int> devices_of(int rank_count) const {
    std::vector<int> all;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(rank_count); ++rank)
      all.push_back(devices[rank % devices.size()]);
    return all;
  }
};

inline constexpr std::string_view device_algorithm_names[] = {"auto",
                                                              "one_shot_push",
                                                              "one_shot_pull",
                                                              "two_shot_push",
                                                              "reduce_scatter_all_gather",
                                                              "reduce_scatter_all_gather_zero_copy",
                                                              "reduce_scatter_all_gather_push"};
inline constexpr std::string_view device_element_names[] = {"bfloat16", "half", "float"};
inline constexpr int device_rank_counts[] = {2, 3, 4, 8};
inline constexpr std::string_view ordering_names[] = {"formal", "relaxed_arrival", "relaxed"};
//! When a kernel's successor may be launched; the last one is the absence of programmatic dependent launch.
inline constexpr std::string_view let_go_names[] = {"at_once", "when_sent", "when_met", "never"};

}  // namespace perf

#endif

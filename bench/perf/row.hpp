// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_ROW_HPP
#define CHEVRON_PERF_ROW_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace perf {

//! @brief Times of one call in microseconds, over all batches.
struct Times {
  double median = 0;
  double min = 0;
  double max = 0;

  static Times of(std::vector<double> seconds) {
    if (seconds.empty()) return {};
    std::sort(seconds.begin(), seconds.end());
    auto const middle = seconds.size() / 2;
    auto const median =
        seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
    return {median * 1e6, seconds.front() * 1e6, seconds.back() * 1e6};
  }
};

//! @brief How a call was launched on a device.
struct Launch {
  int lanes = 0;
  int threads = 0;
  int packs = 0;  //!< in flight in each thread; 0: the library's own number
  std::string ordering = {};
  std::string let_go = {};  //!< when its successor may be launched

  std::string text() const {
    auto const all = std::to_string(lanes) + 'x' + std::to_string(threads) + ' ' + ordering + ' ' + let_go;
    return packs == 0 ? all : all + " packs=" + std::to_string(packs);
  }
};

//! @brief What a call costs the calling thread, in microseconds, and what a bare launch of an empty kernel does.
struct HostTime {
  double call = 0;
  double empty_kernel = 0;
};

//! @brief One algorithm at one size, out of place or in place.
struct Row {
  std::string collective;
  std::string transport;
  int ranks = 0;
  std::string element;
  std::string op;
  std::string requested;  //!< the algorithm that was asked for: auto or a name
  std::string algorithm;  //!< the algorithm that ran
  std::size_t bytes = 0;
  std::size_t count = 0;
  bool in_place = false;
  std::optional<std::uint64_t> wrong;  //!< elements that differ from the reference; nothing if not checked
  Times time_us;
  long calls = 0;  //!< timed calls
  std::vector<std::pair<std::string, Times>> peers;
  std::string error;                  //!< if not empty, there are no figures
  std::optional<Launch> launch = {};  //!< on a device
  bool graph = false;                 //!< calls were captured and replayed
  std::optional<HostTime> host_time = {};

  //! The algorithm that ran, and how.
  std::string policy() const { return launch ? algorithm + ' ' + launch->text() : algorithm; }

  //! Bytes of the call over its time, in GB/s.
  double algorithm_bandwidth() const {
    return time_us.median > 0 ? static_cast<double>(bytes) / time_us.median * 1e-3 : 0;
  }
  //! What a link would have to carry in each direction at that speed, whatever the rank count.
  double bus_bandwidth() const { return algorithm_bandwidth() * 2 * (ranks - 1) / ranks; }
};

//! @brief All that was measured in turns at one size: a row for each algorithm.
struct Rows {
  std::vector<Row> out_of_place;
  std::vector<Row> in_place;
};

}  // namespace perf

#endif

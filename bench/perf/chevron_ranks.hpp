// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CHEVRON_RANKS_HPP
#define CHEVRON_PERF_CHEVRON_RANKS_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <perf/contestant.hpp>
#include <perf/settings.hpp>

namespace perf {

//! @brief What chevron's own ranks have to know from the start.
struct ChevronRanks {
  std::string transport;
  int rank_count;
  std::vector<int> cpus;  //!< the CPU of each rank; empty: anywhere
  std::size_t max_bytes;  //!< of a call
  Memory memory;
  int lanes;
  std::optional<bool> non_temporal;
  std::uint64_t seed;
};

struct OpenedChevron {
  std::unique_ptr<Contestant> contestant = nullptr;  //!< null if there is none
  std::vector<std::string> ops = {};                 //!< the operations that are compiled for the element
  std::string why_not = {};
};

//! @brief Starts chevron's ranks for one element; they stay until the contestant is destroyed.
OpenedChevron open_chevron(std::string const& element, ChevronRanks const& ranks);

//! @brief The same for an element known to the compiler. Each element is a translation unit, from
//! element.cpp.
template <class T>
OpenedChevron open_chevron_ranks(ChevronRanks const& ranks);

}  // namespace perf

#endif

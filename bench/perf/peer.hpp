// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_PEER_HPP
#define CHEVRON_PERF_PEER_HPP

#include <memory>
#include <string>
#include <vector>

#include <perf/contestant.hpp>

namespace perf {

//! @brief The libraries that chevron can be compared with.
std::vector<std::string> peer_names();

struct OpenedPeer {
  std::unique_ptr<Contestant> contestant;  //!< null if there is none
  std::string why_not;
};

//! @brief Starts that many ranks of another library, which stay until the contestant is destroyed.
//! @param pinned  bind each rank to a core
OpenedPeer open_peer(std::string const& name, int rank_count, bool pinned);

}  // namespace perf

#endif

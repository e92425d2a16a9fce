// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CONTESTANT_HPP
#define CHEVRON_PERF_CONTESTANT_HPP

#include <functional>
#include <string>
#include <vector>

#include <perf/rank/channel.hpp>
#include <perf/rank/task.hpp>

namespace perf {

//! @brief A group of ranks of one library that wait, asleep, for tasks: chevron's or a peer's.
class Contestant {
 public:
  //! @param ranks   a connection to each rank
  //! @param finish  called once the connections are closed: waits until the ranks are gone
  Contestant(std::string name, std::string version, std::vector<Channel> ranks, std::function<void()> finish);
  Contestant(Contestant const&) = delete;
  Contestant& operator=(Contestant const&) = delete;
  ~Contestant();

  std::string const& name() const { return name_; }
  std::string const& version() const { return version_; }

  //! @brief Why no rank is asked any more; empty while all is well.
  std::string const& lost() const { return lost_; }

  //! @brief Has all ranks do the task.
  //! @return for each batch the time of its slowest rank; wrong elements of all ranks together; or the first
  //! error
  Answer ask(Task const& task);

 private:
  std::string name_;
  std::string version_;
  std::vector<Channel> ranks_;
  std::function<void()> finish_;
  std::string lost_;
};

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_RANK_SERVE_HPP
#define CHEVRON_PERF_RANK_SERVE_HPP

#include <functional>
#include <string>

#include <perf/rank/channel.hpp>
#include <perf/rank/task.hpp>

namespace perf {

//! @brief Answers tasks until chevron-perf hangs up.
//! @param channel  this rank's own connection
//! @param answer   does a task
inline void serve(Channel& channel, std::function<Answer(Task const&)> const& answer) {
  while (auto const line = channel.read_line()) {
    auto const task = parse_task(*line);
    if (!channel.write_line(to_line(task ? answer(*task) : Answer::failure("not a task: " + *line)))) return;
  }
}

//! @brief How a rank introduces itself: its number and which library, of which version, it runs.
inline std::string hello(int rank, std::string const& library) {
  return "hello " + std::to_string(rank) + ' ' + library;
}

}  // namespace perf

#endif

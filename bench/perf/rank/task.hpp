// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_RANK_TASK_HPP
#define CHEVRON_PERF_RANK_TASK_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

//! @file
//! What chevron-perf asks of a rank and what the rank answers, each as one line of text. Chevron's own ranks
//! and the ranks of every peer are asked in the same words.

namespace perf {

struct Task {
  enum class Kind { measure, check };
  Kind kind = Kind::measure;
  std::string element = "float";
  std::string op = "sum";
  std::string algorithm = "auto";  //!< means nothing to a peer
  std::size_t bytes = 0;           //!< a whole number of elements
  bool in_place = false;
  long warmup = 0;      //!< calls before the first batch
  long iterations = 1;  //!< calls in a batch
  long batches = 1;
};

struct Answer {
  std::string error = {};            //!< if not empty, the rest means nothing
  std::string policy = "-";          //!< the algorithm that ran
  std::vector<double> seconds = {};  //!< per call, for each batch
  std::uint64_t wrong = 0;           //!< elements that differ from the reference

  static Answer failure(std::string why) {
    std::replace(why.begin(), why.end(), '\n', ' ');
    return {.error = why.empty() ? "failed" : std::move(why)};
  }
};

inline std::string to_line(Task const& task) {
  std::ostringstream line;
  line << (task.kind == Task::Kind::check ? "check" : "measure") << ' ' << task.element << ' ' << task.op
       << ' ' << task.algorithm << ' ' << task.bytes << ' ' << task.in_place << ' ' << task.warmup << ' '
       << task.iterations << ' ' << task.batches;
  return line.str();
}

inline std::optional<Task> parse_task(std::string const& text) {
  std::istringstream line(text);
  std::string kind;
  Task task;
  line >> kind >> task.element >> task.op >> task.algorithm >> task.bytes >> task.in_place >> task.warmup >>
      task.iterations >> task.batches;
  if (!line || (kind != "measure" && kind != "check")) return std::nullopt;
  task.kind = kind == "check" ? Task::Kind::check : Task::Kind::measure;
  return task;
}

inline std::string to_line(Answer const& answer) {
  if (!answer.error.empty()) return "error " + answer.error;
  std::ostringstream line;
  line << "done " << answer.policy << ' ' << answer.wrong << std::setprecision(9);
  for (double seconds : answer.seconds) line << ' ' << seconds;
  return line.str();
}

inline Answer parse_answer(std::string const& text) {
  std::istringstream line(text);
  std::string kind;
  line >> kind;
  if (kind == "error") {
    std::getline(line >> std::ws, kind);
    return Answer::failure(kind);
  }
  Answer answer;
  line >> answer.policy >> answer.wrong;
  if (kind != "done" || !line) return Answer::failure("a rank answered: " + text);
  for (double seconds; line >> seconds;) answer.seconds.push_back(seconds);
  return answer;
}

//! In-place calls run on their own results. From this value on, each operation keeps clear of subnormals,
//! NaNs and infinities, whose arithmetic may cost more, however often it is called.
inline int timed_value(Task const& task) { return task.in_place && task.op == "sum" ? 0 : 1; }

}  // namespace perf

#endif

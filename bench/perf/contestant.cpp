// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <utility>

#include <perf/contestant.hpp>

namespace perf {

namespace {

constexpr std::chrono::seconds patience{180};

void merge(Answer& all, Answer const& one) {
  if (!all.error.empty()) return;
  if (!one.error.empty()) {
    all.error = one.error;
    return;
  }
  all.policy = one.policy;
  all.wrong += one.wrong;
  all.seconds.resize(std::max(all.seconds.size(), one.seconds.size()));
  for (std::size_t i = 0; i < one.seconds.size(); ++i)
    all.seconds[i] = std::max(all.seconds[i], one.seconds[i]);
}

}  // namespace

Contestant::Contestant(std::string name, std::string version, std::vector<Channel> ranks,
                       std::function<void()> finish)
    : name_(std::move(name)),
      version_(std::move(version)),
      ranks_(std::move(ranks)),
      finish_(std::move(finish)) {}

Contestant::~Contestant() {
  for (auto& rank : ranks_) rank.hang_up();
  finish_();
}

Answer Contestant::ask(Task const& task) {
  if (!lost_.empty()) return Answer::failure(lost_);
  for (auto& rank : ranks_) rank.write_line(to_line(task));
  Answer all;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    auto const line = ranks_[rank].read_line(patience);
    if (!line) {
      lost_ = name_ + "'s rank " + std::to_string(rank) + " is gone or hangs";
      return Answer::failure(lost_);
    }
    merge(all, parse_answer(*line));
  }
  return all;
}

}  // namespace perf

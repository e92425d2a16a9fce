// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_LANE_TEAM_HPP
#define CHEVRON_HOST_LANE_TEAM_HPP

//! @file
//! The threads that work on a rank's lanes: the caller's, and as many more as the rank has further lanes.

#include <chevron/host/cpu.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace chevron {

//! @brief Runs a job on every lane. Lane 0 is the caller; the others sleep between calls.
class LaneTeam {
 public:
  //! @param pin_to_cpu  when given, lane i > 0 is bound to this CPU + i
  LaneTeam(int lanes, std::optional<int> pin_to_cpu) {
    for (int lane = 1; lane < lanes; ++lane) {
      helpers_.emplace_back([this, lane, pin_to_cpu] {
        if (pin_to_cpu) pin_this_thread(*pin_to_cpu + lane);
        serve(lane);
      });
    }
  }
  LaneTeam(LaneTeam const&) = delete;
  LaneTeam& operator=(LaneTeam const&) = delete;
  ~LaneTeam() {
    job_ = nullptr;
    start();
    for (std::thread& helper : helpers_) helper.join();
  }

  //! Calls `job(lane)` for each lane, at once; returns when all have returned.
  template <class Job>
  void run(Job&& job) {
    if (!helpers_.empty()) {
      context_ = &job;
      job_ = [](void* context, int lane) { (*static_cast<std::remove_reference_t<Job>*>(context))(lane); };
      running_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
      start();
    }
    job(0);
    for (int left = running_.load(std::memory_order_acquire); left != 0;
         left = running_.load(std::memory_order_acquire)) {
      running_.wait(left, std::memory_order_acquire);
    }
  }

 private:
  void start() {
    started_.fetch_add(1, std::memory_order_release);
    started_.notify_all();
  }

  void serve(int lane) {
    for (std::uint32_t seen = 0;;) {
      started_.wait(seen, std::memory_order_acquire);
      ++seen;
      if (job_ == nullptr) return;
      job_(context_, lane);
      if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
    }
  }

  std::vector<std::thread> helpers_;
  void (*job_)(void*, int) = nullptr;
  void* context_ = nullptr;
  std::atomic<std::uint32_t> started_{0};
  std::atomic<int> running_{0};
};

}  // namespace chevron

#endif

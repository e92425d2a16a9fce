// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_STAGE_HPP
#define CHEVRON_PERF_CUDA_STAGE_HPP

#include <cuda_runtime.h>

#include <functional>
#include <string>
#include <vector>

namespace perf {

//! @brief Where calls are timed: a stream for each rank, and a gate that holds all of them until everything is queued.
class Stage {
 public:
  explicit Stage(std::vector<int> devices);
  Stage(Stage const&) = delete;
  Stage& operator=(Stage const&) = delete;
  ~Stage();

  [[nodiscard]] int ranks() const { return static_cast<int>(devices_.size()); }
  [[nodiscard]] std::vector<int> const& devices() const { return devices_; }
  [[nodiscard]] std::vector<cudaStream_t> const& streams() const { return streams_; }
  [[nodiscard]] cudaStream_t stream(int rank) const { return streams_[static_cast<std::size_t>(rank)]; }

  //! Calls `work(rank)` with the rank's device current.
  void for_each_rank(std::function<void(int rank)> const& work) const;
  void synchronize() const;

  //! Queues work for all ranks and waits for it.
  //! @param gated  nothing starts before all is queued, so that the calling thread's speed does not count; for work that
  //!               is few launches, since streams hold a limited number
  //! @return seconds from the first rank's start to the end of the slowest rank, on the devices' clocks
  double time(std::function<void()> const& queue, bool gated);

 private:
  std::vector<int> devices_;
  std::vector<cudaStream_t> streams_{};
  std::vector<cudaEvent_t> begins_{};
  std::vector<cudaEvent_t> ends_{};
  cudaStream_t gate_ = nullptr;
  cudaEvent_t opened_ = nullptr;
  int* open_ = nullptr;  //!< in host memory; the gate waits until it is not 0
};

//! @brief So many calls of one kind on all ranks, ready to be run again and again.
class Batch {
 public:
  //! One call on every rank's stream; the text says what failed, if anything did.
  using Call = std::function<std::string()>;

  //! @param graph  captures the calls now, one graph for each rank, and replays them
  Batch(Stage& stage, Call call, long calls, bool graph);
  Batch(Batch&& other) noexcept;
  Batch& operator=(Batch&&) = delete;
  ~Batch();

  //! @return seconds per call. The first run of a batch warms up.
  double run();
  [[nodiscard]] long calls() const { return calls_; }
  //! What failed so far; empty while nothing did.
  [[nodiscard]] std::string const& error() const { return error_; }

 private:
  void issue();

  Stage* stage_;
  Call call_;
  long calls_;
  std::vector<cudaGraphExec_t> graphs_{};
  std::string error_{};
};

}  // namespace perf

#endif

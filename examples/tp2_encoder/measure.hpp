// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_MEASURE_HPP
#define TP2_ENCODER_MEASURE_HPP

//! @file
//! One rank's share of the whole job, with a stopwatch around it and another around its all-reduce calls.

#include <chrono>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "batch.hpp"
#include "encoder.hpp"
#include "model.hpp"
#include "shard.hpp"

namespace tp2_encoder {

//! What every rank gets to do: encode all batches, once to warm up, then `passes` times with the stopwatch
//! running.
struct Job {
  Model const& model;
  std::vector<Batch> batches;
  int passes;

  [[nodiscard]] std::size_t sentence_count() const {
    std::size_t count = 0;
    for (auto const& batch : batches) count += batch.sentences.size();
    return count;
  }
};

//! Seconds per pass. An all-reduce includes the wait for the slowest rank.
struct Time {
  double total_seconds = 0;
  double all_reduce_seconds = 0;

  [[nodiscard]] double all_reduce_percent() const { return 100 * all_reduce_seconds / total_seconds; }
};

struct Measured {
  Matrix embeddings;
  Time time;
};

//! @brief Encodes the job's sentences as rank `shard.rank`; see `encode` for the parameters.
template <AllReduceInPlace AllReduce>
Measured measure(Job const& job, Shard shard, std::span<float> partial, AllReduce all_reduce) {
  using Clock = std::chrono::steady_clock;
  auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  Measured measured{.embeddings = Matrix(job.sentence_count(), hidden_size), .time = {}};
  auto timed_all_reduce = [&](float* data, std::size_t count) {
    auto const start = Clock::now();
    all_reduce(data, count);
    measured.time.all_reduce_seconds += seconds_since(start);
  };
  auto pass = [&] {
    Eigen::Index done = 0;
    for (auto const& batch : job.batches) {
      auto const embeddings = encode(job.model, shard, batch, partial, timed_all_reduce);
      measured.embeddings.middleRows(done, embeddings.rows()) = embeddings;
      done += embeddings.rows();
    }
  };
  pass();
  measured.time = {};
  auto const start = Clock::now();
  for (int count = 0; count < job.passes; ++count) pass();
  measured.time.total_seconds = seconds_since(start) / job.passes;
  measured.time.all_reduce_seconds /= job.passes;
  return measured;
}

//! @brief The same without tensor parallelism: one rank has everything and nothing is reduced.
inline Measured measure_alone(Job const& job) {
  std::vector<float> partial(max_batch_tokens * hidden_size);
  return measure(job, {.rank = 0, .rank_count = 1}, partial, [](float*, std::size_t) {});
}

}  // namespace tp2_encoder

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_RANKS_HPP
#define TP2_ENCODER_RANKS_HPP

//! @file
//! Runs the encoder on N ranks over chevron, as threads of this process or as processes, and collects their
//! reports.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chevron/chevron.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "measure.hpp"
#include "report_board.hpp"

namespace tp2_encoder {

using CompiledRankCounts = chevron::RankCounts<2, 3, 4, 6, 12>;
using Selector = chevron::Selector<chevron::tables::Host, CompiledRankCounts, chevron::Elements<float>>;

enum class Transport { host_threads, host_shared_memory };

constexpr char const* name_of(Transport transport) {
  return transport == Transport::host_threads ? "host_threads" : "host_shared_memory";
}

//! @brief Stops with chevron's sentence unless there is a result.
template <class T>
void require(chevron::Result<T> const& result) {
  if (!result) throw std::runtime_error(result.error().message());
}

//! @brief What one rank does, from its communicator to its report.
template <class Group>
void run_rank(Group& group, Shard shard, Job const& job, ReportBoard& board) {
  auto& report = board.report(shard.rank);
  try {
    auto communicator = group.template join<Selector>(shard.rank, chevron::Options{});
    require(communicator);
    auto partial = communicator->template allocate<float>(max_batch_tokens * hidden_size);
    require(partial);
    auto const measured = measure(job, shard, partial->span(), [&](float* data, std::size_t count) {
      require(chevron::all_reduce<Selector>(*communicator, data, data, count));
    });
    std::copy_n(measured.embeddings.data(), measured.embeddings.size(), board.embeddings(shard.rank).begin());
    report.time = measured.time;
    report.set_error("");
  } catch (std::exception const& failure) {
    report.set_error(failure.what());
  }
}

template <int NRanks>
void run_as_threads(Job const& job, ReportBoard& board) {
  chevron::HostThreads<NRanks> group;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < NRanks; ++rank) {
    threads.emplace_back([&, rank] { run_rank(group, {rank, NRanks}, job, board); });
  }
}

template <int NRanks>
void run_as_processes(Job const& job, ReportBoard& board) {
  auto const key = chevron::SharedMemoryKey::random();
  std::vector<::pid_t> children;
  std::fflush(nullptr);  // or each child would print it again
  for (int rank = 0; rank < NRanks; ++rank) {
    auto const child = ::fork();
    if (child == 0) {
      {
        chevron::HostSharedMemory<NRanks> group{key};
        run_rank(group, {rank, NRanks}, job, board);
      }
      ::_exit(0);
    }
    if (child < 0) break;  // the report of that rank keeps saying that it never finished
    children.push_back(child);
  }
  for (auto const child : children) ::waitpid(child, nullptr, 0);
}

//! What a configuration gave: rank 0's embeddings, the times, and whether all ranks hold the same bits.
struct Outcome {
  Matrix embeddings;
  Time time;  // mean over the ranks
  bool same_bits;
};

//! @brief The job on `rank_count` ranks; throws the first rank's complaint if there is one.
inline Outcome run(Job const& job, Transport transport, int rank_count) {
  ReportBoard board(rank_count, job.sentence_count() * hidden_size);
  auto const started = chevron::with_rank_count<CompiledRankCounts>(rank_count, [&](auto n) {
    constexpr int ranks = n;
    if (transport == Transport::host_threads) run_as_threads<ranks>(job, board);
    if (transport == Transport::host_shared_memory) run_as_processes<ranks>(job, board);
  });
  require(started);

  Outcome outcome{.embeddings = Matrix(job.sentence_count(), hidden_size), .time = {}, .same_bits = true};
  std::ranges::copy(board.embeddings(0), outcome.embeddings.data());
  for (int rank = 0; rank < rank_count; ++rank) {
    auto const& report = board.report(rank);
    if (report.error[0] != '\0')
      throw std::runtime_error("rank " + std::to_string(rank) + ": " + report.error);
    outcome.same_bits &= board.same_embeddings(0, rank);
    outcome.time.total_seconds += report.time.total_seconds / rank_count;
    outcome.time.all_reduce_seconds += report.time.all_reduce_seconds / rank_count;
  }
  return outcome;
}

}  // namespace tp2_encoder

#endif

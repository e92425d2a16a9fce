// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CHEVRON_RANK_HPP
#define CHEVRON_PERF_CHEVRON_RANK_HPP

#include <algorithm>
#include <chevron/chevron.hpp>
#include <cstring>
#include <string>
#include <utility>

#include <perf/calls.hpp>
#include <perf/chevron_ranks.hpp>
#include <perf/rank/batches.hpp>
#include <perf/rank/spin_barrier.hpp>
#include <perf/rank/task.hpp>
#include <perf/reference.hpp>

namespace perf {

//! @brief One rank of chevron that does tasks.
template <class T>
struct ChevronRank {
  void* communicator;
  FindCall<T> find_call;
  Choose choose;
  int rank;
  T* in;
  T* out;
  SpinBarrier& barrier;
  ChevronRanks const& ranks;

  Answer operator()(Task const& task) const {
    auto const slash = task.algorithm.find('/');  // what follows it is how the algorithm stores
    auto const call = find_call(task.op, task.algorithm.substr(0, slash));
    auto const stores =
        slash != std::string::npos ? chevron::Stores::non_temporal : chevron::Stores::temporal;
    if (call == nullptr) return Answer::failure("chevron-perf has no " + task.algorithm + " for " + task.op);
    return task.kind == Task::Kind::check ? check(task, call, stores) : measure(task, call, stores);
  }

 private:
  Answer measure(Task const& task, Call<T> call, chevron::Stores stores) const {
    using Traits = chevron::ElementTraits<T>;
    auto const value = Traits::narrow(static_cast<typename Traits::Accumulator>(timed_value(task)));
    auto const count = task.bytes / sizeof(T);
    T* const result = task.in_place ? in : out;
    std::fill_n(result, count, T{});
    std::fill_n(in, count, value);

    Answer answer;
    answer.policy = policy(task);
    chevron::Result<void> failure;
    auto const once = [&] {
      if (auto done = call(communicator, in, result, count, stores); !done) failure = std::move(done);
    };
    answer.seconds = time_batches(
        task, [&] { barrier.arrive_and_wait(); }, once);
    return failure ? answer : Answer::failure(failure.error().message());
  }

  Answer check(Task const& task, Call<T> call, chevron::Stores stores) const {
    auto const count = task.bytes / sizeof(T);
    auto const mine = [&](std::size_t i) { return sample<T>(ranks.seed, rank, i); };
    T* const result = task.in_place ? in : out;
    std::memset(static_cast<void*>(result), 0xa5, count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) in[i] = mine(i);

    if (auto const done = call(communicator, in, result, count, stores); !done)
      return Answer::failure(done.error().message());

    Answer answer;
    visit_op(task.op, EveryOperation{}, [&]<class Op>() {
      answer.wrong = count_wrong<Op>(result, count, ranks.seed, ranks.rank_count);
    });
    if (!task.in_place)  // the input is not the library's to change
      for (std::size_t i = 0; i < count; ++i) answer.wrong += !same(in[i], mine(i));
    return answer;
  }

  std::string policy(Task const& task) const {
    if (task.algorithm != "auto") return task.algorithm;
    auto const windows = buffers_in_windows(ranks.transport, ranks.memory) ? chevron::WindowState::all
                                                                           : chevron::WindowState::none;
    auto const chosen = choose(ranks.rank_count, task.bytes, windows);
    std::string const name = chevron::name(chosen.algorithm);
    return chosen.stores == chevron::Stores::temporal ? name : name + "/" + chevron::name(chosen.stores);
  }
};

}  // namespace perf

#endif

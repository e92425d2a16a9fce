// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_SCENARIO_HPP
#define CHEVRON_TESTS_EXPLORE_SCENARIO_HPP

//! @file
//! Calls that a group makes one after the other, as a program for the explorer. The bodies and the lane are
//! the library's own. Between two calls each rank reads its output and overwrites both its buffers, as a
//! caller may.

#include "execution.hpp"
#include "explored_access.hpp"
#include "group.hpp"

#include <chevron/algorithm/all_reduce/one_shot_pull.hpp>
#include <chevron/algorithm/all_reduce/one_shot_push.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather_push.hpp>
#include <chevron/algorithm/all_reduce/reduce_scatter_all_gather_zero_copy.hpp>
#include <chevron/algorithm/all_reduce/two_shot_push.hpp>
#include <chevron/collective/all_reduce.hpp>
#include <chevron/core/call.hpp>
#include <chevron/core/op.hpp>
#include <chevron/host/options.hpp>
#include <chevron/sync/call_record.hpp>
#include <chevron/transport/host_lane.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

enum class Body : unsigned char {
  push,
  staged,
  zero_copy,
  windows_or_push,
  windows_or_staged,
  pull,
  two_shot,
  pull_or_two_shot,
  push_rsag,
  push_rsag_or_staged,
};

//! @brief One call of all ranks.
struct CallSpec {
  Body body;
  std::size_t count;      //!< elements
  bool in_place = false;  //!< on the ranks that are not `apart`
  ThreadSet outside = 0;  //!< the ranks whose buffers lie in no window
  Stores stores = Stores::temporal;
  ThreadSet apart = 0;  //!< the ranks that are not in place where the others are

  [[nodiscard]] std::string text() const {
    static constexpr char const* names[] = {
        "push", "staged",   "zero_copy",        "windows_or_push", "windows_or_staged",
        "pull", "two_shot", "pull_or_two_shot", "push_rsag",       "push_rsag_or_staged"};
    return std::string(names[static_cast<std::size_t>(body)]) + "(" + std::to_string(count) +
           (in_place ? ", in place" : "") + (apart != 0 ? " but for " + std::to_string(apart) : "") +
           (outside != 0 ? ", outside " + std::to_string(outside) : "") +
           (stores == Stores::non_temporal ? ", non-temporal" : "") + ")";
  }
};

inline std::string text(std::vector<CallSpec> const& calls) {
  std::string all;
  for (CallSpec const& call : calls) all += (all.empty() ? "" : ", ") + call.text();
  return all;
}

//! @brief The smallest mailboxes that there are, so that a few elements take several steps.
inline Options small_mailboxes() {
  Options options;
  options.packet_bytes = FlaggedLine::payload_bytes;
  options.chunk_bytes = 64;
  options.deadline = std::chrono::hours(24);  // whatever the machine is busy with
  options.non_temporal_stores = true;         // whatever this CPU is: their fences are explored as well
  return options;
}

//! @brief Runs the library's body for a call.
struct LibraryBodies {
  template <class Lane, class T>
  static void run(Lane& lane, Call<T, Identity> const& call, Body body) {
    constexpr int n = Lane::ranks;
    using ZeroCopy = ReduceScatterAllGatherZeroCopy<n, T>;
    using PushRsag = ReduceScatterAllGatherPush<n, T>;
    switch (body) {
      case Body::push:
        return OneShotPush<n, T>::run(lane, call);
      case Body::staged:
        return ReduceScatterAllGather<n, T>::run(lane, call);
      case Body::zero_copy:
        return ZeroCopy::run(lane, call);
      case Body::windows_or_push:
        return detail::ByWindows<ZeroCopy, OneShotPush<n, T>>::run(lane, call, call.stores);
      case Body::windows_or_staged:
        return detail::ByWindows<ZeroCopy, ReduceScatterAllGather<n, T>>::run(lane, call, call.stores);
      case Body::pull:
        return OneShotPull<n, T>::run(lane, call);
      case Body::two_shot:
        return TwoShotPush<n, T>::run(lane, call);
      case Body::pull_or_two_shot:
        return detail::ByWindows<OneShotPull<n, T>, TwoShotPush<n, T>>::run(lane, call, call.stores);
      case Body::push_rsag:
        return PushRsag::run(lane, call);
      case Body::push_rsag_or_staged:
        return detail::ByWindows<PushRsag, ReduceScatterAllGather<n, T>>::run(lane, call, call.stores);
    }
  }
};

template <int NRanks, class T, class Lane = HostLane<NRanks, ExploredAccess>, class Bodies = LibraryBodies>
class Scenario {
 public:
  explicit Scenario(std::vector<CallSpec> calls, Options options = small_mailboxes(),
                    std::size_t misaligned_by = 0, Waits waits = Waits::spinning)
      : calls_(std::move(calls)),
        options_(std::move(options)),
        waits_(waits),
        group_(NRanks, options_, waits, longest(calls_) * sizeof(T), misaligned_by * sizeof(T)) {
    for (std::size_t call = 0; call < calls_.size(); ++call) {
      auto& wanted = wanted_.emplace_back(calls_[call].count);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i] = value(call, 0, i);
        for (int rank = 1; rank < NRanks; ++rank) wanted[i] = Sum::combine(wanted[i], value(call, rank, i));
      }
    }
  }

  //! One thread per rank and lane.
  [[nodiscard]] Program program() {
    return {.memory = group_.memory(),
            .threads = NRanks * options_.lanes,
            .run = [this](int thread) { run_lane(thread / options_.lanes, thread % options_.lanes); },
            .restart = [this] { restart(); },
            .spins = waits_ == Waits::spinning};
  }

 private:
  static constexpr int poison = 0xee;

  static std::size_t longest(std::vector<CallSpec> const& calls) {
    std::size_t most = 1;
    for (CallSpec const& call : calls) most = std::max(most, call.count);
    return most;
  }

  //! Depends on all three; in float, sums of such values depend on the order in which they are added.
  static T value(std::size_t call, int rank, std::size_t index) {
    std::uint64_t hash = (call + 1) * 1000003u + index * 8191u + static_cast<std::uint64_t>(rank) * 131u;
    hash = (hash ^ hash >> 7) * 0x9e3779b97f4a7c15u >> 40;
    auto const small = static_cast<std::int64_t>(hash & 0xff) - 128;
    return static_cast<T>(sizeof(T) == 1 || (hash & 0x100) == 0 ? small : small * (std::int64_t{1} << 24));
  }

  void restart() {
    group_.restart();
    for (int rank = 0; rank < NRanks; ++rank) {
      std::memset(group_.in(rank), poison, group_.buffer_bytes());
      std::memset(group_.out(rank), poison, group_.buffer_bytes());
    }
  }

  void run_lane(int rank, int lane) {
    for (std::size_t number = 0; number < calls_.size(); ++number) {
      CallSpec const& spec = calls_[number];
      Execution::current().allow_of_buffers(spec.count * sizeof(T));
      auto* const out = reinterpret_cast<T*>(group_.out(rank));
      auto* const in = spec.in_place && !has(spec.apart, rank) ? out : reinterpret_cast<T*>(group_.in(rank));
      if (lane == 0) fill(number, rank, in);
      begin_together(rank, lane, number + 1);
      run_body(spec, rank, lane, in, out);
      end_together(rank, lane, number + 1);
      if (lane == 0) check_and_overwrite(number, rank, in, out);
    }
  }

  void run_body(CallSpec const& spec, int rank, int index, T const* in, T* out) {
    ExploredEndpoint& endpoint = group_.endpoint(rank);
    CallIdentity const identity{.algorithm = 1 + static_cast<std::uint32_t>(spec.body),
                                .element = 0,
                                .operation = 1,
                                .table = 0,
                                .count = spec.count};
    Call<T, Identity> call{.in = in, .out = out, .count = spec.count};
    call.stores = spec.stores;
    if (!has(spec.outside, rank)) {
      call.in_at = endpoint.locate(in, spec.count * sizeof(T));
      call.out_at = endpoint.locate(out, spec.count * sizeof(T));
    }
    Lane lane(endpoint, index, identity);
    Bodies::run(lane, call, spec.body);
    if (!lane.ok()) Execution::current().fail(Finding::wrong_result, "a call failed");
  }

  void fill(std::size_t number, int rank, T* in) {
    std::size_t const count = calls_[number].count;
    Execution::current().writing(in, count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) in[i] = value(number, rank, i);
  }

  void check_and_overwrite(std::size_t number, int rank, T* in, T* out) {
    std::vector<T> const& wanted = wanted_[number];
    std::size_t const size_bytes = wanted.size() * sizeof(T);
    Execution& execution = Execution::current();
    execution.reading(out, size_bytes);
    if (size_bytes != 0 && std::memcmp(out, wanted.data(), size_bytes) != 0) {
      std::size_t at = 0;
      while (std::memcmp(out + at, &wanted[at], sizeof(T)) == 0) ++at;
      execution.fail(Finding::wrong_result, "call " + std::to_string(number) + " gave rank " +
                                                std::to_string(rank) + " a wrong element " +
                                                std::to_string(at));
    }
    execution.writing(out, size_bytes);
    std::memset(static_cast<void*>(out), poison, size_bytes);
    execution.writing(in, size_bytes);
    std::memset(static_cast<void*>(in), poison, size_bytes);
  }

  // What LaneTeam does: the caller is lane 0 and wakes the others, and returns when they are done.
  void begin_together(int rank, int lane, std::uint64_t call) {
    if (options_.lanes == 1) return;
    std::uint64_t& begun = group_.own_word(rank, 0);
    if (lane == 0) {
      ExploredAccess::store_release(begun, call);
    } else {
      await(begun, call);
    }
  }
  void end_together(int rank, int lane, std::uint64_t call) {
    if (lane != 0) return ExploredAccess::store_release(group_.own_word(rank, lane), call);
    for (int other = 1; other < options_.lanes; ++other) await(group_.own_word(rank, other), call);
  }
  static void await(std::uint64_t const& word, std::uint64_t wanted) {
    while (ExploredAccess::load_acquire(word) != wanted) ExploredAccess::pause(word);
  }

  std::vector<CallSpec> calls_;
  Options options_;
  Waits waits_;
  Group group_;
  std::vector<std::vector<T>> wanted_{};
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_JOIN_HPP
#define CHEVRON_PERF_JOIN_HPP

#include <chevron/chevron.hpp>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include <perf/calls.hpp>
#include <perf/chevron_rank.hpp>
#include <perf/chevron_ranks.hpp>
#include <perf/rank/buffer.hpp>
#include <perf/rank/channel.hpp>
#include <perf/rank/serve.hpp>
#include <perf/rank/spin_barrier.hpp>

namespace perf {

//! @brief Two buffers for calls of up to that size: in windows, which all ranks make together, or anywhere.
template <class T, class Communicator>
class Buffers {
 public:
  chevron::Result<void> allocate(Communicator& communicator, std::size_t count, Memory memory) {
    if (memory == Memory::plain) {
      in_ = plain_in_.elements<T>(count);
      out_ = plain_out_.elements<T>(count);
      return {};
    }
    for (auto* window : {&window_in_, &window_out_}) {
      auto allocated = communicator.template allocate<T>(count);
      if (!allocated) return allocated.error();
      *window = std::move(*allocated);
    }
    in_ = window_in_.data();
    out_ = window_out_.data();
    return {};
  }
  T* in() const { return in_; }
  T* out() const { return out_; }

 private:
  typename Communicator::template Window<T> window_in_, window_out_;
  Buffer plain_in_, plain_out_;
  T* in_ = nullptr;
  T* out_ = nullptr;
};

//! @brief What the thread or process of a rank does, from joining the group until chevron-perf hangs up.
template <class Selector, class T, class Group>
void join_and_serve(Group& group, int rank, SpinBarrier& barrier, ChevronRanks const& ranks,
                    Channel& channel) {
  using Communicator = chevron::Communicator<Group>;
  auto const refuse = [&](chevron::Error const& error) {
    serve(channel, [&](Task const&) { return Answer::failure(error.message()); });
  };

  chevron::Options options;
  options.lanes = ranks.lanes;
  options.non_temporal_stores = ranks.non_temporal;
  if (!ranks.cpus.empty()) options.pin_to_cpu = ranks.cpus[static_cast<std::size_t>(rank)];
  auto communicator = group.template join<Selector>(rank, options);
  if (!communicator) return refuse(communicator.error());

  Buffers<T, Communicator> buffers;
  auto const allocated = buffers.allocate(*communicator, ranks.max_bytes / sizeof(T), ranks.memory);
  if (!allocated) return refuse(allocated.error());

  ChevronRank<T> const self = {.communicator = &*communicator,
                               .find_call = &find_call<Selector, Communicator, T>,
                               .choose =
                                   [](int ranks, std::size_t size_bytes, chevron::WindowState windows) {
                                     return Selector::template choose<T>(ranks, size_bytes, windows);
                                   },
                               .rank = rank,
                               .in = buffers.in(),
                               .out = buffers.out(),
                               .barrier = barrier,
                               .ranks = ranks};
  serve(channel, std::cref(self));
}

}  // namespace perf

#endif

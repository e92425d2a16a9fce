// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! Gloo's all-reduce over TCP on the loopback device as a peer of chevron-perf. The ranks are threads of this
//! one process: `chevron-perf-peer-gloo --ranks N --control SOCKET`.

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <peers/peer_rank.hpp>
#include <perf/rank/batches.hpp>
#include <perf/rank/buffer.hpp>
#include <perf/rank/serve.hpp>
#include <perf/rank/spin_barrier.hpp>

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Reduce = void (*)(void*, void const*, void const*, std::size_t);

template <class T>
Reduce reduction(std::string const& op) {
  if (op == "sum") return &gloo::sum<T>;
  if (op == "prod") return &gloo::product<T>;
  if (op == "min") return &gloo::min<T>;
  if (op == "max") return &gloo::max<T>;
  return nullptr;
}

template <class T>
gloo::AllreduceOptions call_of(Context const& context, T* in, T* out, std::size_t count, Reduce reduce) {
  gloo::AllreduceOptions options(context);
  if (in != out) options.setInput(in, count);
  options.setOutput(out, count);
  options.setReduceFunction(reduce);
  return options;
}

class GlooRank {
 public:
  GlooRank(Context context, perf::SpinBarrier& barrier) : context_(std::move(context)), barrier_(barrier) {}

  perf::Answer operator()(perf::Task const& task) {
    if (task.kind != perf::Task::Kind::measure) return perf::Answer::failure("only measures");
    perf::Answer answer;
    bool const known =
        peers::visit_element(task.element, [&](auto zero) { answer = measure<decltype(zero)>(task); });
    return known ? answer : perf::Answer::failure("no such element here: " + task.element);
  }

  bool sums_are_right() {
    auto values = peers::trial_input(context_->rank);
    gloo::allreduce(call_of(context_, values.data(), values.data(), values.size(), &gloo::sum<float>));
    return peers::is_right_sum(values, context_->size);
  }

 private:
  template <class T>
  perf::Answer measure(perf::Task const& task) {
    Reduce const reduce = reduction<T>(task.op);
    if (reduce == nullptr) return perf::Answer::failure("no such op in Gloo: " + task.op);
    auto const count = task.bytes / sizeof(T);
    T* const in = in_.elements<T>(count);
    T* const out = task.in_place ? in : out_.elements<T>(count);
    std::fill_n(out, count, T{});
    std::fill_n(in, count, static_cast<T>(perf::timed_value(task)));
    auto const call = call_of(context_, in, out, count, reduce);
    return {.seconds = perf::time_batches(
                task, [&] { barrier_.arrive_and_wait(); }, [&] { gloo::allreduce(call); })};
  }

  Context context_;
  perf::SpinBarrier& barrier_;
  perf::Buffer in_, out_;
};

void run_rank(int rank, int rank_count, char const* control, gloo::rendezvous::Store& store,
              perf::SpinBarrier& barrier) {
  gloo::transport::tcp::attr loopback;
  loopback.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(loopback);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, rank_count);
  context->connectFullMesh(store, device);
  GlooRank gloo_rank(context, barrier);
  auto channel = perf::Channel::connect(control);
  if (!channel || !gloo_rank.sums_are_right()) throw std::runtime_error("can't take part");
  channel->write_line(perf::hello(rank, "Gloo"));
  perf::serve(*channel, std::ref(gloo_rank));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 || std::strcmp(argv[1], "--ranks") != 0 || std::strcmp(argv[3], "--control") != 0) {
    std::fprintf(stderr, "usage: %s --ranks N --control SOCKET (chevron-perf starts this program)\n",
                 argv[0]);
    return 2;
  }
  int const rank_count = std::atoi(argv[2]);
  gloo::rendezvous::HashStore store;
  perf::SpinBarrier barrier(rank_count);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < rank_count; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        run_rank(rank, rank_count, argv[4], store, barrier);
      } catch (std::exception const& e) {
        std::fprintf(stderr, "Gloo rank %d: %s\n", rank, e.what());
        std::_Exit(1);  // the others would wait for it
      }
    });
  }
}

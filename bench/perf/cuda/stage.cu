// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <utility>

#include <perf/cuda/cuda_check.hpp>
#include <perf/cuda/stage.hpp>

namespace perf {

namespace {

__global__ void wait_until(int const volatile* open) {
  while (*open == 0) {
  }
}

}  // namespace

Stage::Stage(std::vector<int> devices) : devices_(std::move(devices)) {
  constexpr char const* during = "making streams";
  for (int const device : devices_) {
    check_cuda(cudaSetDevice(device), during);
    check_cuda(cudaStreamCreateWithFlags(&streams_.emplace_back(), cudaStreamNonBlocking), during);
    check_cuda(cudaEventCreate(&begins_.emplace_back()), during);
    check_cuda(cudaEventCreate(&ends_.emplace_back()), during);
  }
  check_cuda(cudaSetDevice(devices_[0]), during);
  check_cuda(cudaStreamCreateWithFlags(&gate_, cudaStreamNonBlocking), during);
  check_cuda(cudaEventCreateWithFlags(&opened_, cudaEventDisableTiming), during);
  check_cuda(cudaHostAlloc(&open_, sizeof *open_, cudaHostAllocMapped | cudaHostAllocPortable), during);
}

Stage::~Stage() {
  for (auto const stream : streams_) (void)cudaStreamDestroy(stream);
  for (auto const event : begins_) (void)cudaEventDestroy(event);
  for (auto const event : ends_) (void)cudaEventDestroy(event);
  (void)cudaStreamDestroy(gate_);
  (void)cudaEventDestroy(opened_);
  (void)cudaFreeHost(open_);
}

void Stage::for_each_rank(std::function<void(int)> const& work) const {
  for (int rank = 0; rank < ranks(); ++rank) {
    check_cuda(cudaSetDevice(devices_[static_cast<std::size_t>(rank)]), "choosing a device");
    work(rank);
  }
}

void Stage::synchronize() const {
  for (auto const stream : streams_) check_cuda(cudaStreamSynchronize(stream), "waiting for calls");
}

double Stage::time(std::function<void()> const& queue, bool gated) {
  constexpr char const* during = "timing calls";
  int volatile& open = *open_;
  open = gated ? 0 : 1;
  check_cuda(cudaSetDevice(devices_[0]), during);
  wait_until<<<1, 1, 0, gate_>>>(open_);
  check_cuda(cudaEventRecord(opened_, gate_), during);
  for_each_rank([&](int rank) {
    check_cuda(cudaStreamWaitEvent(stream(rank), opened_, 0), during);
    check_cuda(cudaEventRecord(begins_[static_cast<std::size_t>(rank)], stream(rank)), during);
  });
  try {
    queue();
  } catch (...) {
    open = 1;  // or the gate would never end
    throw;
  }
  for_each_rank([&](int rank) {
    check_cuda(cudaEventRecord(ends_[static_cast<std::size_t>(rank)], stream(rank)), during);
  });
  open = 1;
  synchronize();
  float slowest = 0;
  for (std::size_t rank = 0; rank < devices_.size(); ++rank) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begins_[rank], ends_[rank]), during);
    slowest = std::max(slowest, milliseconds);
  }
  return 1e-3 * static_cast<double>(slowest);
}

Batch::Batch(Stage& stage, Call call, long calls, bool graph)
    : stage_(&stage), call_(std::move(call)), calls_(calls) {
  if (!graph) return;
  constexpr char const* during = "capturing calls";
  stage.for_each_rank([&](int rank) {
    check_cuda(cudaStreamBeginCapture(stage.stream(rank), cudaStreamCaptureModeThreadLocal), during);
  });
  issue();
  // All captures end before anything else is done: a thread that captures may not make graphs.
  std::vector<cudaGraph_t> captured(static_cast<std::size_t>(stage.ranks()), nullptr);
  auto const note = [&](cudaError_t status) {
    if (status == cudaSuccess) return;
    (void)cudaGetLastError();
    if (error_.empty()) error_ = std::string(during) + ": " + cudaGetErrorString(status);
  };
  stage.for_each_rank([&](int rank) {
    note(cudaStreamEndCapture(stage.stream(rank), &captured[static_cast<std::size_t>(rank)]));
  });
  stage.for_each_rank([&](int rank) {
    cudaGraph_t const graph_of_rank = captured[static_cast<std::size_t>(rank)];
    if (graph_of_rank == nullptr) return;
    if (error_.empty()) note(cudaGraphInstantiate(&graphs_.emplace_back(), graph_of_rank, 0));
    if (error_.empty()) note(cudaGraphUpload(graphs_.back(), stage.stream(rank)));
    (void)cudaGraphDestroy(graph_of_rank);
  });
  stage.synchronize();
}

Batch::Batch(Batch&& other) noexcept
    : stage_(other.stage_),
      call_(std::move(other.call_)),
      calls_(other.calls_),
      graphs_(std::move(other.graphs_)),
      error_(std::move(other.error_)) {
  other.graphs_.clear();
}

Batch::~Batch() {
  for (auto const graph : graphs_)
    if (graph != nullptr) (void)cudaGraphExecDestroy(graph);
}

double Batch::run() {
  if (!error_.empty()) return 0;
  bool const graph = !graphs_.empty();
  auto const replay = [&] {
    stage_->for_each_rank([&](int rank) {
      check_cuda(cudaGraphLaunch(graphs_[static_cast<std::size_t>(rank)], stage_->stream(rank)),
                 "launching a graph");
    });
  };
  auto const seconds = graph ? stage_->time(replay, true) : stage_->time([this] { issue(); }, false);
  return seconds / static_cast<double>(calls_);
}

void Batch::issue() {
  // Call by call, not rank by rank: what one rank waits for must not be queued behind more than a stream can hold.
  for (long i = 0; i < calls_ && error_.empty(); ++i) error_ = call_();
}

}  // namespace perf

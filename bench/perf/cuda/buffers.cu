// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <stdexcept>

#include <perf/cuda/buffers.hpp>
#include <perf/cuda/cuda_check.hpp>

namespace perf {

namespace {

constexpr char const* checking = "checking results";
constexpr int pattern = 0xa5;
constexpr unsigned blocks = 512;
constexpr unsigned threads = 256;

using Counter = unsigned long long;

__device__ std::size_t first_index() { return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; }
__device__ std::size_t index_stride() { return std::size_t{gridDim.x} * blockDim.x; }

//! Words that differ between two buffers. A word is an element: this compares bits, without any arithmetic.
template <class Word>
__global__ void count_differences(Word const* a, Word const* b, std::size_t count, Counter* differences) {
  Counter mine = 0;
  for (std::size_t i = first_index(); i < count; i += index_stride()) mine += a[i] != b[i];
  if (mine != 0) atomicAdd(differences, mine);
}

__global__ void count_changed(unsigned char const* bytes, std::size_t count, unsigned char value,
                              Counter* changed) {
  Counter mine = 0;
  for (std::size_t i = first_index(); i < count; i += index_stride()) mine += bytes[i] != value;
  if (mine != 0) atomicAdd(changed, mine);
}

__global__ void add_up(std::uint16_t const* words, std::size_t count, Counter* sum) {
  Counter mine = 0;
  for (std::size_t i = first_index(); i < count; i += index_stride())
    mine += (words[i] + Counter{1}) * (i * 0x9e3779b97f4a7c15u | 1);
  if (mine != 0) atomicAdd(sum, mine);
}

}  // namespace

BufferContents::BufferContents(DeviceGroup& group, Stage& stage, std::size_t max_bytes)
    : group_(group), stage_(stage), max_bytes_(max_bytes / group.element_bytes() * group.element_bytes()) {
  auto const reference = group.reference();
  stage.for_each_rank([&](int rank) {
    auto const sample = group_.sample(rank);
    check_cuda(cudaMemcpy(group_.in(rank), sample.data(), sample.size(), cudaMemcpyHostToDevice), checking);
    auto& on_device = references_[stage_.devices()[static_cast<std::size_t>(rank)]];
    if (on_device != nullptr) return;
    check_cuda(cudaMalloc(&on_device, std::max<std::size_t>(reference.size(), 1)), checking);
    check_cuda(cudaMemcpy(on_device, reference.data(), reference.size(), cudaMemcpyHostToDevice), checking);
    check_cuda(
        cudaMallocManaged(&counters_[stage_.devices()[static_cast<std::size_t>(rank)]], sizeof(Counter)),
        checking);
  });
  // The copies may go on after they have returned, and the ranks' streams don't wait for them.
  stage.for_each_rank([](int) { check_cuda(cudaDeviceSynchronize(), checking); });
  stage.for_each_rank([&](int rank) { checksums_.push_back(checksum(rank)); });
  fill_for_timing();
}

BufferContents::~BufferContents() {
  for (auto const& [device, memory] : references_) (void)cudaFree(memory);
  for (auto const& [device, memory] : counters_) (void)cudaFree(memory);
}

void* BufferContents::output(int rank, bool in_place) const {
  return in_place ? group_.in_place(rank) : group_.out(rank);
}

//! Calls in place run on their own results: zeros stay clear of infinities however often they are added.
void BufferContents::fill_for_timing() {
  stage_.for_each_rank([&](int rank) {
    for (bool const in_place : {false, true})
      check_cuda(cudaMemsetAsync(output(rank, in_place), 0, max_bytes_ + Guard::bytes, stage_.stream(rank)),
                 checking);
  });
  stage_.synchronize();
}

std::uint64_t BufferContents::checksum(int rank) const {
  auto* const sum = counters_.at(stage_.devices()[static_cast<std::size_t>(rank)]);
  *sum = 0;
  add_up<<<blocks, threads, 0, stage_.stream(rank)>>>(static_cast<std::uint16_t const*>(group_.in(rank)),
                                                      max_bytes_ / sizeof(std::uint16_t),
                                                      reinterpret_cast<Counter*>(sum));
  check_cuda(cudaStreamSynchronize(stage_.stream(rank)), checking);
  return *sum;
}

std::uint64_t BufferContents::count_wrong(std::size_t bytes, bool in_place) const {
  std::uint64_t wrong = 0;
  stage_.for_each_rank([&](int rank) {
    auto const device = stage_.devices()[static_cast<std::size_t>(rank)];
    auto const stream = stage_.stream(rank);
    auto* const counter = counters_.at(device);
    auto* const count = reinterpret_cast<Counter*>(counter);
    void const* const result = output(rank, in_place);
    void const* const want = references_.at(device);
    *counter = 0;
    if (group_.element_bytes() == sizeof(std::uint16_t)) {
      count_differences<<<blocks, threads, 0, stream>>>(static_cast<std::uint16_t const*>(result),
                                                        static_cast<std::uint16_t const*>(want),
                                                        bytes / sizeof(std::uint16_t), count);
    } else {
      count_differences<<<blocks, threads, 0, stream>>>(static_cast<std::uint32_t const*>(result),
                                                        static_cast<std::uint32_t const*>(want),
                                                        bytes / sizeof(std::uint32_t), count);
    }
    count_changed<<<1, threads, 0, stream>>>(static_cast<unsigned char const*>(result) + bytes, Guard::bytes,
                                             static_cast<unsigned char>(pattern), count);
    check_cuda(cudaGetLastError(), checking);
    check_cuda(cudaStreamSynchronize(stream), checking);
    wrong += *counter;
    wrong += checksum(rank) != checksums_[static_cast<std::size_t>(rank)];
  });
  return wrong;
}

std::uint64_t BufferContents::wrong_after(std::function<void()> const& call, std::size_t bytes,
                                          bool in_place) {
  stage_.for_each_rank([&](int rank) {
    auto* const to = static_cast<std::byte*>(output(rank, in_place));
    check_cuda(cudaMemsetAsync(to, pattern, bytes + Guard::bytes, stage_.stream(rank)), checking);
    if (in_place)
      check_cuda(cudaMemcpyAsync(to, group_.in(rank), bytes, cudaMemcpyDeviceToDevice, stage_.stream(rank)),
                 checking);
  });
  stage_.synchronize();
  // A check that sees nothing would pass everything.
  if (bytes != 0 && count_wrong(bytes, in_place) == 0)
    throw std::runtime_error("the check does not tell right results from wrong ones");
  call();
  stage_.synchronize();
  auto const wrong = count_wrong(bytes, in_place);
  fill_for_timing();
  return wrong;
}

}  // namespace perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_DEVICE_CUH
#define CHEVRON_TESTS_SUPPORT_DEVICE_CUH

//! @file
//! What tests that need a device have in common: the skip where there is none, streams, memory and graphs that know their
//! device and clean up, and small kernels.

#include <chevron/host/cuda_result.cuh>

#include <support/rank_devices.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

//! Whether all groups of this program are of thread_scope_system, so that their ranks may have devices of their own.
#if defined(CHEVRON_TEST_SYSTEM_SCOPE)
inline constexpr bool system_scope_alone = true;
#else
inline constexpr bool system_scope_alone = false;
#endif

//! Ends the program with 77, which Meson takes for a skip, where there is no device. So it does where the program repeats
//! another one's tests for devices that the environment lists, and it lists none.
inline void need_device() {
  // Kernels of all ranks of a device wait for each other, so no stream may have to wait behind another one's kernel in a
  // queue that the two share. Read when CUDA starts.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int devices = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::printf("skipped: there is no CUDA device (%s)\n", cudaGetErrorString(status));
    std::exit(77);
  }
  if (system_scope_alone && listed_devices().empty()) {
    std::puts("skipped: CHEVRON_TEST_DEVICES lists no devices");
    std::exit(77);
  }
  for (int const device : devices_in_use()) {
    if (device >= 0 && device < devices) continue;
    std::printf("CHEVRON_TEST_DEVICES lists what is no device here; there are %d\n", devices);
    std::exit(1);
  }
}

//! For CUDA calls that a test makes itself.
inline void must(cudaError_t status, char const* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

//! Waits for all devices that a test may use; the first error.
inline cudaError_t synchronise_devices() {
  cudaError_t first = cudaSuccess;
  for (int const device : devices_in_use()) {
    DeviceGuard const guard(device);
    cudaError_t const done = cudaDeviceSynchronize();
    if (first == cudaSuccess) first = done;
  }
  return first;
}

class Stream {
 public:
  explicit Stream(int device = 0) : device_(device) {
    DeviceGuard const guard(device);
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)), device_(other.device_) {}
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  ~Stream() {
    if (stream_ == nullptr) return;
    DeviceGuard const guard(device_);
    (void)cudaStreamDestroy(stream_);
  }
  operator cudaStream_t() const { return stream_; }
  [[nodiscard]] int device() const { return device_; }
  void wait() const {
    DeviceGuard const guard(device_);
    must(cudaStreamSynchronize(stream_), "waiting for a stream");
  }

 private:
  cudaStream_t stream_ = nullptr;
  int device_;
};

//! A stream of each of these devices.
template <class Devices>
std::vector<Stream> streams_on(Devices const& devices) {
  std::vector<Stream> all;
  for (int const device : devices) all.emplace_back(device);
  return all;
}

//! Device memory for `count` values, zeroed.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count, int device = 0) : count_(count), device_(device) {
    DeviceGuard const guard(device);
    must(cudaMalloc(&data_, (count == 0 ? 1 : count) * sizeof(T)), "allocating device memory");
    must(cudaMemset(data_, 0, count * sizeof(T)), "clearing device memory");
    must(cudaDeviceSynchronize(), "clearing device memory");
  }
  explicit DeviceBuffer(std::vector<T> const& values, int device = 0) : DeviceBuffer(values.size(), device) {
    set(0, values);
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        device_(other.device_) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ == nullptr) return;
    DeviceGuard const guard(device_);
    (void)cudaFree(data_);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] int device() const { return device_; }
  void set(std::size_t at, std::vector<T> const& values) const {
    DeviceGuard const guard(device_);
    must(cudaMemcpy(data_ + at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
         "writing device memory");
  }
  [[nodiscard]] std::vector<T> values() const {
    DeviceGuard const guard(device_);
    std::vector<T> copy(count_);
    must(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "reading device memory");
    return copy;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
  int device_ = 0;
};

//! What a stream is told between two calls, as something to launch.
class Graph {
 public:
  //! Runs `record()`, which gives `stream` work, with the stream's device as the thread's.
  template <class Record>
  Graph(Stream const& stream, Record&& record, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal)
      : device_(stream.device()) {
    DeviceGuard const guard(device_);
    must(cudaStreamBeginCapture(stream, mode), "beginning a capture");
    record();
    cudaGraph_t graph = nullptr;
    must(cudaStreamEndCapture(stream, &graph), "ending a capture");
    cudaError_t const made = cudaGraphInstantiate(&graph_, graph, 0);
    (void)cudaGraphDestroy(graph);
    must(made, "making a graph");
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)), device_(other.device_) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~Graph() {
    if (graph_ == nullptr) return;
    DeviceGuard const guard(device_);
    (void)cudaGraphExecDestroy(graph_);
  }

  //! Whatever launching would otherwise do for the first time, while peers wait.
  void upload(cudaStream_t stream) const {
    DeviceGuard const guard(device_);
    must(cudaGraphUpload(graph_, stream), "uploading a graph");
  }
  void launch(cudaStream_t stream) const {
    DeviceGuard const guard(device_);
    must(cudaGraphLaunch(graph_, stream), "launching a graph");
  }

 private:
  cudaGraphExec_t graph_ = nullptr;
  int device_;
};

// -- kernels --------------------------------------------------------------------------------------------

//! Loads a kernel on all devices: loading one while ranks wait for each other would wait for them.
template <class Kernel>
void load_kernel(Kernel* kernel) {
  for (int const device : devices_in_use()) {
    DeviceGuard const guard(device);
    cudaFuncAttributes attributes{};
    must(cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(kernel)), "loading a kernel");
  }
}

//! Keeps a stream busy.
[[maybe_unused]] static __global__ void dawdle(unsigned nanoseconds) {
  std::uint64_t begin = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}
inline void dawdle_on(Stream const& stream, unsigned nanoseconds) {
  DeviceGuard const guard(stream.device());
  dawdle<<<1, 1, 0, stream>>>(nanoseconds);
  must(cudaGetLastError(), "launching what dawdles");
}

[[maybe_unused]] static __global__ void add_one(unsigned* word) { *word += 1; }

//! What is wrong with the devices after a test; empty where they are fine: a plain kernel runs on each, and no error lies
//! about.
inline std::string trouble_with_device() {
  auto const text = [](char const* what, cudaError_t status) {
    return std::string(what) + ": " + cudaGetErrorString(status);
  };
  if (cudaError_t const left = cudaGetLastError(); left != cudaSuccess)
    return text("an error was left behind", left);
  if (cudaError_t const done = synchronise_devices(); done != cudaSuccess) return text("synchronising", done);
  for (int const device : devices_in_use()) {
    DeviceGuard const guard(device);
    DeviceBuffer<unsigned> const word(1, device);
    add_one<<<1, 1>>>(word.data());
    if (cudaError_t const launched = cudaGetLastError(); launched != cudaSuccess)
      return text("launching", launched);
    if (cudaError_t const done = cudaDeviceSynchronize(); done != cudaSuccess) return text("running", done);
    if (word.values()[0] != 1)
      return "a plain kernel did not write what it should on device " + std::to_string(device);
  }
  return "";
}

}  // namespace chevron::test

#endif

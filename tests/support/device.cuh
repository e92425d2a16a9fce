// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_DEVICE_CUH
#define CHEVRON_TESTS_SUPPORT_DEVICE_CUH

//! @file
//! What tests that need a device have in common: the skip where there is none, streams, memory and graphs that clean up, and
//! small kernels.

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

//! Ends the program with 77, which Meson takes for a skip, where there is no device.
inline void need_device() {
  // Kernels of all ranks of a device wait for each other, so no stream may have to wait behind another one's kernel in a
  // queue that the two share. Read when CUDA starts.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int devices = 0;
  cudaError_t const status = cudaGetDeviceCount(&devices);
  if (status == cudaSuccess && devices > 0) return;
  std::printf("skipped: there is no CUDA device (%s)\n", cudaGetErrorString(status));
  std::exit(77);
}

//! For CUDA calls that a test makes itself.
inline void must(cudaError_t status, char const* what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

class Stream {
 public:
  Stream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"); }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  ~Stream() {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }
  operator cudaStream_t() const { return stream_; }
  void wait() const { must(cudaStreamSynchronize(stream_), "waiting for a stream"); }

 private:
  cudaStream_t stream_ = nullptr;
};

inline std::vector<Stream> streams(int count) { return std::vector<Stream>(static_cast<std::size_t>(count)); }

//! Device memory for `count` values, zeroed.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(std::size_t count) : count_(count) {
    must(cudaMalloc(&data_, (count == 0 ? 1 : count) * sizeof(T)), "allocating device memory");
    must(cudaMemset(data_, 0, count * sizeof(T)), "clearing device memory");
    must(cudaDeviceSynchronize(), "clearing device memory");
  }
  explicit DeviceBuffer(std::vector<T> const& values) : DeviceBuffer(values.size()) { set(0, values); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) (void)cudaFree(data_);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  void set(std::size_t at, std::vector<T> const& values) const {
    must(cudaMemcpy(data_ + at, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
         "writing device memory");
  }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> copy(count_);
    must(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "reading device memory");
    return copy;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

//! What a stream is told between two calls, as something to launch.
class Graph {
 public:
  //! Runs `record()`, which gives `stream` work.
  template <class Record>
  Graph(cudaStream_t stream, Record&& record, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
    must(cudaStreamBeginCapture(stream, mode), "beginning a capture");
    record();
    cudaGraph_t graph = nullptr;
    must(cudaStreamEndCapture(stream, &graph), "ending a capture");
    cudaError_t const made = cudaGraphInstantiate(&graph_, graph, 0);
    (void)cudaGraphDestroy(graph);
    must(made, "making a graph");
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~Graph() {
    if (graph_ != nullptr) (void)cudaGraphExecDestroy(graph_);
  }

  //! Whatever launching would otherwise do for the first time, while peers wait.
  void upload(cudaStream_t stream) const { must(cudaGraphUpload(graph_, stream), "uploading a graph"); }
  void launch(cudaStream_t stream) const { must(cudaGraphLaunch(graph_, stream), "launching a graph"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// -- kernels --------------------------------------------------------------------------------------------

//! Loads a kernel: loading one while ranks wait for each other would wait for them.
template <class Kernel>
void load_kernel(Kernel* kernel) {
  cudaFuncAttributes attributes{};
  must(cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(kernel)), "loading a kernel");
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

[[maybe_unused]] static __global__ void add_one(unsigned* word) { *word += 1; }

//! What is wrong with the device after a test; empty where it is fine: a plain kernel runs, and no error lies about.
inline std::string trouble_with_device() {
  auto const text = [](char const* what, cudaError_t status) {
    return std::string(what) + ": " + cudaGetErrorString(status);
  };
  if (cudaError_t const left = cudaGetLastError(); left != cudaSuccess)
    return text("an error was left behind", left);
  if (cudaError_t const done = cudaDeviceSynchronize(); done != cudaSuccess)
    return text("synchronising", done);
  DeviceBuffer<unsigned> const word(1);
  add_one<<<1, 1>>>(word.data());
  if (cudaError_t const launched = cudaGetLastError(); launched != cudaSuccess)
    return text("launching", launched);
  if (cudaError_t const done = cudaDeviceSynchronize(); done != cudaSuccess) return text("running", done);
  return word.values()[0] == 1 ? "" : "a plain kernel did not write what it should";
}

}  // namespace chevron::test

#endif

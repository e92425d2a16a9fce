// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_CUDA_RESULT_CUH
#define CHEVRON_HOST_CUDA_RESULT_CUH

//! @file
//! CUDA calls whose failures are errors of chevron, and what they own.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace chevron {

//! @brief A failed CUDA call as an error; success otherwise. The error is not left behind for cudaGetLastError.
//! @param rank  the rank that it was done for, -1 for none
[[nodiscard]] inline Result<void> cuda_result(cudaError_t status, char const* during, int rank = -1) {
  if (status == cudaSuccess) return {};
  (void)cudaGetLastError();
  return Error{.code = status == cudaErrorMemoryAllocation ? Errc::no_memory : Errc::cuda,
               .rank = static_cast<std::int16_t>(rank),
               .native = status == cudaErrorMemoryAllocation ? 0 : static_cast<int>(status),
               .during = during,
               .detail = cudaGetErrorString(status)};
}

//! @brief Makes a device the calling thread's, and puts back the one it had.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    if (before_ != device) changed_ = cudaSetDevice(device) == cudaSuccess;
  }
  DeviceGuard(DeviceGuard const&) = delete;
  DeviceGuard& operator=(DeviceGuard const&) = delete;
  ~DeviceGuard() {
    if (changed_) (void)cudaSetDevice(before_);
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

//! @brief Zeroed device memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), device_(other.device_) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(device_, other.device_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ == nullptr) return;
    DeviceGuard const guard(device_);
    (void)cudaFree(data_);
  }

  [[nodiscard]] static Result<DeviceMemory> zeroed(int device, std::size_t size_bytes, char const* during) {
    DeviceGuard const guard(device);
    DeviceMemory memory;
    memory.device_ = device;
    // An empty window has an address as well.
    std::size_t const size = size_bytes == 0 ? 1 : size_bytes;
    if (auto got = cuda_result(cudaMalloc(&memory.data_, size), during); !got) return got.error();
    // On a stream of its own: the default one would wait for whatever runs there.
    cudaStream_t stream = nullptr;
    if (auto made = cuda_result(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), during); !made) {
      return made.error();
    }
    cudaError_t status = cudaMemsetAsync(memory.data_, 0, size, stream);
    if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
    (void)cudaStreamDestroy(stream);
    if (auto zeroed = cuda_result(status, during); !zeroed) return zeroed.error();
    return memory;
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
  int device_ = 0;
};

//! @brief Zeroed host memory that all devices reach.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~PinnedMemory() {
    if (data_ != nullptr) (void)cudaFreeHost(data_);
  }

  [[nodiscard]] static Result<PinnedMemory> zeroed(std::size_t size_bytes, char const* during) {
    PinnedMemory memory;
    unsigned const flags = cudaHostAllocPortable | cudaHostAllocMapped;
    if (auto got = cuda_result(cudaHostAlloc(&memory.data_, size_bytes, flags), during); !got)
      return got.error();
    for (std::size_t i = 0; i < size_bytes; ++i) memory.data()[i] = std::byte{0};
    return memory;
  }

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

namespace detail {

//! @brief Lets this thread allocate and copy while any thread captures a graph: nothing of it is part of a capture.
class OutsideCapture {
 public:
  OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideCapture(OutsideCapture const&) = delete;
  OutsideCapture& operator=(OutsideCapture const&) = delete;
  ~OutsideCapture() { (void)cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace detail

}  // namespace chevron

#endif

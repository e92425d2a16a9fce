// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_CUDA_SHARED_HOST_MEMORY_CUH
#define CHEVRON_HOST_CUDA_SHARED_HOST_MEMORY_CUH

//! @file
//! Host memory of several processes that their devices reach.

#include <chevron/core/result.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/memory.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

namespace chevron::detail {

//! @brief Memory of several processes that the device reaches as well.
class RegisteredMemory {
 public:
  RegisteredMemory() = default;
  RegisteredMemory(RegisteredMemory&& other) noexcept
      : memory_(std::move(other.memory_)), device_data_(std::exchange(other.device_data_, nullptr)) {}
  RegisteredMemory& operator=(RegisteredMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(device_data_, other.device_data_);
    return *this;
  }
  ~RegisteredMemory() {
    if (device_data_ != nullptr) (void)cudaHostUnregister(memory_.data());
  }

  [[nodiscard]] static Result<RegisteredMemory> of_file(OwnedFd const& fd, std::size_t size_bytes,
                                                        char const* during) {
    auto mapped = MappedMemory::of_file(fd, size_bytes);
    if (!mapped) return mapped.error();
    RegisteredMemory registered;
    registered.memory_ = std::move(*mapped);
    MappedMemory const& memory = registered.memory_;
    unsigned const flags = cudaHostRegisterMapped | cudaHostRegisterPortable;
    auto done = cuda_result(cudaHostRegister(memory.data(), memory.size_bytes(), flags), during);
    if (!done) return done.error();
    void* data = nullptr;
    done = cuda_result(cudaHostGetDevicePointer(&data, memory.data(), 0), during);
    if (!done) {
      (void)cudaHostUnregister(memory.data());
      return done.error();
    }
    registered.device_data_ = static_cast<std::byte*>(data);
    return registered;
  }

  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] std::byte* device_data() const { return device_data_; }

 private:
  MappedMemory memory_{};
  std::byte* device_data_ = nullptr;
};

}  // namespace chevron::detail

#endif

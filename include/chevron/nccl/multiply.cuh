// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_MULTIPLY_CUH
#define CHEVRON_NCCL_MULTIPLY_CUH

//! @file
//! The product before a premultiplied sum, as a kernel of its own.

#include <chevron/core/element.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/op.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/names.cuh>

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace chevron::nccl::detail {

template <class T>
__global__ void multiply_elements(T const* in, T* out, std::size_t count, Factor const factor) {
  T scalar;
  void const* const from = factor.on_device != nullptr ? factor.on_device : &factor.bits;
  std::memcpy(&scalar, from, sizeof(T));
  using Traits = ElementTraits<T>;
  std::size_t const stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = Traits::narrow(Prod::combine(Traits::widen(in[i]), Traits::widen(scalar)));
  }
}

//! @brief out = in * factor, as one kernel.
[[nodiscard]] inline Result<void> multiply_on_device(void const* in, void* out, std::size_t count,
                                                     ncclDataType_t type, Factor const& factor,
                                                     cudaStream_t stream) {
  if (count == 0) return {};
  constexpr char const* during = "multiplying before a sum";
  if (in == nullptr || out == nullptr) return Error{.code = Errc::null_pointer, .during = during};
  cudaError_t status = cudaErrorInvalidValue;
  with_element(type, [&]<class T>() {
    constexpr unsigned threads = 256;
    constexpr std::size_t most_blocks = 1056;
    std::size_t const blocks = std::min(most_blocks, (count + threads - 1) / threads);
    multiply_elements<<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
        static_cast<T const*>(in), static_cast<T*>(out), count, factor);
    status = cudaGetLastError();
  });
  return cuda_result(status, during);
}

}  // namespace chevron::nccl::detail

#endif

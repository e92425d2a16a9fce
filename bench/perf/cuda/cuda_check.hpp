// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_CUDA_CHECK_HPP
#define CHEVRON_PERF_CUDA_CUDA_CHECK_HPP

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace perf {

//! @brief Ends the program, with a sentence: there is nothing to measure where CUDA itself fails.
inline void check_cuda(cudaError_t status, char const* during) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(during) + ": " + cudaGetErrorString(status));
}

}  // namespace perf

#endif

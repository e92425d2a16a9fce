// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_COMMAND_LINE_HPP
#define CHEVRON_PERF_CUDA_COMMAND_LINE_HPP

#include <variant>

#include <perf/cuda/settings.hpp>

namespace perf {

//! @brief The settings, or an exit code where there is nothing to run: help was asked for, or the line is wrong.
//! The options have the names of chevron-perf's. No library reads them, so that nvcc alone builds this program.
std::variant<CudaSettings, int> read_cuda_command_line(int argc, char** argv);

}  // namespace perf

#endif

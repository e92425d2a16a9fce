// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_TABLE_HPP
#define CHEVRON_PERF_CUDA_TABLE_HPP

#include <chevron/select/tables/one_gpu.hpp>

namespace perf {

//! @brief What `--algorithm auto` chooses by.
using DeviceTable = chevron::tables::OneGpu;

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_TABLE_HPP
#define CHEVRON_PERF_CUDA_TABLE_HPP

#include <chevron/select/tables/hopper.hpp>
#include <chevron/select/tables/one_gpu.hpp>

#include <type_traits>

namespace perf {

//! @brief What `--algorithm auto` chooses by: for ranks that are all on one device, and for others.
template <bool OneDevice>
using DeviceTable = std::conditional_t<OneDevice, chevron::tables::OneGpu, chevron::tables::Hopper>;

}  // namespace perf

#endif

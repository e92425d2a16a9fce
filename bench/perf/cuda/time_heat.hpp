// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_TIME_HEAT_HPP
#define CHEVRON_PERF_CUDA_TIME_HEAT_HPP

#include <vector>

#include <perf/cuda/buffers.hpp>
#include <perf/cuda/group.hpp>
#include <perf/cuda/settings.hpp>
#include <perf/cuda/stage.hpp>
#include <perf/heats.hpp>

namespace perf {

//! @brief Times the policies of a heat in turns, on the ranks of a group.
std::vector<Finish> time_heat(Stage& stage, DeviceGroup& group, BufferContents& contents, Heat const& heat,
                              CudaSettings const& settings);

}  // namespace perf

#endif

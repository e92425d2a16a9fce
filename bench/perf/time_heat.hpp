// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_TIME_HEAT_HPP
#define CHEVRON_PERF_TIME_HEAT_HPP

#include <vector>

#include <perf/contestant.hpp>
#include <perf/heats.hpp>
#include <perf/rank/task.hpp>
#include <perf/settings.hpp>

namespace perf {

//! @brief Times the policies of a heat in turns, on chevron's ranks of one transport.
//! @param task  names the element and the operation
std::vector<Finish> time_heat(Contestant& chevron, Task task, Heat const& heat, Settings const& settings);

}  // namespace perf

#endif

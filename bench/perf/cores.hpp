// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CORES_HPP
#define CHEVRON_PERF_CORES_HPP

#include <vector>

namespace perf {

//! @brief One CPU of each core that this process may run on, by number.
std::vector<int> cores();

}  // namespace perf

#endif

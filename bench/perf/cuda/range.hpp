// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_RANGE_HPP
#define CHEVRON_PERF_CUDA_RANGE_HPP

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace perf {

//! @brief A range in the timeline of a profiler, from construction to destruction.
class Range {
 public:
#if __has_include(<nvtx3/nvToolsExt.h>)
  explicit Range(char const* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
#else
  explicit Range(char const*) {}
#endif
  Range(Range const&) = delete;
  Range& operator=(Range const&) = delete;
};

}  // namespace perf

#endif

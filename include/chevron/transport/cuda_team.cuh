// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_TEAM_CUH
#define CHEVRON_TRANSPORT_CUDA_TEAM_CUH

//! @file
//! The threads of a device lane that work together and wait for each other: all of them, or one of two halves.

#include <chevron/core/call.hpp>
#include <chevron/core/config.hpp>

namespace chevron {

//! @brief The team of the calling thread. What a team does, all its threads do together.
class CudaTeam {
 public:
  [[nodiscard]] CHEVRON_DEVICE unsigned thread() const { return threadIdx.x - first_; }
  [[nodiscard]] CHEVRON_DEVICE unsigned threads() const { return barrier_ == 0 ? blockDim.x : threads_; }

  [[nodiscard]] CHEVRON_DEVICE bool is_half() const { return barrier_ != 0; }

  //! Everything that a thread of the team did before is visible to all of it afterwards.
  CHEVRON_DEVICE void meet() const {
    if (barrier_ == 0) return __syncthreads();
    asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier_), "r"(threads_) : "memory");
  }

  //! The same; returns whether all threads are fine.
  [[nodiscard]] CHEVRON_DEVICE bool agree(bool fine) const {
    if (barrier_ == 0) return __syncthreads_and(fine ? 1 : 0) != 0;
    int all = 0;
    asm volatile(
        "{\n\t.reg .pred mine, everybody;\n\t"
        "setp.ne.u32 mine, %1, 0;\n\t"
        "barrier.cta.red.and.pred everybody, %2, %3, mine;\n\t"
        "selp.u32 %0, 1, 0, everybody;\n\t}"
        : "=r"(all)
        : "r"(fine ? 1 : 0), "r"(barrier_), "r"(threads_)
        : "memory");
    return all != 0;
  }

  //! Makes two teams of one: the first half of the threads contributes, the others reduce. Blocks are a multiple of 64
  //! threads long.
  CHEVRON_DEVICE Roles split() {
    unsigned const half = blockDim.x / 2;
    bool const is_first = threadIdx.x < half;
    threads_ = half;
    first_ = is_first ? 0 : half;
    barrier_ = is_first ? 1 : 2;
    return {is_first, !is_first};
  }

 private:
  unsigned barrier_ = 0;  //!< 0: all threads of the lane
  unsigned first_ = 0;
  unsigned threads_ = 0;
};

}  // namespace chevron

#endif

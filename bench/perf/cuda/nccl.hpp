// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_NCCL_HPP
#define CHEVRON_PERF_CUDA_NCCL_HPP

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace perf {

//! @brief NCCL as a peer. It is found when the program runs, so that nothing of it is needed to build.
class Nccl {
 public:
  struct Opened {
    std::unique_ptr<Nccl> nccl = nullptr;  //!< null if there is none
    std::string why_not = {};
  };
  //! @param devices  of the ranks. Ranks that share one need NCCL 2.30 or newer.
  static Opened open(std::vector<int> const& devices);
  //! The same with buffers of its own, of `max_bytes`, which are registered as symmetric windows: what all_reduce() is given
  //! is not used. Needs NCCL 2.27 or newer.
  static Opened open_symmetric(std::vector<int> const& devices, std::size_t max_bytes);

  virtual ~Nccl() = default;
  [[nodiscard]] virtual std::string version() const = 0;
  //! @brief One all-reduce on all ranks; the text says what failed.
  virtual std::string all_reduce(std::string const& element, std::vector<void const*> const& in,
                                 std::vector<void*> const& out, std::size_t count,
                                 std::vector<cudaStream_t> const& streams) = 0;
};

}  // namespace perf

#endif

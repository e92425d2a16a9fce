// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_BUFFERS_HPP
#define CHEVRON_PERF_CUDA_BUFFERS_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <perf/cuda/group.hpp>
#include <perf/cuda/stage.hpp>

namespace perf {

//! @brief The contents of a group's buffers: what calls get, and whether what comes of it is right.
class BufferContents {
 public:
  BufferContents(DeviceGroup& group, Stage& stage, std::size_t max_bytes);
  BufferContents(BufferContents const&) = delete;
  BufferContents& operator=(BufferContents const&) = delete;
  ~BufferContents();

  //! Runs one call on all ranks, after the output and what lies behind it were overwritten with a pattern.
  //! @param in_place  the call is on the buffers for calls in place
  //! @return elements of all ranks that are not the reference's in every bit, words behind the outputs that changed, and
  //!         one for each rank whose input changed
  std::uint64_t wrong_after(std::function<void()> const& call, std::size_t bytes, bool in_place);

 private:
  [[nodiscard]] void* output(int rank, bool in_place) const;
  [[nodiscard]] std::uint64_t checksum(int rank) const;
  [[nodiscard]] std::uint64_t count_wrong(std::size_t bytes, bool in_place) const;
  void fill_for_timing();

  DeviceGroup& group_;
  Stage& stage_;
  std::size_t max_bytes_;
  std::map<int, void*> references_{};  //!< by device
  std::map<int, std::uint64_t*> counters_{};
  std::vector<std::uint64_t> checksums_{};
};

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_DEVICES_HPP
#define TP2_ENCODER_DEVICES_HPP

//! @file
//! The encoder on GPUs: ranks are devices of this process, and may share one. What a compiler without CUDA sees of it.

#include <functional>
#include <string>
#include <vector>

#include "batch.hpp"

namespace tp2_encoder {

//! The floats of a tensor of the published model; see TensorSource.
using Tensors = std::function<float const*(std::string const& name, int rows, int columns)>;

//! What a run on devices gave. Throughout, a pass encodes all batches.
struct DeviceRun {
  std::vector<float> embeddings;  //!< [sentences, hidden], of rank 0
  double total_seconds = 0;       //!< of a pass
  double all_reduce_seconds = 0;  //!< by how much a pass without its all-reduces is shorter
  bool same_bits = true;          //!< on all ranks
};

#ifdef TP2_ENCODER_CUDA
//! @brief Whether there is a GPU.
[[nodiscard]] bool has_device();

//! @brief Encodes the batches on `rank_count` ranks, 1 included, spread over the GPUs that there are; throws on failure.
[[nodiscard]] DeviceRun run_on_devices(std::vector<Batch> const& batches, int passes, Tensors const& tensors,
                                       int rank_count);
#else
[[nodiscard]] inline bool has_device() { return false; }
[[nodiscard]] inline DeviceRun run_on_devices(std::vector<Batch> const&, int, Tensors const&, int) {
  return {};
}
#endif

}  // namespace tp2_encoder

#endif

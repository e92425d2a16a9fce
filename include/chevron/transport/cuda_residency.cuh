// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TRANSPORT_CUDA_RESIDENCY_CUH
#define CHEVRON_TRANSPORT_CUDA_RESIDENCY_CUH

//! @file
//! How many lanes the ranks that share a device may have. Lanes wait for each other, so a lane that finds no room while the
//! others spin would never come.
//!
//! A call whose next kernel is brought in only after it has met its peers has all its lanes on the device by then: it is
//! enough that the lanes of all ranks fit once. A call that lets go earlier may find the others' next kernels there before its
//! own lanes: for that, one rank's lanes must fit beside all other ranks' lanes and those of their next kernels. Each block
//! counts as a whole multiprocessor: two may fit into one by what the occupancy calculator says, and yet not, because blocks
//! of other kernels have left the registers in pieces.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/cuda_result.cuh>
#include <chevron/host/options.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

namespace chevron {

//! Threads of a lane at most, and what room is proven for.
inline constexpr int max_lane_threads = 512;

//! Lanes of a rank that shares its device, where nothing else is asked for.
inline constexpr int usual_lanes = 64;

//! Lanes of a rank that shall be able to let go early, where nothing else is asked for.
inline constexpr int usual_early_lanes = 4;

//! @brief Streams of a process that a device works on side by side: more would wait for each other.
[[nodiscard]] inline int hardware_queues() {
  char const* const asked_for = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  int const queues = asked_for != nullptr ? std::atoi(asked_for) : 0;
  return queues > 0 ? queues : 8;
}

//! @brief What each rank may launch: the same on all ranks of a group.
struct Residency {
  std::vector<int> lanes{};  //!< of each kernel, in the order in which they were asked for
  int early_lanes = 0;       //!< of calls that let go before they have met their peers
  int architecture = 0;      //!< the least compute capability of the devices, times ten: what tables go by

  [[nodiscard]] int most() const { return *std::max_element(lanes.begin(), lanes.end()); }

  //! What fits on both of two devices, or for both of two ranks.
  void limit_to(Residency const& other) {
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = std::min(lanes[i], other.lanes[i]);
    early_lanes = std::min(early_lanes, other.early_lanes);
    architecture = std::min(architecture, other.architecture);
  }
};

//! @brief What `ranks_here` ranks may launch that share a device.
//! Errors: not_resident where not even one lane of each rank fits, cuda
[[nodiscard]] inline Result<Residency> residency_on(int device, int ranks_here,
                                                    std::span<void const* const> kernels,
                                                    CudaOptions const& options, char const* during) {
  DeviceGuard const guard(device);
  Residency residency;
  int processors = 0;
  cudaError_t status = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  int major = 0;
  int minor = 0;
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  }
  if (status == cudaSuccess) {
    status = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  }
  std::vector<int> room;
  for (void const* const kernel : kernels) {
    int blocks = 0;
    if (status == cudaSuccess) {
      status =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, max_lane_threads, std::size_t{0});
    }
    room.push_back(std::min(blocks, 1) * processors / options.communicators);
  }
  if (auto known = cuda_result(status, during); !known) return known.error();
  int const least = *std::min_element(room.begin(), room.end());
  if (least < ranks_here) {
    return Error{.code = Errc::not_resident,
                 .during = during,
                 .detail = std::to_string(ranks_here) + " ranks share device " + std::to_string(device)};
  }
  int most = options.lanes != 0 ? options.lanes : ranks_here > 1 ? usual_lanes : processors;
  if (options.lanes == 0 && ranks_here > 1) {
    most = std::clamp((least - ranks_here * usual_early_lanes) / (ranks_here - 1), 1, most);
  }
  residency.architecture = 10 * major + minor;
  for (int const blocks : room) residency.lanes.push_back(std::min(most, blocks / ranks_here));
  residency.early_lanes = std::max(0, (least - (ranks_here - 1) * residency.most()) / ranks_here);
  return residency;
}

}  // namespace chevron

#endif

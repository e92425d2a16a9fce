// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CUDA_GROUP_HPP
#define CHEVRON_PERF_CUDA_GROUP_HPP

#include <cuda_runtime.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <chevron/core/result.hpp>
#include <chevron/select/policy.hpp>
#include <perf/row.hpp>

//! @file
//! The ranks of chevron on devices, behind an interface that names neither element nor rank count: what times and checks
//! calls is compiled once.

namespace perf {

//! @brief One call on one rank, with its buffers as bytes.
using DeviceCall = chevron::Result<void> (*)(void const* communicator, void const* in, void* out,
                                             std::size_t count, cudaStream_t stream,
                                             chevron::CudaGeometry const& geometry);

//! @brief One way to run an algorithm.
struct Candidate {
  std::string algorithm;  //!< auto or a name
  int packs = 0;
  chevron::CudaGeometry geometry = {};
};

//! @brief What the group has to know from the start.
struct DeviceRanks {
  std::vector<int> devices;  //!< of each rank
  std::size_t max_bytes;     //!< of a call
  std::uint64_t seed;
  std::chrono::milliseconds deadline;
  bool system_scope;
  int most_lanes = 0;  //!< 0 here and below: what the library takes
  std::size_t packet_bytes = 0;
  std::size_t chunk_bytes = 0;
};

//! @brief A group of chevron's ranks with a buffer for input, one for output and one for calls in place on each rank, all
//! in windows, of max_bytes and Guard::bytes more.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;

  [[nodiscard]] virtual std::size_t element_bytes() const = 0;
  [[nodiscard]] virtual void const* communicator(int rank) const = 0;
  [[nodiscard]] virtual void* in(int rank) const = 0;
  [[nodiscard]] virtual void* out(int rank) const = 0;
  [[nodiscard]] virtual void* in_place(int rank) const = 0;

  //! The call of an algorithm; null where it is not compiled.
  [[nodiscard]] virtual DeviceCall find(Candidate const& candidate) const = 0;
  //! What runs for a candidate at a size: the table's choice for auto. Launch::lanes is what is really launched, and so is its let_go.
  [[nodiscard]] virtual chevron::Policy policy(Candidate const& candidate, std::size_t size_bytes) const = 0;
  //! The failure that ended the group, if one did.
  [[nodiscard]] virtual chevron::Result<void> status() const = 0;
  //! What a call costs the calling thread.
  [[nodiscard]] virtual HostTime host_time(Candidate const& candidate, std::size_t size_bytes,
                                           std::vector<cudaStream_t> const& streams) const = 0;

  //! A rank's input for a check, and the result that all ranks must get; both for max_bytes.
  [[nodiscard]] virtual std::vector<std::byte> sample(int rank) const = 0;
  [[nodiscard]] virtual std::vector<std::byte> reference() const = 0;
};

struct OpenedDeviceGroup {
  std::unique_ptr<DeviceGroup> group = nullptr;  //!< null if there is none
  std::string why_not = {};
};

//! @brief Makes the ranks for an element and as many devices as are named.
OpenedDeviceGroup open_device_group(std::string const& element, DeviceRanks const& ranks);

//! @brief The same for what the compiler knows. Each pair of element and rank count is a translation unit, from element.cu.
template <class T, int NRanks>
OpenedDeviceGroup open_device_group_of(DeviceRanks const& ranks);

//! @brief Bytes behind a call's buffers that must stay as they are.
struct Guard {
  static constexpr std::size_t bytes = 256;
};

}  // namespace perf

#endif

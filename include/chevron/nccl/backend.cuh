// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_BACKEND_CUH
#define CHEVRON_NCCL_BACKEND_CUH

//! @file
//! What the interface needs of the library behind it: groups of ranks whose number, elements and operations are known
//! when the program runs. `CudaBackend` is the one on devices.

#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/key.hpp>

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chevron::nccl {

//! @brief The factor of a ncclRedOpCreatePreMulSum: a value, or where on the device it will be.
struct Factor {
  std::uint64_t bits = 0;            //!< the scalar as an element, in the low bytes
  void const* on_device = nullptr;  //!< not null: read when the kernel runs
};

//! @brief One rank of a communicator. Used by one thread at a time, but for `status` and `abort`.
class Member {
 public:
  Member() = default;
  Member(Member const&) = delete;
  Member& operator=(Member const&) = delete;
  virtual ~Member() = default;

  //! Whether such calls were compiled.
  [[nodiscard]] virtual bool can(ncclDataType_t type, ncclRedOp_t operation) const = 0;
  //! Stream-ordered; `operation` is one of NCCL's own.
  [[nodiscard]] virtual Result<void> all_reduce(void const* in, void* out, std::size_t count,
                                                ncclDataType_t type, ncclRedOp_t operation,
                                                cudaStream_t stream) = 0;
  //! out[i] = in[i] * factor, rounded to the element, on this rank alone and stream-ordered.
  [[nodiscard]] virtual Result<void> multiply(void const* in, void* out, std::size_t count, ncclDataType_t type,
                                              Factor const& factor, cudaStream_t stream) = 0;
  //! The failure that ended the communicator, or success.
  [[nodiscard]] virtual Result<void> status() const = 0;
  //! Ends it on all ranks.
  virtual void abort() = 0;
  //! Whether a window needs no other rank. Else making one is collective.
  [[nodiscard]] virtual bool registers_alone() const = 0;
  [[nodiscard]] virtual Result<std::uint32_t> register_window(void* data, std::size_t size_bytes) = 0;
  virtual void release(std::uint32_t window) = 0;
};

//! @brief What a rank says of itself when it joins a group.
struct Seat {
  SharedMemoryKey key{};     //!< the group's
  int rank = 0;
  int ranks = 0;
  int device = 0;
  bool one_process = false;  //!< all ranks are in this process; else each is in another one
  std::chrono::milliseconds deadline{};
};

//! @brief Makes members.
class Backend {
 public:
  virtual ~Backend() = default;

  //! The compiled rank counts.
  [[nodiscard]] virtual std::vector<int> rank_counts() const = 0;
  //! Collective over the seats of a key.
  [[nodiscard]] virtual Result<std::unique_ptr<Member>> join(Seat const& seat) = 0;

  //! The calling thread's device, and a way to change it.
  [[nodiscard]] virtual Result<int> device() const = 0;
  [[nodiscard]] virtual Result<void> set_device(int device) const = 0;
  //! Waits for all that was launched on the device.
  [[nodiscard]] virtual Result<void> synchronize(int device) const = 0;
  [[nodiscard]] virtual Result<void*> allocate(std::size_t size_bytes) const = 0;
  [[nodiscard]] virtual Result<void> free(void* data) const = 0;
  //! Collective over a communicator of another library that works: everybody's bytes, in rank order; nothing where that
  //! fails.
  [[nodiscard]] virtual std::optional<std::vector<std::uint64_t>> all_gather(ncclComm_t real, int ranks,
                                                                            std::uint64_t mine) const = 0;
};

//! @brief The one that the program was made with: a file that instantiates the interface defines it.
[[nodiscard]] Backend& backend();

}  // namespace chevron::nccl

#endif

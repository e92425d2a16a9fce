// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_COMMUNICATOR_CUH
#define CHEVRON_NCCL_COMMUNICATOR_CUH

//! @file
//! What a ncclComm_t of chevron points to. Those of the real library go through untouched: a word at the front tells
//! them apart.

#include <chevron/host/bootstrap/processes.hpp>
#include <chevron/nccl/backend.cuh>

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chevron::nccl {

//! @brief An operation that ncclRedOpCreatePreMulSum made.
struct PreMulSum {
  Factor factor{};
  ncclDataType_t type{};
  std::optional<ncclRedOp_t> real{};  //!< the real library's twin
};

//! @brief What a handle of a window stands for.
struct RegisteredWindow {
  std::optional<std::uint32_t> number{};  //!< none where registering it would have needed the other ranks
  bool is_also_real = false;              //!< the handle is the real library's, for kernels that read it
  std::unique_ptr<std::byte> handle{};    //!< what it points to where it is not
};

}  // namespace chevron::nccl

//! @brief One rank of a communicator, under the name that nccl.h gives its type.
struct ncclComm {
  static constexpr std::uint64_t mark = 0x63686576726f6e21;  // "chevron!"; NCCL has a word of its own here

  std::uint64_t first_word = mark;
  int rank = 0;
  int ranks = 0;
  int device = 0;
  chevron::SharedMemoryKey key{};
  std::unique_ptr<chevron::nccl::Member> member{};
  std::optional<chevron::Processes> ranks_met{};  //!< how the ranks talk beside their calls
  ncclComm_t real = nullptr;                      //!< the same ranks in the real library, where it could make them
  std::string why_no_real{};
  std::vector<std::optional<chevron::nccl::PreMulSum>> operations{};
  std::multimap<void*, chevron::nccl::RegisteredWindow> windows{};  //!< by handle; the real library gives a buffer's twice
};

namespace chevron::nccl {

[[nodiscard]] inline bool is_ours(ncclComm_t comm) {
  return comm != nullptr && *reinterpret_cast<std::uint64_t const*>(comm) == ncclComm::mark;
}

}  // namespace chevron::nccl

#endif

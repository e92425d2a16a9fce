// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_COMMUNICATOR_CUH
#define CHEVRON_NCCL_COMMUNICATOR_CUH

//! @file
//! What a ncclComm_t of chevron points to. Those of the real library go through untouched: a word at the front tells
//! them apart.

#include <chevron/host/bootstrap/processes.hpp>
#include <chevron/nccl/backend.cuh>
#include <chevron/nccl/errors.cuh>

#include <nccl.h>

#include <cstddef>
#include <cstdint>
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
};

//! @brief A window of chevron under the name of NCCL's.
struct ncclWindow_vidmem {
  std::optional<std::uint32_t> number{};  //!< none where registering it would have needed the other ranks
  void* real_handle = nullptr;
};

namespace chevron::nccl {

[[nodiscard]] inline bool is_ours(ncclComm_t comm) {
  return comm != nullptr && *reinterpret_cast<std::uint64_t const*>(comm) == ncclComm::mark;
}

//! @brief The bytes of an element; 0 for what is none.
[[nodiscard]] constexpr std::size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

//! @brief A type's name, for people.
[[nodiscard]] constexpr char const* name_of(ncclDataType_t type) {
  constexpr char const* names[] = {"int8",    "uint8",   "int32",   "uint32",   "int64",       "uint64",
                                   "float16", "float32", "float64", "bfloat16", "float8_e4m3", "float8_e5m2"};
  return size_of(type) == 0 ? "unknown" : names[type];
}

[[nodiscard]] inline char const* name_of(ncclRedOp_t operation) {
  constexpr char const* names[] = {"sum", "prod", "max", "min", "avg"};
  return operation < ncclNumOps ? names[operation] : "premulsum";
}

}  // namespace chevron::nccl

#endif

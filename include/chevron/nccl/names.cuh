// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_NCCL_NAMES_CUH
#define CHEVRON_NCCL_NAMES_CUH

//! @file
//! NCCL's numbers for elements and operations, as chevron's types and in words.

#include <chevron/core/element.hpp>
#include <chevron/core/op.hpp>

#include <nccl.h>

#include <cstddef>
#include <cstdint>

namespace chevron::nccl {

//! @brief Calls `function.template operator()<T>()` for the element that a number stands for; not at all for what is none.
template <class Function>
constexpr void with_element(ncclDataType_t type, Function&& function) {
  switch (type) {
    case ncclInt8:
      return function.template operator()<std::int8_t>();
    case ncclUint8:
      return function.template operator()<std::uint8_t>();
    case ncclInt32:
      return function.template operator()<std::int32_t>();
    case ncclUint32:
      return function.template operator()<std::uint32_t>();
    case ncclInt64:
      return function.template operator()<std::int64_t>();
    case ncclUint64:
      return function.template operator()<std::uint64_t>();
    case ncclFloat16:
      return function.template operator()<half>();
    case ncclBfloat16:
      return function.template operator()<bfloat16>();
    case ncclFloat32:
      return function.template operator()<float>();
    case ncclFloat64:
      return function.template operator()<double>();
    case ncclFloat8e4m3:
      return function.template operator()<float8_e4m3>();
    case ncclFloat8e5m2:
      return function.template operator()<float8_e5m2>();
    default:
      return;
  }
}

//! @brief The same for an operation; not at all for those that a program made.
template <class Function>
constexpr void with_operation(ncclRedOp_t operation, Function&& function) {
  switch (operation) {
    case ncclSum:
      return function.template operator()<Sum>();
    case ncclProd:
      return function.template operator()<Prod>();
    case ncclMax:
      return function.template operator()<Max>();
    case ncclMin:
      return function.template operator()<Min>();
    case ncclAvg:
      return function.template operator()<Avg>();
    default:
      return;
  }
}

//! @brief The bytes of an element; 0 for what is none.
[[nodiscard]] constexpr std::size_t size_of(ncclDataType_t type) {
  std::size_t size_bytes = 0;
  with_element(type, [&]<class T>() { size_bytes = sizeof(T); });
  return size_bytes;
}

//! @brief A type's name, for people.
[[nodiscard]] constexpr char const* name_of(ncclDataType_t type) {
  char const* text = "unknown";
  with_element(type, [&]<class T>() { text = name(ElementTraits<T>::kind); });
  return text;
}

[[nodiscard]] constexpr char const* name_of(ncclRedOp_t operation) {
  char const* text = "premulsum";
  with_operation(operation, [&]<class Op>() { text = Op::name; });
  return text;
}

}  // namespace chevron::nccl

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_NARROW_FLOAT_PTX_HPP
#define CHEVRON_CORE_NARROW_FLOAT_PTX_HPP

#include <cstdint>

#include <chevron/core/config.hpp>

//! @file
//! The GPU's own conversions of narrow floats, for <chevron/core/narrow_float.hpp>; empty elsewhere.
//!
//! They give what the integer code gives (a decoded NaN may differ in payload). As the instructions are
//! spelled out, -use_fast_math doesn't make them flush subnormals.

#if defined(__CUDA_ARCH__)

namespace chevron::detail::ptx {

CHEVRON_DEVICE inline float decode_half(std::uint16_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

CHEVRON_DEVICE inline std::uint16_t encode_half(float value) {
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

#if __CUDA_ARCH__ >= 800
CHEVRON_DEVICE inline std::uint16_t encode_bfloat16(float value) {
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#endif

#if __CUDA_ARCH__ >= 890
// These convert pairs: the first of two sources lands in the upper half.
CHEVRON_DEVICE inline float decode_e4m3(std::uint8_t bits) {
  float value;
  asm("{ .reg .b32 pair; .reg .b16 low, high;\n"
      "  cvt.rn.f16x2.e4m3x2 pair, %1;\n"
      "  mov.b32 {low, high}, pair;\n"
      "  cvt.f32.f16 %0, low; }"
      : "=f"(value)
      : "h"(static_cast<std::uint16_t>(bits)));
  return value;
}

CHEVRON_DEVICE inline std::uint8_t encode_e4m3(float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<std::uint8_t>(pair);
}

CHEVRON_DEVICE inline std::uint8_t encode_e5m2(float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
  return static_cast<std::uint8_t>(pair);
}
#endif

}  // namespace chevron::detail::ptx

#endif

#endif

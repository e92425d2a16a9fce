// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_ELEMENT_CUDA_HPP
#define CHEVRON_CORE_ELEMENT_CUDA_HPP

#include <chevron/core/element.hpp>

//! @file
//! Makes the CUDA Toolkit's narrow floats elements of the same kinds as chevron's own.
//!
//! Their bits are converted by the same code, so `__half` and chevron::half give the same results, on the
//! host too. Plain C++ compilers can include this; where the Toolkit's headers are not found it adds nothing.

#if __has_include(<cuda_fp16.h>)
#include <cuda_fp16.h>

template <>
struct chevron::ElementTraits<__half>
    : chevron::detail::FloatAccumulator<__half, chevron::half, chevron::ElementKind::float16> {};
#endif

#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>

template <>
struct chevron::ElementTraits<__nv_bfloat16>
    : chevron::detail::FloatAccumulator<__nv_bfloat16, chevron::bfloat16, chevron::ElementKind::bfloat16> {};
#endif

#if __has_include(<cuda_fp8.h>)
#include <cuda_fp8.h>

template <>
struct chevron::ElementTraits<__nv_fp8_e4m3>
    : chevron::detail::FloatAccumulator<__nv_fp8_e4m3, chevron::float8_e4m3,
                                        chevron::ElementKind::float8_e4m3> {};
template <>
struct chevron::ElementTraits<__nv_fp8_e5m2>
    : chevron::detail::FloatAccumulator<__nv_fp8_e5m2, chevron::float8_e5m2,
                                        chevron::ElementKind::float8_e5m2> {};
#endif

#endif

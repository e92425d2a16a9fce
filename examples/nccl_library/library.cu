// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libchevron-nccl.so: NCCL's C interface on chevron, for programs that are not to be changed. Preload it, or let it be
// found as libnccl.so.2.
//
// What is compiled here is what runs on chevron; leave out what you do not need, and it compiles in less time.

#include <chevron/nccl/cuda_backend.cuh>
#include <chevron/nccl/exports.cuh>

#include <chevron/select/tables/hopper.hpp>
#include <chevron/select/tables/one_gpu.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#ifndef NCCL_LIBRARY_RANKS
#define NCCL_LIBRARY_RANKS 2, 4, 8
#endif

namespace {

using Ranks = chevron::RankCounts<NCCL_LIBRARY_RANKS>;

// Ranks on several devices, or on one alone, where a narrower scope is enough.
#if defined(NCCL_LIBRARY_ONE_DEVICE)
using Table = chevron::tables::OneGpu;
constexpr auto scope = cuda::thread_scope_device;
#else
using Table = chevron::tables::Hopper;
constexpr auto scope = cuda::thread_scope_system;
#endif

using Usual = chevron::Selector<Table, Ranks, chevron::Elements<chevron::half, chevron::bfloat16, float>>;
#if defined(NCCL_LIBRARY_USUAL_ONLY)
using Library = chevron::nccl::CudaBackend<Ranks, scope, Usual>;
#else
//! The usual calls have the tuned table; the many others one of three algorithms, which are half of the kernels.
struct FewAlgorithms {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    return std::array{
        chevron::Row{.bytes = {0, 64 * 1024}, .policy = {one_shot_push}},
        chevron::Row{.in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        chevron::Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};
using All = chevron::Selector<
    FewAlgorithms, Ranks,
    chevron::Elements<chevron::half, chevron::bfloat16, float, double, chevron::float8_e4m3, chevron::float8_e5m2,
                      std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>,
    chevron::Operations<chevron::Sum, chevron::Prod, chevron::Min, chevron::Max, chevron::Avg>>;
using Library = chevron::nccl::CudaBackend<Ranks, scope, Usual, All>;
#endif

}  // namespace

chevron::nccl::Backend& chevron::nccl::backend() {
  static Library library;
  return library;
}

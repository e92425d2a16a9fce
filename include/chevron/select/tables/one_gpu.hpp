// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLES_ONE_GPU_HPP
#define CHEVRON_SELECT_TABLES_ONE_GPU_HPP

//! @file
//! The table for ranks that share one GPU.

#include <chevron/select/table.hpp>

#include <array>

namespace chevron::tables {

//! @brief Packets while latency counts, each rank reading all inputs where there are too many ranks for packets, and the
//! callers' own buffers above. All of it stays in the second cache up to some MiB.
//!
//! Measured with bfloat16 sums on one NVIDIA H200 (CUDA 13.0), graphs of each rank released together, 2026-11-29; rank
//! counts that were not measured are taken with their neighbours.
struct OneGpu {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    constexpr char const* source =
        "NVIDIA H200, CUDA 13.0, 2026-11-29, docs/performance.md";
    constexpr auto on = [](AllReduceAlgorithm algorithm, int lanes, int threads) {
      return Policy{.algorithm = algorithm, .cuda = {.lanes = lanes, .threads = threads}};
    };
    constexpr std::size_t kib = 1024;
    constexpr std::size_t mib = 1024 * kib;
    return std::array{
        // 2 and 3 ranks
        Row{.ranks = {1, 3}, .bytes = {0, 2 * kib}, .policy = on(one_shot_push, 1, 128), .source = source},
        Row{.ranks = {1, 3},
            .bytes = {2 * kib, 8 * kib},
            .policy = on(one_shot_push, 2, 256),
            .source = source},
        Row{.ranks = {1, 3},
            .bytes = {8 * kib, 32 * kib},
            .policy = on(one_shot_push, 8, 256),
            .source = source},
        Row{.ranks = {1, 3},
            .bytes = {32 * kib, 128 * kib},
            .policy = on(one_shot_push, 16, 512),
            .source = source},
        Row{.ranks = {1, 3},
            .bytes = {128 * kib, 384 * kib},
            .policy = on(one_shot_push, 32, 512),
            .source = source},
        Row{.ranks = {1, 3},
            .bytes = {384 * kib, 8 * mib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 64, 256),
            .source = source},
        Row{.ranks = {1, 3},
            .bytes = {8 * mib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 64, 512),
            .source = source},
        Row{.ranks = {1, 3},
            .bytes = {384 * kib, 2 * mib},
            .policy = on(two_shot_push, 32, 512),
            .source = source},
        // 4 and 5 ranks
        Row{.ranks = {4, 5}, .bytes = {0, 2 * kib}, .policy = on(one_shot_push, 1, 128), .source = source},
        Row{.ranks = {4, 5},
            .bytes = {2 * kib, 8 * kib},
            .policy = on(one_shot_push, 1, 512),
            .source = source},
        Row{.ranks = {4, 5},
            .bytes = {8 * kib, 32 * kib},
            .policy = on(one_shot_push, 4, 512),
            .source = source},
        Row{.ranks = {4, 5},
            .bytes = {32 * kib, 192 * kib},
            .in_windows_only = true,
            .policy = on(one_shot_pull, 16, 256),
            .source = source},
        Row{.ranks = {4, 5},
            .bytes = {192 * kib, 512 * kib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 16, 256),
            .source = source},
        Row{.ranks = {4, 5},
            .bytes = {512 * kib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 32, 256),
            .source = source},
        Row{.ranks = {4, 5},
            .bytes = {32 * kib, 128 * kib},
            .policy = on(one_shot_push, 16, 512),
            .source = source},
        // 6 ranks and more
        Row{.ranks = {6, 32},
            .bytes = {0, 8 * kib},
            .in_windows_only = true,
            .policy = on(one_shot_pull, 1, 256),
            .source = source},
        Row{.ranks = {6, 32},
            .bytes = {8 * kib, 32 * kib},
            .in_windows_only = true,
            .policy = on(one_shot_pull, 4, 256),
            .source = source},
        Row{.ranks = {6, 32},
            .bytes = {32 * kib, 128 * kib},
            .in_windows_only = true,
            .policy = on(one_shot_pull, 8, 512),
            .source = source},
        Row{.ranks = {6, 32},
            .bytes = {128 * kib, 512 * kib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 8, 256),
            .source = source},
        Row{.ranks = {6, 32},
            .bytes = {512 * kib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 16, 256),
            .source = source},
        Row{.ranks = {6, 32}, .bytes = {0, 8 * kib}, .policy = on(one_shot_push, 2, 256), .source = source},
        Row{.ranks = {6, 32},
            .bytes = {8 * kib, 64 * kib},
            .policy = on(one_shot_push, 4, 512),
            .source = source},
        // What lies in no window
        Row{.policy = on(reduce_scatter_all_gather, 32, 512), .source = source},
    };
  }
};

}  // namespace chevron::tables

#endif

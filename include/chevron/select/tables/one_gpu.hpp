// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLES_ONE_GPU_HPP
#define CHEVRON_SELECT_TABLES_ONE_GPU_HPP

//! @file
//! The table for ranks that share one GPU. chevron-tune wrote it; what was changed since stands below.

#include <chevron/core/element.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace chevron::tables {

//! @brief Packets while latency counts, the callers' own buffers above.
//!
//! Measured on NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device, 2026-11-29, with `chevron-tune --transport
//! cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours ranks,elements
//! --budget 165s`.
//!
//! At most 1.033 times as long as the best single policy at any measured size (8 ranks, bfloat16, 2 KiB).
//!
//! Then a rank had room for more lanes than it is given now (see cuda_residency.cuh): where rows name more, calls have as many
//! as there are, and their times are not those of the rows. The rows for 2 ranks have four packs in flight throughout, which
//! spares a kernel.
struct OneGpu {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    [[maybe_unused]] constexpr std::size_t kib = 1024;
    [[maybe_unused]] constexpr std::size_t mib = 1048576;
    [[maybe_unused]] constexpr std::size_t gib = 1073741824;
    return std::array{
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {576 * kib, 1280 * kib},
            .in_windows_only = true,
            .policy =
                {.algorithm = reduce_scatter_all_gather_zero_copy,
                 .cuda = {.lanes = 64, .threads = 256, .packs = 4, .let_go = chevron::LetGo::when_sent}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.25 us at 640 KiB to 3.41 us at 1 MiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {1280 * kib, 4 * mib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 96, .threads = 256, .packs = 4, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.72 us at 1.5 MiB to 4.84 us at 3.5 MiB, at most 1.011 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {4 * mib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 64, .threads = 256, .packs = 4, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 5.02 us at 4 MiB to 268 us at 256 MiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {0, 3840},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 1, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.33 us at 1 KiB to 1.36 us at 3.5 KiB, at most 1.007 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {3840, 15 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 4, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.46 us at 4 KiB to 1.55 us at 14 KiB, at most 1.001 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {15 * kib, 120 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 32, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.6 us at 16 KiB to 1.63 us at 112 KiB, at most 1.016 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {120 * kib, 576 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 64, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.69 us at 128 KiB to 3.03 us at 512 KiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {60 * kib, 208 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 8, .threads = 256, .packs = 2, .let_go = chevron::LetGo::when_sent}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 2.97 us at 64 KiB to 3.22 us at 192 KiB, at most 1.003 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {208 * kib, 384 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = one_shot_pull,
                       .cuda = {.lanes = 64, .threads = 256, .packs = 1, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.27 us at 224 KiB to 3.28 us at 256 KiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {384 * kib, 20 * mib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 64, .threads = 256, .packs = 2, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.73 us at 512 KiB to 30 us at 16 MiB, at most 1.029 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {20 * mib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 96, .threads = 128, .packs = 2, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 56.1 us at 32 MiB to 432 us at 256 MiB, at most 1.001 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {0, 3840},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 1, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.52 us at 1 KiB to 1.64 us at 3.5 KiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {3840, 6 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 2, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.67 us at 4 KiB, at most 1.000 times the best policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {6 * kib, 9 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 8, .threads = 128}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.76 us at 6 KiB to 1.74 us at 8 KiB, at most 1.016 times the "
                "best"
                " policy"},
        chevron::Row{
            .ranks = {3, 3},
            .bytes = {9 * kib, 60 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 8, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.82 us at 16 KiB to 2.76 us at 56 KiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {60 * kib, 160 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 8, .threads = 128, .let_go = chevron::LetGo::when_sent}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.14 us at 64 KiB to 3.21 us at 128 KiB, at most 1.010 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {160 * kib, 640 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 32, .threads = 128, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.45 us at 192 KiB to 3.91 us at 512 KiB, at most 1.018 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {640 * kib, 1536 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 48, .threads = 128, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 4.1 us at 768 KiB to 4.47 us at 1 MiB, at most 1.026 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {1536 * kib, 12 * mib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 64, .threads = 256, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 5.49 us at 2 MiB to 19.9 us at 8 MiB, at most 1.030 times the "
                "best"
                " policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {12 * mib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 64, .threads = 128, .packs = 2, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 37.8 us at 16 MiB to 535 us at 256 MiB, at most 1.001 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {0, 3840},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 1, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.68 us at 1 KiB to 1.83 us at 3.5 KiB, at most 1.000 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {3840, 13 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 8, .threads = 128}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 1.88 us at 4 KiB to 1.93 us at 12 KiB, at most 1.006 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {4, 7},
            .bytes = {13 * kib, 60 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 8, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 2.03 us at 14 KiB to 3.03 us at 56 KiB, at most 1.002 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {8, 32},
            .bytes = {26 * kib, 144 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 8, .threads = 128, .let_go = chevron::LetGo::when_sent}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 3.41 us at 28 KiB to 3.88 us at 128 KiB, at most 1.007 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {8, 32},
            .bytes = {144 * kib, 512 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 16, .threads = 128, .packs = 2, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 4.22 us at 160 KiB to 4.72 us at 448 KiB, at most 1.016 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {8, 32},
            .bytes = {512 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy,
                       .cuda = {.lanes = 16, .threads = 256, .packs = 1, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 4.71 us at 512 KiB to 1.08 ms at 256 MiB, at most 1.005 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {8, 32},
            .bytes = {0, 2176},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 1, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 2.38 us at 1 KiB to 2.6 us at 2 KiB, at most 1.033 times the "
                "best "
                "policy"},
        chevron::Row{
            .ranks = {8, 32},
            .bytes = {2176, 26 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 8, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; 2.62 us at 2.5 KiB to 3.36 us at 24 KiB, at most 1.025 times "
                "the "
                "best policy"},
        chevron::Row{
            .policy = {.algorithm = reduce_scatter_all_gather,
                       .cuda = {.lanes = 96, .threads = 256, .let_go = chevron::LetGo::when_met}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 1 device; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0 --ranks 2,3,4,8 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 165s; what no row above is for, not measured"},
    };
  }
};

//! Every size of what was measured reaches a row, or this does not compile.
static_assert(
    chevron::Selector<OneGpu, chevron::RankCounts<2, 3, 4, 8>, chevron::Elements<chevron::bfloat16>>::total);

}  // namespace chevron::tables

#endif

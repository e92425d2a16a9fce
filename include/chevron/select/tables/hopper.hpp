// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLES_HOPPER_HPP
#define CHEVRON_SELECT_TABLES_HOPPER_HPP

//! @file
//! The table for GPUs of the Hopper generation that NVLink connects, one rank each.

#include <chevron/core/element.hpp>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace chevron::tables {

//! @brief Packets up to some MiB, stores alone above: inputs through mailboxes, results straight into the callers' outputs.
//!
//! The rows for 2 ranks were written by chevron-tune. Those for more are derived, not measured, as each says.
//!
//! Measured on NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices, 2026-11-29, with `chevron-tune --transport
//! cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours ranks,elements --budget
//! 85s`.
//!
//! Buffers in windows: at most 1.033 times as long as the best single policy at any measured size (2 ranks,
//! bfloat16, 128 KiB).
//!
//! Other buffers, launched by rows of their own: at most 1.033 times as long as the best single policy at any
//! measured size (2 ranks, bfloat16, 128 KiB).
struct Hopper {
  static constexpr auto rows() {
    using enum chevron::AllReduceAlgorithm;
    [[maybe_unused]] constexpr std::size_t kib = 1024;
    [[maybe_unused]] constexpr std::size_t mib = 1048576;
    [[maybe_unused]] constexpr std::size_t gib = 1073741824;
    [[maybe_unused]] constexpr char const* derived =
        "derived from the rows for 2 ranks and from published figures of other libraries";
    return std::array{
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {4352 * kib},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_push,
                       .cuda = {.lanes = 132, .threads = 512, .packs = 2}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 85s; 20.9 us at 5 MiB to 760 us at 256 MiB, at most 1.008 times the "
                "best"
                " policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {0, 14 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 12, .threads = 128}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 85s; 1.72 us at 1 KiB to 1.83 us at 12 KiB, at most 1.020 times the "
                "best"
                " policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {14 * kib, 96 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 64, .threads = 128}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 85s; 1.86 us at 16 KiB to 2.04 us at 64 KiB, at most 1.028 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {96 * kib, 576 * kib},
            .policy = {.algorithm = one_shot_push,
                       .cuda = {.lanes = 64, .threads = 512, .let_go = chevron::LetGo::when_sent}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 85s; 2.31 us at 128 KiB to 3.66 us at 512 KiB, at most 1.033 times "
                "the "
                "best policy"},
        chevron::Row{
            .ranks = {1, 2},
            .bytes = {576 * kib, 4352 * kib},
            .policy = {.algorithm = one_shot_push, .cuda = {.lanes = 132, .threads = 512}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 85s; 5.17 us at 1 MiB to 14.9 us at 4 MiB, at most 1.000 times the "
                "best "
                "policy"},
        chevron::Row{
            .ranks = {1, 2},
            .policy = {.algorithm = reduce_scatter_all_gather, .cuda = {.lanes = 132, .threads = 256}},
            .source =
                "NVIDIA H200, CUDA 13.0, driver for CUDA 13.0, 2 devices; 2026-11-29; chevron-tune "
                "--transport "
                "cuda_peer --devices 0,1 --ranks 2 --elements bfloat16 --from 1K --to 256M --neighbours "
                "ranks,elements --budget 85s; 23.1 us at 5 MiB to 926 us at 256 MiB, at most 1.000 times the "
                "best"
                " policy"},
        // More than 2 ranks: packets as long as the link carries them faster than a barrier takes.
        chevron::Row{.ranks = {3, 4}, .bytes = {0, 128 * kib}, .policy = {one_shot_push}, .source = derived},
        chevron::Row{.ranks = {5, 32}, .bytes = {0, 64 * kib}, .policy = {one_shot_push}, .source = derived},
        chevron::Row{
            .ranks = {3, 32},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_push, .cuda = {.lanes = 132, .threads = 512}},
            .source = derived},
        chevron::Row{.ranks = {3, 32},
                     .bytes = {0, 1 * mib},
                     .policy = {.algorithm = two_shot_push, .cuda = {.lanes = 32}},
                     .source = derived},
        chevron::Row{
            .ranks = {3, 32},
            .policy = {.algorithm = reduce_scatter_all_gather, .cuda = {.lanes = 132, .threads = 256}},
            .source = derived},
    };
  }
};

//! Every size of what was measured reaches a row, or this does not compile.
static_assert(chevron::Selector<Hopper, chevron::RankCounts<2, 3, 4, 8, 16>,
                                chevron::Elements<chevron::bfloat16>>::total);

}  // namespace chevron::tables

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLES_HOPPER_HPP
#define CHEVRON_SELECT_TABLES_HOPPER_HPP

//! @file
//! The table for GPUs of the Hopper generation that NVLink connects.

#include <chevron/select/table.hpp>

#include <array>

namespace chevron::tables {

//! @brief Packets as long as the link carries them faster than a barrier takes, the callers' own buffers above.
//!
//! Derived, not measured: from the published figures of SGLang's, FlashInfer's and MSCCL++'s all-reduces on two H200.
struct Hopper {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    constexpr char const* source = "derived from published figures of other libraries";
    constexpr auto on = [](AllReduceAlgorithm algorithm, int lanes) {
      return Policy{.algorithm = algorithm, .cuda = {.lanes = lanes}};
    };
    constexpr std::size_t kib = 1024;
    constexpr std::size_t mib = 1024 * kib;
    return std::array{
        Row{.ranks = {1, 2}, .bytes = {0, 64 * kib}, .policy = on(one_shot_push, 0), .source = source},
        Row{.ranks = {1, 2}, .bytes = {64 * kib, 1 * mib}, .policy = on(one_shot_push, 32), .source = source},
        Row{.ranks = {3, 4}, .bytes = {0, 128 * kib}, .policy = on(one_shot_push, 0), .source = source},
        Row{.ranks = {5, 32}, .bytes = {0, 64 * kib}, .policy = on(one_shot_push, 0), .source = source},
        Row{.bytes = {64 * kib},
            .in_windows_only = true,
            .policy = on(reduce_scatter_all_gather_zero_copy, 32),
            .source = source},
        Row{.bytes = {64 * kib, 1 * mib}, .policy = on(two_shot_push, 32), .source = source},
        Row{.policy = on(reduce_scatter_all_gather, 32), .source = source},
    };
  }
};

}  // namespace chevron::tables

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_SELECT_TABLES_HOST_HPP
#define CHEVRON_SELECT_TABLES_HOST_HPP

//! @file
//! The table for ranks that are threads or processes of one host.

#include <chevron/select/table.hpp>

#include <array>

namespace chevron::tables {

//! @brief Packets while latency counts, the callers' own buffers above, mailboxes for buffers that lie in no window.
//!
//! Where converting elements costs more than fetching them, they are reduced once for all ranks as early as can be.
//!
//! Measured with chevron-perf on two cores of an AMD EPYC; the size from which stores go past the caches, on a Xeon. They
//! do so only where it pays (non_temporal_stores_pay).
struct Host {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    using enum ElementKind;
    constexpr auto wide = ElementSet::of(float32, float64, int32, uint32, int64, uint64);
    return std::array{
        Row{.bytes = {64, 512},
            .elements = ElementSet::of(float16, float8_e4m3, float8_e5m2),
            .in_windows_only = true,
            .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {0, 512}, .policy = {one_shot_push}},
        Row{.ranks = {3, max_ranks}, .bytes = {512, 3072}, .elements = wide, .policy = {one_shot_push}},
        Row{.bytes = {512, 768}, .elements = wide, .policy = {one_shot_push}},
        Row{.bytes = {512, 4 << 20},
            .in_windows_only = true,
            .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {4 << 20},
            .in_windows_only = true,
            .policy = {reduce_scatter_all_gather_zero_copy, Stores::non_temporal}},
        Row{.bytes = {512, 4096}, .policy = {one_shot_push}},
        Row{.bytes = {4096}, .policy = {reduce_scatter_all_gather}},
    };
  }
};

}  // namespace chevron::tables

#endif

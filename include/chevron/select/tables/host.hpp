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
//! Measured with chevron-perf on two cores of an AMD EPYC; the size from which stores go past the caches, on a Xeon. They
//! do so only where it pays (non_temporal_stores_pay).
struct Host {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{
        Row{.bytes = {0, 512}, .policy = {one_shot_push}},
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

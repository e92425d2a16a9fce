// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_NAMES_HPP
#define CHEVRON_PERF_NAMES_HPP

#include <cstddef>
#include <string_view>

//! @file
//! The names that the command line knows.

namespace perf {

struct ElementName {
  std::string_view name;
  std::size_t bytes;
};

inline constexpr ElementName element_names[] = {
    {"float", 4}, {"double", 8}, {"half", 2},  {"bfloat16", 2}, {"float8_e4m3", 1}, {"float8_e5m2", 1},
    {"int8", 1},  {"uint8", 1},  {"int32", 4}, {"uint32", 4},   {"int64", 8},       {"uint64", 8},
};
inline constexpr std::string_view op_names[] = {"sum", "prod", "min", "max", "avg"};
inline constexpr std::string_view algorithm_names[] = {
    "auto",          "one_shot_push", "reduce_scatter_all_gather",     "reduce_scatter_all_gather_zero_copy",
    "one_shot_pull", "two_shot_push", "reduce_scatter_all_gather_push"};
inline constexpr std::string_view algorithms_on_windows[] = {
    "reduce_scatter_all_gather_zero_copy", "reduce_scatter_all_gather_push", "one_shot_pull"};
inline constexpr std::string_view transport_names[] = {"host_threads", "host_shared_memory"};
inline constexpr std::string_view collective_names[] = {"all_reduce"};

//! @brief The bytes of an element; 0 for an unknown name.
constexpr std::size_t element_bytes(std::string_view element) {
  for (auto const& known : element_names)
    if (known.name == element) return known.bytes;
  return 0;
}

//! @brief Whether an algorithm can only run on buffers that lie in windows.
constexpr bool needs_windows(std::string_view algorithm) {
  for (auto const& known : algorithms_on_windows)
    if (known == algorithm) return true;
  return false;
}

}  // namespace perf

#endif

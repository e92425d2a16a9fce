// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_SHARD_HPP
#define CHEVRON_CORE_SHARD_HPP

//! @file
//! Who owns which elements: the one partition of the library. Ranks share a buffer out into shards,
//! lanes share a shard out once more by the same rule.

#include <chevron/core/config.hpp>

#include <cstddef>

namespace chevron {

//! @brief A half-open range of elements [begin, end).
struct Shard {
  std::size_t begin = 0;
  std::size_t end = 0;

  CHEVRON_HD constexpr std::size_t size() const { return end - begin; }
  CHEVRON_HD constexpr bool empty() const { return begin == end; }
  friend CHEVRON_HD constexpr bool operator==(Shard a, Shard b) {
    return a.begin == b.begin && a.end == b.end;
  }
};

//! @brief Part `index` of `whole`, cut into `parts` parts at multiples of `granule` elements.
//!
//! The parts are disjoint, in order, and cover `whole`; every part but the last non-empty one is a multiple
//! of `granule` long and two parts differ by at most one granule. Parts may be empty. Exact for every size:
//! no intermediate value exceeds `whole.size() + granule`.
//! @param parts    1 or more
//! @param index    0 to parts - 1
//! @param granule  elements, 1 or more
CHEVRON_HD constexpr Shard part_of(Shard whole, int parts, int index, std::size_t granule) {
  if (parts == 1) return whole;
  auto const n = static_cast<std::size_t>(parts);
  auto const i = static_cast<std::size_t>(index);
  std::size_t const size = whole.size();
  std::size_t const granules = size / granule + (size % granule != 0 ? 1 : 0);
  // A device divides 32 bits several times as fast as 64.
  bool const is_narrow = granules <= 0xffffffff;
  std::size_t const each =
      is_narrow ? static_cast<unsigned>(granules) / static_cast<unsigned>(parts) : granules / n;
  std::size_t const more = granules - each * n;  // the first `more` parts hold one granule more
  auto const bound = [&](std::size_t k) {
    std::size_t const before = each * k + (k < more ? k : more);
    return before >= granules ? whole.end : whole.begin + before * granule;
  };
  return {bound(i), bound(i + 1)};
}

//! @brief The elements of a buffer of `count` that `rank` owns when `NRanks` ranks share it out.
//!
//! Shards begin at multiples of a granule (a cache line on a CPU, a pack on a GPU), so that no two ranks
//! write the same line of an aligned buffer.
template <int NRanks>
CHEVRON_HD constexpr Shard shard_of(std::size_t count, int rank, std::size_t granule) {
  return part_of({0, count}, NRanks, rank, granule);
}

//! @brief The longest shard of `count` elements: what every rank uses to agree on a number of steps.
template <int NRanks>
CHEVRON_HD constexpr std::size_t longest_shard(std::size_t count, std::size_t granule) {
  return shard_of<NRanks>(count, 0, granule).size();
}

//! @brief Steps that it takes to work through `size` elements; at least one, so that ranks with no data meet.
CHEVRON_HD constexpr std::size_t steps_for(std::size_t size, std::size_t step_size) {
  if (size <= step_size) return 1;
  return size / step_size + (size % step_size != 0 ? 1 : 0);
}

//! @brief Step `step` of `part` when it is worked through `step_size` elements at a time; empty past the end.
CHEVRON_HD constexpr Shard step_of(Shard part, std::size_t step, std::size_t step_size) {
  std::size_t const before = step * step_size;
  if (before >= part.size()) return {part.end, part.end};
  std::size_t const left = part.size() - before;
  return {part.begin + before, part.begin + before + (left < step_size ? left : step_size)};
}

}  // namespace chevron

#endif

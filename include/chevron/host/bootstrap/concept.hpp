// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_BOOTSTRAP_CONCEPT_HPP
#define CHEVRON_HOST_BOOTSTRAP_CONCEPT_HPP

//! @file
//! How processes that already know each other, by whatever launched them, become a group: one exchange tells all of them
//! the key, and by the key they meet.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/bootstrap/key.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chevron {

//! @brief Ranks 0 to size() - 1 that can tell each other bytes.
//!
//! `all_gather(mine, all, size_bytes)` puts rank r's `size_bytes` bytes to `all + r * size_bytes` on every rank; how long it
//! may take is the bootstrap's own matter.
template <class T>
concept Bootstrap = requires(T& ranks, std::byte const* mine, std::byte* all, std::size_t size_bytes) {
  { ranks.rank() } -> std::convertible_to<int>;
  { ranks.size() } -> std::convertible_to<int>;
  { ranks.all_gather(mine, all, size_bytes) } -> std::same_as<Result<void>>;
};

//! @brief A key that rank 0 draws and all ranks get.
//! Sync:   collective
//! Errors: those of the bootstrap
template <Bootstrap Ranks>
[[nodiscard]] Result<SharedMemoryKey> share_key(Ranks& ranks) {
  auto const mine = SharedMemoryKey::random().bytes();
  std::vector<SharedMemoryKey::Bytes> all(static_cast<std::size_t>(ranks.size()));
  auto const gathered = ranks.all_gather(reinterpret_cast<std::byte const*>(mine.data()),
                                         reinterpret_cast<std::byte*>(all.data()), mine.size());
  if (!gathered) return gathered.error();
  return SharedMemoryKey::of(all[0]);
}

}  // namespace chevron

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_HASH_HPP
#define CHEVRON_CORE_HASH_HPP

//! @file
//! Hashes that stand for names and numbers where ranks compare what they were built with.

#include <chevron/core/config.hpp>

#include <cstdint>
#include <string_view>

namespace chevron {

//! @brief 64 bits that stand for a text: FNV-1a.
constexpr std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

//! @brief Mixes a number into a hash, so that every bit of it matters.
constexpr std::uint32_t mix(std::uint32_t hash, std::uint64_t value) {
  std::uint64_t x = (value ^ hash) * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return static_cast<std::uint32_t>(x ^ x >> 32);
}

//! @brief 32 bits that stand for a text.
constexpr std::uint32_t hash32(std::string_view text) { return mix(0, hash_of(text)); }

}  // namespace chevron

#endif

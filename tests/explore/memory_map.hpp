// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_MEMORY_MAP_HPP
#define CHEVRON_TESTS_EXPLORE_MEMORY_MAP_HPP

//! @file
//! The memory of a program under exploration, and what each part of it is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

//! @brief What a part of memory is for: where a mutation strikes, and what may be done there.
enum class Role : unsigned char {
  arrival,
  packet,
  departure,
  contribution,
  result,
  first_renewal,
  second_renewal,
  other_word,
  data,
  buffer
};

//! @brief A part of the memory that one access must not exceed.
struct Region {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  Role role = Role::data;
  int rank = -1;  //!< of a buffer: whose
  std::string name{};

  [[nodiscard]] bool holds_words() const { return role < Role::data; }
};

//! @brief One block of memory, and the regions in it. What no region covers must never be touched.
class MemoryMap {
 public:
  static constexpr std::size_t line = 64;
  static constexpr std::byte fence{0xa5};

  explicit MemoryMap(std::size_t size_bytes) : size_bytes_(size_bytes) {
    base_ = static_cast<std::byte*>(::operator new (size_bytes, std::align_val_t{2 * line}));
    std::memset(base_, static_cast<int>(fence), size_bytes);
  }
  MemoryMap(MemoryMap const&) = delete;
  MemoryMap& operator=(MemoryMap const&) = delete;
  ~MemoryMap() { ::operator delete (base_, std::align_val_t{2 * line}); }

  [[nodiscard]] std::byte* base() const { return base_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

  void add(void const* begin, std::size_t size, Role role, std::string name, int rank = -1) {
    auto const from = reinterpret_cast<std::uintptr_t>(begin);
    Region region{from, from + size, role, rank, std::move(name)};
    auto const after = [](Region const& a, Region const& b) { return a.begin < b.begin; };
    regions_.insert(std::upper_bound(regions_.begin(), regions_.end(), region, after), std::move(region));
  }

  //! The region that `address` lies in; null where there is none.
  [[nodiscard]] Region const* at(std::uintptr_t address) const {
    auto const beyond = [](std::uintptr_t a, Region const& region) { return a < region.begin; };
    auto const next = std::upper_bound(regions_.begin(), regions_.end(), address, beyond);
    if (next == regions_.begin() || address >= std::prev(next)->end) return nullptr;
    return &*std::prev(next);
  }

  //! A name for people.
  [[nodiscard]] std::string describe(std::uintptr_t address) const {
    Region const* const region = at(address);
    if (region == nullptr) return "memory that belongs to nothing";
    return region->name + "+" + std::to_string(address - region->begin);
  }

  //! Whether all that no region covers is as it was in the beginning.
  [[nodiscard]] bool fences_hold() const {
    std::byte const* from = base_;
    auto const intact = [](std::byte const* begin, std::byte const* end) {
      return std::all_of(begin, end, [](std::byte b) { return b == fence; });
    };
    for (Region const& region : regions_) {
      if (!intact(from, reinterpret_cast<std::byte const*>(region.begin))) return false;
      from = reinterpret_cast<std::byte const*>(region.end);
    }
    return intact(from, base_ + size_bytes_);
  }

  //! Fills the words and mailboxes with zeros, as new segments are, and leaves the buffers alone.
  void clear() {
    for (Region const& region : regions_) {
      if (region.role != Role::buffer)
        std::memset(reinterpret_cast<void*>(region.begin), 0, region.end - region.begin);
    }
  }

 private:
  std::byte* base_;
  std::size_t size_bytes_;
  std::vector<Region> regions_{};
};

}  // namespace chevron::test

#endif

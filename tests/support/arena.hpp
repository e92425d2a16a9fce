// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_ARENA_HPP
#define CHEVRON_TESTS_SUPPORT_ARENA_HPP

//! @file
//! Memory in which buffers lie between canaries.

#include <support/noise.hpp>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHEVRON_TEST_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CHEVRON_TEST_ADDRESS_SANITIZER
#endif
#if defined(CHEVRON_TEST_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace chevron::test {

//! Painted memory: every byte that nobody may touch has a value that follows from its place. Outputs are
//! poisoned by it as well, and a buffer that is painted again after a call shows whoever writes to it late.
class Canvas {
 public:
  Canvas() = default;
  Canvas(std::byte* base, std::size_t size_bytes, std::uint64_t seed)
      : base_(base), size_bytes_(size_bytes), seed_(seed) {}

  [[nodiscard]] std::byte* at(std::size_t offset) const { return base_ + offset; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }

  void paint(std::size_t from, std::size_t size_bytes) const {
    for (std::size_t i = from; i < from + size_bytes; ++i) base_[i] = paint_of(i);
  }
  void paint() const { paint(0, size_bytes_); }

  //! The first offset that has lost its paint; size_bytes() where none has.
  [[nodiscard]] std::size_t first_stain() const {
    std::size_t i = 0;
    while (i < size_bytes_ && base_[i] == paint_of(i)) ++i;
    return i;
  }

  //! Between the two, the address sanitizer (where there is one) reports any access outside what was opened.
  void fence() const {
#if defined(CHEVRON_TEST_ADDRESS_SANITIZER)
    ASAN_POISON_MEMORY_REGION(base_, size_bytes_);
#endif
  }
  void open([[maybe_unused]] std::size_t from, [[maybe_unused]] std::size_t size_bytes) const {
#if defined(CHEVRON_TEST_ADDRESS_SANITIZER)
    ASAN_UNPOISON_MEMORY_REGION(base_ + from, size_bytes);
#endif
  }
  void open() const { open(0, size_bytes_); }

 private:
  [[nodiscard]] std::byte paint_of(std::size_t offset) const {
    return static_cast<std::byte>((offset + seed_) * 0x9e3779b97f4a7c15u >> 56);
  }

  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::uint64_t seed_ = 0;
};

//! Memory that ends, and begins, where a page begins that can't be touched at all: an access one byte past
//! the end (or, with a whole number of pages, one before the beginning) is a crash.
class GuardedMemory {
 public:
  GuardedMemory() = default;
  explicit GuardedMemory(std::size_t size_bytes) {
    std::size_t const inner = (size_bytes + page - 1) / page * page;
    mapped_ = inner + 2 * page;
    void* const base =
        ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(base);
    if (inner != 0 && ::mprotect(base_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = base_ + page + (inner - size_bytes);
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), data_(other.data_), mapped_(other.mapped_) {}
  GuardedMemory& operator=(GuardedMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(data_, other.data_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  ~GuardedMemory() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
  }

  //! Where the memory begins.
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  static constexpr std::size_t page = 4096;
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t mapped_ = 0;
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_RANK_BUFFER_HPP
#define CHEVRON_PERF_RANK_BUFFER_HPP

#include <cstddef>
#include <memory>
#include <new>

namespace perf {

//! @brief Ordinary memory that begins on a page, as chevron's windows do, and grows when asked for more.
class Buffer {
 public:
  template <class T>
  T* elements(std::size_t count) {
    if (count * sizeof(T) > size_) {
      memory_.reset();
      memory_.reset(static_cast<std::byte*>(::operator new(count * sizeof(T), page)));
      size_ = count * sizeof(T);
    }
    return new (memory_.get()) T[count];
  }

 private:
  static constexpr std::align_val_t page{4096};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, page); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace perf

#endif

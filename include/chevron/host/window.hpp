// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_WINDOW_HPP
#define CHEVRON_HOST_WINDOW_HPP

//! @file
//! Windows: memory of one rank that all ranks of its group can load from and store to.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace chevron {

//! @brief This rank's part of a window of `T`, freed when it is destroyed. It may outlive its communicator.
//! @tparam Endpoint  the transport's, see Communicator
template <class T, class Endpoint>
class BasicWindow {
 public:
  BasicWindow() = default;
  BasicWindow(std::shared_ptr<Endpoint> endpoint, std::uint32_t number, T* data, std::size_t count)
      : endpoint_(std::move(endpoint)), number_(number), data_(data), count_(count) {}
  BasicWindow(BasicWindow&& other) noexcept
      : endpoint_(std::move(other.endpoint_)),
        number_(other.number_),
        data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  BasicWindow& operator=(BasicWindow&& other) noexcept {
    std::swap(endpoint_, other.endpoint_);
    std::swap(number_, other.number_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~BasicWindow() {
    if (endpoint_) endpoint_->release(number_);
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] std::span<T> span() const { return {data_, count_}; }
  [[nodiscard]] T& operator[](std::size_t index) const { return data_[index]; }
  [[nodiscard]] T* begin() const { return data_; }
  [[nodiscard]] T* end() const { return data_ + count_; }

 private:
  std::shared_ptr<Endpoint> endpoint_;
  std::uint32_t number_ = 0;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace chevron

#endif

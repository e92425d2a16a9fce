// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_RESULT_HPP
#define CHEVRON_CORE_RESULT_HPP

//! @file
//! A value or an error: what every call that can fail returns.

#include <chevron/core/config.hpp>
#include <chevron/core/error.hpp>

#include <concepts>
#include <memory>
#include <optional>
#include <utility>

namespace chevron {

//! @brief A value, or the error that there is instead of it. Look before you use it: reading the wrong one is
//! a precondition violation, as with std::expected.
template <class Value>
class CHEVRON_NODISCARD Result {
 public:
  using value_type = Value;

  // By reference, not by value: nvcc moves a returned local only into a constructor that takes it so.
  Result(Value&& value) : value_(std::move(value)) {}
  Result(Value const& value) requires std::copy_constructible<Value> : value_(value) {}
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] Value& value() & { return *value_; }
  [[nodiscard]] Value const& value() const& { return *value_; }
  [[nodiscard]] Value&& value() && { return std::move(*value_); }
  [[nodiscard]] Value& operator*() & { return value(); }
  [[nodiscard]] Value const& operator*() const& { return value(); }
  [[nodiscard]] Value&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] Value* operator->() { return &value(); }
  [[nodiscard]] Value const* operator->() const { return &value(); }

  [[nodiscard]] Error const& error() const { return *error_; }

 private:
  // One of them is there. A std::variant of each Value took nvcc a fifth of the time that it takes for all headers.
  std::optional<Value> value_;
  std::optional<Error> error_;
};

//! @brief Success, or an error. As small as a pointer, so that success costs nothing to return.
template <>
class CHEVRON_NODISCARD Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::make_unique<Error>(std::move(error))) {}

  [[nodiscard]] bool has_value() const noexcept { return error_ == nullptr; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }
  [[nodiscard]] Error const& error() const { return *error_; }

 private:
  std::unique_ptr<Error> error_;
};

}  // namespace chevron

#endif

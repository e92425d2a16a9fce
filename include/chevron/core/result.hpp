// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_CORE_RESULT_HPP
#define CHEVRON_CORE_RESULT_HPP

//! @file
//! A value or an error: what every call that can fail returns.

#include <chevron/core/config.hpp>
#include <chevron/core/error.hpp>

#include <concepts>
#include <memory>
#include <utility>
#include <variant>

namespace chevron {

//! @brief A value, or the error that there is instead of it. Look before you use it: reading the wrong one is
//! a precondition violation, as with std::expected.
template <class Value>
class CHEVRON_NODISCARD Result {
 public:
  using value_type = Value;

  // By reference, not by value: nvcc moves a returned local only into a constructor that takes it so.
  Result(Value&& value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Value const& value) requires std::copy_constructible<Value> : state_(std::in_place_index<0>, value) {
  }
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] Value& value() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] Value const& value() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] Value&& value() && { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] Value& operator*() & { return value(); }
  [[nodiscard]] Value const& operator*() const& { return value(); }
  [[nodiscard]] Value&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] Value* operator->() { return &value(); }
  [[nodiscard]] Value const* operator->() const { return &value(); }

  [[nodiscard]] Error const& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<Value, Error> state_;
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_HOST_BOOTSTRAP_KEY_HPP
#define CHEVRON_HOST_BOOTSTRAP_KEY_HPP

//! @file
//! The secret by which the processes of a group find each other.

#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace chevron {

//! @brief 128 random bits. One process draws them and hands them to the others as text: before a fork, as an
//! argument, in the environment.
class SharedMemoryKey {
 public:
  using Bytes = std::array<std::uint8_t, 16>;

  //! Draws a key from the system's random numbers.
  [[nodiscard]] static SharedMemoryKey random() {
    SharedMemoryKey key;
    std::size_t filled = 0;
    while (filled < key.bytes_.size()) {
      ssize_t const got = ::getrandom(key.bytes_.data() + filled, key.bytes_.size() - filled, 0);
      if (got > 0) filled += static_cast<std::size_t>(got);
    }
    return key;
  }

  //! The key as bytes, and back.
  [[nodiscard]] Bytes const& bytes() const { return bytes_; }
  [[nodiscard]] static SharedMemoryKey of(Bytes const& bytes) {
    SharedMemoryKey key;
    key.bytes_ = bytes;
    return key;
  }

  //! The key as 32 hexadecimal digits.
  [[nodiscard]] std::string text() const {
    constexpr char const* digits = "0123456789abcdef";
    std::string text;
    for (std::uint8_t const byte : bytes_) {
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
    return text;
  }

  //! The key that a text stands for.
  //! Errors: bad_argument unless the text is 32 hexadecimal digits
  [[nodiscard]] static Result<SharedMemoryKey> parse(std::string_view text) {
    SharedMemoryKey key;
    bool good = text.size() == 2 * key.bytes_.size();
    for (std::size_t i = 0; good && i < text.size(); ++i) {
      int const digit = value_of(text[i]);
      good = digit >= 0;
      if (good) key.bytes_[i / 2] = static_cast<std::uint8_t>(key.bytes_[i / 2] << 4 | digit);
    }
    if (!good) {
      return Error{
          .code = Errc::bad_argument, .during = "reading a key", .detail = "a key is 32 hexadecimal digits"};
    }
    return key;
  }

  friend bool operator==(SharedMemoryKey const&, SharedMemoryKey const&) = default;

 private:
  [[nodiscard]] static constexpr int value_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  }

  Bytes bytes_{};
};

}  // namespace chevron

#endif

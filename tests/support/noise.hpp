// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_NOISE_HPP
#define CHEVRON_TESTS_SUPPORT_NOISE_HPP

//! @file
//! Random numbers that are the same on every rank, compiler and standard library for the same seed.

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace chevron::test {

//! 64 well-mixed bits that follow from up to three numbers (the finalizer of SplitMix64, once for each).
constexpr std::uint64_t noise(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  auto const mixed = [](std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  };
  return mixed(mixed(mixed(a) ^ b) ^ c);
}

//! A sequence of random numbers.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : seed_(seed) {}

  constexpr std::uint64_t operator()() { return noise(seed_, ++drawn_); }
  //! 0 to bound - 1; the bias of the remainder does not matter for tests.
  constexpr std::size_t below(std::size_t bound) { return static_cast<std::size_t>((*this)() % bound); }
  constexpr std::size_t between(std::size_t first, std::size_t last) {
    return first + below(last - first + 1);
  }
  constexpr bool chance(std::size_t of, std::size_t among) { return below(among) < of; }
  //! 1 to `most`, every power of two as likely as the next.
  constexpr std::size_t spread(std::size_t most) {
    std::size_t bits = 0;
    while (most >> bits > 1) ++bits;
    std::size_t const low = std::size_t{1} << below(bits + 1);
    std::size_t const value = low + below(low);
    return value < most ? value : most;
  }
  template <class T>
  constexpr T one_of(std::initializer_list<T> list) {
    return list.begin()[below(list.size())];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace chevron::test

#endif

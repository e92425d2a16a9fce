// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_FLOAT_MODES_HPP
#define CHEVRON_TESTS_SUPPORT_FLOAT_MODES_HPP

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace chevron::test {

//! While it lives, this thread's CPU flushes subnormal results to zero and takes subnormal operands for zero,
//! as engines ask for to be fast. Where `works` is false it does nothing.
class SubnormalsFlushed {
 public:
#if defined(__SSE2__)
  static constexpr bool works = true;
  SubnormalsFlushed() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040u); }
  ~SubnormalsFlushed() { _mm_setcsr(before_); }
#else
  static constexpr bool works = false;
  SubnormalsFlushed() = default;
#endif
  SubnormalsFlushed(SubnormalsFlushed const&) = delete;
  SubnormalsFlushed& operator=(SubnormalsFlushed const&) = delete;

 private:
#if defined(__SSE2__)
  unsigned int before_;
#endif
};

}  // namespace chevron::test

#endif

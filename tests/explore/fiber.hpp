// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_FIBER_HPP
#define CHEVRON_TESTS_EXPLORE_FIBER_HPP

//! @file
//! Fibers: several stacks on one thread of the system, of which one runs until it hands over to another.

#include <csetjmp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <ucontext.h>

#if defined(__has_feature)
#define CHEVRON_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define CHEVRON_TEST_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CHEVRON_TEST_HAS_FEATURE(address_sanitizer)
#define CHEVRON_TEST_ADDRESS_SANITIZER 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || CHEVRON_TEST_HAS_FEATURE(thread_sanitizer)
#define CHEVRON_TEST_THREAD_SANITIZER 1
#include <sanitizer/tsan_interface.h>
#endif

namespace chevron::test {

#if defined(CHEVRON_TEST_ADDRESS_SANITIZER) || defined(CHEVRON_TEST_THREAD_SANITIZER)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

//! @brief A stack with a body that never returns: it hands over instead. Or the thread that was there before.
//!
//! A context of <ucontext.h> saves the signal mask, which is a system call for each switch. So only the first
//! entry uses it, later ones jump; but not where a sanitizer or the C library objects to jumps between
//! stacks.
class Fiber {
 public:
  //! Stands for the calling thread.
  Fiber() {
#if defined(CHEVRON_TEST_THREAD_SANITIZER)
    tsan_ = __tsan_get_current_fiber();
#endif
  }
  explicit Fiber(std::function<void()> body)
      : body_(std::move(body)), stack_(std::make_unique_for_overwrite<std::byte[]>(stack_bytes)) {
    ::getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    ::makecontext(&context_, &Fiber::enter, 0);
    bottom_ = stack_.get();
    size_ = stack_bytes;
#if defined(CHEVRON_TEST_THREAD_SANITIZER)
    tsan_ = __tsan_create_fiber(0);
#endif
  }
  Fiber(Fiber const&) = delete;
  Fiber& operator=(Fiber const&) = delete;
  ~Fiber() {
#if defined(CHEVRON_TEST_THREAD_SANITIZER)
    if (stack_) __tsan_destroy_fiber(tsan_);
#endif
  }

  //! Called by this fiber: runs another one. Returns when somebody hands over to this one again.
  void hand_over_to(Fiber& other) {
    previous_ = this;
    next_ = &other;
#if defined(CHEVRON_TEST_ADDRESS_SANITIZER)
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, other.bottom_, other.size_);
#endif
#if defined(CHEVRON_TEST_THREAD_SANITIZER)
    __tsan_switch_to_fiber(other.tsan_, 0);
#endif
    switch_to(other);
#if defined(CHEVRON_TEST_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(fake_stack, &previous_->bottom_, &previous_->size_);
#endif
  }

 private:
  static constexpr std::size_t stack_bytes = 256 * 1024;

#if defined(CHEVRON_TEST_ADDRESS_SANITIZER) || defined(CHEVRON_TEST_THREAD_SANITIZER) || \
    (defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE > 0)
  void switch_to(Fiber& other) { ::swapcontext(&context_, &other.context_); }
#else
  void switch_to(Fiber& other) {
    if (_setjmp(jump_) != 0) return;
    if (other.entered_ || !other.stack_) _longjmp(other.jump_, 1);
    other.entered_ = true;
    ::setcontext(&other.context_);
  }
#endif

  static void enter() {
    Fiber& self = *next_;
#if defined(CHEVRON_TEST_ADDRESS_SANITIZER)
    __sanitizer_finish_switch_fiber(nullptr, &previous_->bottom_, &previous_->size_);
#endif
    self.body_();
  }

  static inline thread_local Fiber* previous_ = nullptr;
  static inline thread_local Fiber* next_ = nullptr;

  std::function<void()> body_{};
  std::unique_ptr<std::byte[]> stack_{};
  ucontext_t context_{};
  std::jmp_buf jump_{};
  bool entered_ = false;
  void const* bottom_ = nullptr;
  std::size_t size_ = 0;
#if defined(CHEVRON_TEST_THREAD_SANITIZER)
  void* tsan_ = nullptr;
#endif
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_SHARED_HPP
#define CHEVRON_TESTS_SUPPORT_SHARED_HPP

//! @file
//! What a test's ranks share besides chevron: it works for threads and for processes that are forked later.

#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

namespace chevron::test {

inline void nap(std::chrono::microseconds length) {
  timespec const time{.tv_sec = static_cast<time_t>(length.count() / 1'000'000),
                      .tv_nsec = static_cast<long>(length.count() % 1'000'000 * 1000)};
  ::nanosleep(&time, nullptr);
}

//! An array of `T` in memory that stays shared across a fork.
template <class T>
class Shared {
 public:
  explicit Shared(std::size_t count = 1) : count_(count) {
    void* const base =
        ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(base);
    for (std::size_t i = 0; i < count; ++i) new (data_ + i) T();
  }
  Shared(Shared const&) = delete;
  Shared& operator=(Shared const&) = delete;
  ~Shared() {
    for (std::size_t i = 0; i < count_; ++i) data_[i].~T();
    ::munmap(data_, count_ * sizeof(T));
  }
  [[nodiscard]] T& operator[](int index) const { return data_[index]; }
  [[nodiscard]] T& operator*() const { return *data_; }
  [[nodiscard]] T* operator->() const { return data_; }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

//! Where ranks wait for each other, with a limit: a rank that failed never comes.
class Meeting {
 public:
  //! False when the others did not come in time.
  bool wait(int ranks, std::chrono::seconds limit = std::chrono::seconds(60)) {
    return wait(ranks, limit, [] { nap(std::chrono::microseconds(50)); });
  }
  //! The same, but all leave as closely together as they can.
  bool wait_closely(int ranks) {
    return wait(ranks, std::chrono::seconds(60), [] { ::sched_yield(); });
  }

 private:
  template <class Pause>
  bool wait(int ranks, std::chrono::seconds limit, Pause&& pause) {
    auto const deadline = std::chrono::steady_clock::now() + limit;
    int const ticket = came_.fetch_add(1);
    int const wanted = (ticket / ranks + 1) * ranks;
    while (came_.load() < wanted) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      pause();
    }
    return true;
  }

  std::atomic<int> came_{0};
};

//! What a rank has to say to whoever judges the test: the first thing that went wrong, or nothing.
class Verdict {
 public:
  [[nodiscard]] bool good() const { return !failed_.load(); }
  [[nodiscard]] std::string text() const { return good() ? std::string() : std::string(text_); }

  //! Keeps the first one.
  void fail(char const* format, ...) __attribute__((format(printf, 2, 3))) {
    if (failed_.exchange(true)) return;
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text_, sizeof(text_), format, arguments);
    va_end(arguments);
  }

 private:
  std::atomic<bool> failed_{false};
  char text_[2000] = {};
};

}  // namespace chevron::test

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_WATCHDOG_HPP
#define CHEVRON_TESTS_SUPPORT_WATCHDOG_HPP

//! @file
//! Ends a test that does not end: whatever spins for ever becomes a failure with a name.

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace chevron::test {

//! While it lives, the process has `limit` to get on; then it says what hung and aborts. One at a time.
class Watchdog {
 public:
  //! @param what  a string that outlives the watchdog
  Watchdog(std::chrono::seconds limit, char const* what) {
    watched_ = what;
    struct sigaction action {};
    action.sa_handler = &Watchdog::bark;
    ::sigaction(SIGALRM, &action, &before_);
    ::alarm(static_cast<unsigned>(limit.count()));
  }
  Watchdog(Watchdog const&) = delete;
  Watchdog& operator=(Watchdog const&) = delete;
  ~Watchdog() {
    ::alarm(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  static void bark(int) {
    auto const say = [](char const* text) {
      if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
    };
    say("watchdog: this does not end: ");
    say(watched_);
    say("\n");
    std::abort();
  }

  static inline char const* watched_ = "";
  struct sigaction before_ {};
};

}  // namespace chevron::test

#endif

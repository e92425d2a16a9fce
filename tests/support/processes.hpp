// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_PROCESSES_HPP
#define CHEVRON_TESTS_SUPPORT_PROCESSES_HPP

//! @file
//! Ranks that are forked processes, none of which outlives its test.

#include <support/shared.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace chevron::test {

//! How a child ended.
struct Ended {
  int exit_code = -1;  //!< -1 when a signal ended it
  int signal = 0;
  bool hung = false;  //!< it had to be killed

  [[nodiscard]] bool good() const { return exit_code == 0 && !hung; }
  [[nodiscard]] std::string text() const {
    if (hung) return "hung";
    return signal != 0 ? "ended by signal " + std::to_string(signal)
                       : "exit code " + std::to_string(exit_code);
  }
};

//! Children of this process.
class Children {
 public:
  Children() = default;
  Children(Children const&) = delete;
  Children& operator=(Children const&) = delete;
  ~Children() {
    for (std::size_t i = 0; i < pids_.size(); ++i) kill(static_cast<int>(i), SIGKILL);
    (void)wait(std::chrono::seconds(10));
  }

  //! Forks a child that runs `body()` and exits with 0, or what `body` returns.
  template <class Body>
  void start(Body&& body) {
    std::fflush(nullptr);  // or the child would write it once more
    pid_t const parent = ::getpid();
    pid_t const pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      for (int const crash : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(crash, SIG_DFL);
      int const code = body();
      std::fflush(nullptr);
      ::_exit(code);
    }
    pids_.push_back(pid);
    ended_.push_back(Ended{});
  }

  void kill(int child, int signal) {
    auto const index = static_cast<std::size_t>(child);
    if (pids_[index] > 0) ::kill(pids_[index], signal);
  }

  //! Waits until all have ended, kills who has not when the limit is over.
  std::vector<Ended> wait(std::chrono::milliseconds limit) {
    auto const deadline = std::chrono::steady_clock::now() + limit;
    for (bool all = false; !all;) {
      all = true;
      bool const late = std::chrono::steady_clock::now() >= deadline;
      for (std::size_t i = 0; i < pids_.size(); ++i) {
        if (pids_[i] <= 0) continue;
        if (late) {
          ended_[i].hung = true;
          ::kill(pids_[i], SIGKILL);
        }
        int status = 0;
        if (::waitpid(pids_[i], &status, late ? 0 : WNOHANG) == pids_[i]) {
          if (WIFEXITED(status)) ended_[i].exit_code = WEXITSTATUS(status);
          if (WIFSIGNALED(status)) ended_[i].signal = WTERMSIG(status);
          pids_[i] = 0;
        } else {
          all = false;
        }
      }
      if (!all) nap(std::chrono::microseconds(200));
    }
    return ended_;
  }

 private:
  std::vector<pid_t> pids_{};
  std::vector<Ended> ended_{};
};

}  // namespace chevron::test

#endif

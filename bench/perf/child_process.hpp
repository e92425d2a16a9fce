// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_CHILD_PROCESS_HPP
#define CHEVRON_PERF_CHILD_PROCESS_HPP

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace perf {

//! @brief A process that this one started and that doesn't outlive this object.
class ChildProcess {
 public:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  //! @brief Asks the process to end if it is still there, and insists if that doesn't help.
  ~ChildProcess();

  //! @brief Starts a program, found as a shell would find it, whose output goes to a file.
  //! @return a child that has ended where the program could not be started
  static ChildProcess start(std::vector<std::string> const& command, std::string const& output_file);

  bool has_ended();
  //! @brief Waits, asleep; false if the process has not ended in that time.
  bool wait(std::chrono::milliseconds patience);

 private:
  pid_t pid_;  //!< 0 once it has ended
};

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_MACHINE_HPP
#define CHEVRON_PERF_MACHINE_HPP

#include <cstddef>
#include <string>

namespace perf {

//! @brief What figures depend on besides the command.
struct Machine {
  std::string cpu;
  std::size_t cores;  //!< that this process may use
  std::string compiler;
  std::string date;      //!< UTC
  std::string chevron;   //!< version
  std::string gpu = {};  //!< its name and driver, where one was used

  static Machine current();
};

}  // namespace perf

#endif

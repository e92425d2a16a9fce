// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_EXPLORE_PROGRAM_HPP
#define CHEVRON_TESTS_EXPLORE_PROGRAM_HPP

#include "memory_map.hpp"

#include <functional>
#include <optional>
#include <string>

namespace chevron::test {

//! @brief What is explored.
struct Program {
  MemoryMap& memory;
  int threads;
  std::function<void(int thread)> run;
  std::function<void()> restart = [] {};                   //!< called before each execution
  std::function<std::string()> check = [] { return ""; };  //!< what is wrong in the end, or nothing
  bool store_buffers = false;  //!< a store may become visible after the thread's later loads, as on x86
  bool spins = true;           //!< who pauses looks again and again; else a pause says nothing
};

//! @brief Ways to make a program's memory accesses weaker than they are written, to see that this is noticed.
struct Weakened {
  std::optional<Role> stores{};  //!< words of this role are stored relaxed
  std::optional<Role> loads{};   //!< words of this role are loaded relaxed
  std::optional<Role> waits{};   //!< words of this role are not awaited: taken to equal the thread's own
  bool no_fences = false;        //!< fences do nothing
};

}  // namespace chevron::test

#endif

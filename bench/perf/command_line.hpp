// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_COMMAND_LINE_HPP
#define CHEVRON_PERF_COMMAND_LINE_HPP

#include <variant>

#include <perf/settings.hpp>

namespace perf {

//! @brief The settings, or the exit code where there is nothing to run: after --help, or a mistake that was
//! explained.
std::variant<Settings, int> read_command_line(int argc, char** argv);

}  // namespace perf

#endif

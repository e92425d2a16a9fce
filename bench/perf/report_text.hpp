// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_REPORT_TEXT_HPP
#define CHEVRON_PERF_REPORT_TEXT_HPP

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <perf/machine.hpp>
#include <perf/row.hpp>
#include <perf/settings.hpp>

namespace perf {

//! @brief What stands above a table.
struct Heading {
  std::string transport;
  int ranks;
  std::string placement;
  std::vector<std::pair<std::string, std::string>> peers;  //!< name and version
};

//! @brief Tables in the manner of nccl-tests.
class TextReport {
 public:
  explicit TextReport(std::ostream& out) : out_(out) {}

  void begin(Machine const& machine, Settings const& settings);
  void begin_table(Heading const& heading);
  void add(Rows const& rows);
  void note(std::string const& text);

 private:
  std::ostream& out_;
  std::vector<std::string> peers_;
};

}  // namespace perf

#endif

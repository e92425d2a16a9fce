// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_SWEEP_HPP
#define CHEVRON_PERF_SWEEP_HPP

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <perf/contestant.hpp>
#include <perf/row.hpp>
#include <perf/settings.hpp>

namespace perf {

//! @brief What all rows of one table have in common.
struct Table {
  std::string transport;
  int ranks;
  std::vector<std::string> algorithms;
  std::vector<std::unique_ptr<Contestant>>& peers;
};

//! @brief Measures all sizes of one element and operation. Each size is handed on as soon as it is done.
void sweep(Contestant& chevron, std::string const& element, std::string const& op, Table const& table,
           Settings const& settings, std::function<void(Rows const&)> const& done);

}  // namespace perf

#endif

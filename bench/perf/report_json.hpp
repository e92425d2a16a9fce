// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_REPORT_JSON_HPP
#define CHEVRON_PERF_REPORT_JSON_HPP

#include <map>
#include <string>
#include <vector>

#include <perf/machine.hpp>
#include <perf/row.hpp>
#include <perf/settings.hpp>

namespace perf {

//! @brief Writes all rows that have figures, and what they were measured on; false if the file can't be
//! written.
//! @param versions  of the peers, by name
bool write_json(std::string const& file, Machine const& machine, Settings const& settings,
                std::map<std::string, std::string> const& versions, std::vector<Row> const& rows);

}  // namespace perf

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fstream>
#include <optional>
#include <string_view>

#include <perf/json.hpp>
#include <perf/report_json.hpp>

namespace perf {

namespace {

using perf::json;

std::string json(Times const& times) {
  return object({{"median", json(times.median)}, {"min", json(times.min)}, {"max", json(times.max)}});
}

std::string json(HostTime const& time) {
  return object({{"call", json(time.call)}, {"empty_kernel", json(time.empty_kernel)}});
}

template <class Value>
std::string json(std::optional<Value> const& value) {
  return value ? json(*value) : "null";
}

std::string json(Row const& row) {
  auto const slash = row.algorithm.find('/');  // what follows it is how the algorithm stores
  Members peers;
  for (auto const& [name, times] : row.peers) peers.emplace_back(name, json(times));
  return object({{"collective", json(row.collective)},
                 {"transport", json(row.transport)},
                 {"ranks", json(row.ranks)},
                 {"element", json(row.element)},
                 {"op", json(row.op)},
                 {"requested", json(row.requested)},
                 {"algorithm", json(row.algorithm.substr(0, slash))},
                 {"stores", json(slash == std::string::npos ? "temporal" : row.algorithm.substr(slash + 1))},
                 {"launch", json(row.launch)},
                 {"bytes", json(row.bytes)},
                 {"count", json(row.count)},
                 {"in_place", json(row.in_place)},
                 {"graph", json(row.graph)},
                 {"wrong", json(row.wrong)},
                 {"calls", json(row.calls)},
                 {"time_us", json(row.time_us)},
                 {"algbw", json(row.algorithm_bandwidth())},
                 {"busbw", json(row.bus_bandwidth())},
                 {"host_time_us", json(row.host_time)},
                 {"peers", object(peers)}});
}

}  // namespace

bool write_json(std::string const& file, Machine const& machine, Settings const& settings,
                std::map<std::string, std::string> const& versions, std::vector<Row> const& rows) {
  Members peers;
  for (auto const& [name, version] : versions) peers.emplace_back(name, json(version));
  std::ofstream out(file);
  out << "{\"machine\": " << json(machine) << ",\n \"command\": " << json(settings.command)
      << ",\n \"seed\": " << json(settings.seed)
      << ",\n \"memory\": " << json(std::string_view(settings.memory == Memory::window ? "window" : "plain"))
      << ",\n \"peers\": " << object(peers) << ",\n \"rows\": [";
  bool first = true;
  for (auto const& row : rows) {
    if (!row.error.empty()) continue;
    out << (first ? "\n  " : ",\n  ") << json(row);
    first = false;
  }
  out << "\n ]}\n";
  return static_cast<bool>(out.flush());
}

}  // namespace perf

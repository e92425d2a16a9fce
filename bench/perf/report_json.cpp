// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <utility>

#include <perf/report_json.hpp>

namespace perf {

namespace {

// The few kinds of values that there are, as text. A library for them would be one more thing to install.
std::string json(std::string_view text) {
  std::string quoted = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      quoted.append(1, '\\').append(1, c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string json(bool value) { return value ? "true" : "false"; }

template <class Number>
requires std::is_arithmetic_v<Number> std::string json(Number value) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  return text.str();
}

using Members = std::vector<std::pair<std::string, std::string>>;

std::string object(Members const& members) {
  std::string text = "{";
  for (auto const& [name, value] : members)
    text.append(text.size() > 1 ? ", " : "").append(json(name)).append(": ").append(value);
  return text + '}';
}

std::string json(Times const& times) {
  return object({{"median", json(times.median)}, {"min", json(times.min)}, {"max", json(times.max)}});
}

std::string json(Launch const& launch) {
  return object({{"lanes", json(launch.lanes)},
                 {"threads", json(launch.threads)},
                 {"packs", json(launch.packs)},
                 {"ordering", json(launch.ordering)},
                 {"let_go", json(launch.let_go)}});
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
  out << "{\"machine\": "
      << object({{"cpu", json(machine.cpu)},
                 {"cores", json(machine.cores)},
                 {"gpu", machine.gpu.empty() ? "null" : json(machine.gpu)},
                 {"compiler", json(machine.compiler)},
                 {"date", json(machine.date)},
                 {"chevron", json(machine.chevron)}})
      << ",\n \"command\": " << json(settings.command) << ",\n \"seed\": " << json(settings.seed)
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

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_PERF_JSON_HPP
#define CHEVRON_PERF_JSON_HPP

#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <perf/machine.hpp>
#include <perf/row.hpp>

namespace perf {

// The few kinds of values that there are, as text. A library for them would be one more thing to install.
inline std::string json(std::string_view text) {
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

inline std::string json(bool value) { return value ? "true" : "false"; }

template <class Number>
requires std::is_arithmetic_v<Number> std::string json(Number value) {
  std::ostringstream text;
  text.precision(9);
  text << value;
  return text.str();
}

using Members = std::vector<std::pair<std::string, std::string>>;

inline std::string object(Members const& members) {
  std::string text = "{";
  for (auto const& [name, value] : members)
    text.append(text.size() > 1 ? ", " : "").append(json(name)).append(": ").append(value);
  return text + '}';
}

inline std::string json(Launch const& launch) {
  return object({{"lanes", json(launch.lanes)},
                 {"threads", json(launch.threads)},
                 {"packs", json(launch.packs)},
                 {"ordering", json(launch.ordering)},
                 {"let_go", json(launch.let_go)}});
}

inline std::string json(Machine const& machine) {
  return object({{"cpu", json(machine.cpu)},
                 {"cores", json(machine.cores)},
                 {"gpu", machine.gpu.empty() ? "null" : json(machine.gpu)},
                 {"compiler", json(machine.compiler)},
                 {"date", json(machine.date)},
                 {"chevron", json(machine.chevron)}});
}

}  // namespace perf

#endif

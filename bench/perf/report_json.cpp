// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fstream>
#include <nlohmann/json.hpp>

#include <perf/report_json.hpp>

namespace perf {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(Times const& times) {
  return {{"median", times.median}, {"min", times.min}, {"max", times.max}};
}

Json json_of(Row const& row) {
  auto const slash = row.algorithm.find('/');  // what follows it is how the algorithm stores
  Json peers = Json::object();
  for (auto const& [name, times] : row.peers) peers[name] = json_of(times);
  Json json = {{"collective", row.collective},
               {"transport", row.transport},
               {"ranks", row.ranks},
               {"element", row.element},
               {"op", row.op},
               {"requested", row.requested},
               {"algorithm", row.algorithm.substr(0, slash)},
               {"stores", slash == std::string::npos ? "temporal" : row.algorithm.substr(slash + 1)},
               {"bytes", row.bytes},
               {"count", row.count},
               {"in_place", row.in_place},
               {"graph", false},
               {"wrong", nullptr},
               {"calls", row.calls},
               {"time_us", json_of(row.time_us)},
               {"algbw", row.algorithm_bandwidth()},
               {"busbw", row.bus_bandwidth()},
               {"peers", peers}};
  if (row.wrong) json["wrong"] = *row.wrong;
  return json;
}

}  // namespace

bool write_json(std::string const& file, Machine const& machine, Settings const& settings,
                std::map<std::string, std::string> const& versions, std::vector<Row> const& rows) {
  Json json = {{"machine",
                {{"cpu", machine.cpu},
                 {"cores", machine.cores},
                 {"compiler", machine.compiler},
                 {"date", machine.date},
                 {"chevron", machine.chevron}}},
               {"command", settings.command},
               {"seed", settings.seed},
               {"memory", settings.memory == Memory::window ? "window" : "plain"},
               {"peers", versions},
               {"rows", Json::array()}};
  for (auto const& row : rows)
    if (row.error.empty()) json["rows"].push_back(json_of(row));
  std::ofstream out(file);
  out << json.dump(2) << '\n';
  return static_cast<bool>(out.flush());
}

}  // namespace perf

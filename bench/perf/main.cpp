// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! chevron-perf: the command line, one table for each transport and rank count, and a file of all rows.

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <perf/chevron_ranks.hpp>
#include <perf/command_line.hpp>
#include <perf/cores.hpp>
#include <perf/heats.hpp>
#include <perf/json.hpp>
#include <perf/machine.hpp>
#include <perf/names.hpp>
#include <perf/peer.hpp>
#include <perf/report_json.hpp>
#include <perf/report_text.hpp>
#include <perf/sweep.hpp>
#include <perf/time_heat.hpp>

namespace perf {

namespace {

class Program {
 public:
  explicit Program(Settings settings) : settings_(std::move(settings)) {}

  //! The exit code: 0 if something ran, nothing failed and no element is wrong.
  int run() {
    if (!settings_.policies_file.empty()) return run_policies();
    text_.begin(machine_, settings_);
    for (int ranks : settings_.rank_counts) run_rank_count(ranks);
    if (!settings_.json_file.empty() &&
        !write_json(settings_.json_file, machine_, settings_, versions_, rows_)) {
      std::cerr << "chevron-perf: can't write " << settings_.json_file << '\n';
      return 1;
    }
    bool right = !rows_.empty();
    for (auto const& row : rows_) right = right && row.error.empty() && row.wrong.value_or(0) == 0;
    return right ? 0 : 1;
  }

 private:
  //! Heats of named policies, as they are asked for.
  int run_policies() {
    int const ranks = settings_.rank_counts[0];
    auto const& transport = settings_.transports[0];
    auto const& element = settings_.elements[0];
    auto const chevron = open_chevron(element, chevron_ranks(transport, ranks, has_cores_for(ranks)));
    if (!chevron.contestant) {
      std::cerr << "chevron-perf: " << element << ": " << chevron.why_not << '\n';
      return 1;
    }
    Task task;
    task.element = element;
    task.op = settings_.ops[0];
    auto const greeting = object({{"transport", json(transport)},
                                  {"ranks", json(ranks)},
                                  {"element", json(element)},
                                  {"max_bytes", json(settings_.max_bytes)},
                                  {"every_pointer_is_in_a_window", json(transport == "host_threads")},
                                  {"machine", json(machine_)}});
    return run_heats_of(settings_.policies_file, greeting, [&](Heat const& heat) {
      return time_heat(*chevron.contestant, task, heat, settings_);
    });
  }

  bool has_cores_for(int ranks) const {
    return settings_.pin.value_or(true) && static_cast<std::size_t>(ranks) <= cores_.size();
  }

  ChevronRanks chevron_ranks(std::string const& transport, int ranks, bool pinned) const {
    return {.transport = transport,
            .rank_count = ranks,
            .cpus = pinned ? cores_ : std::vector<int>(),
            .max_bytes = settings_.max_bytes,
            .memory = settings_.memory,
            .lanes = settings_.lanes,
            .non_temporal = settings_.non_temporal,
            .seed = settings_.seed};
  }

  void run_rank_count(int ranks) {
    bool const pinned = has_cores_for(ranks);
    std::vector<std::unique_ptr<Contestant>> peers;
    for (auto const& name : settings_.peers) {
      auto peer = open_peer(name, ranks, pinned);
      if (peer.contestant) {
        versions_[name] = peer.contestant->version();
        peers.push_back(std::move(peer.contestant));
      } else {
        text_.note(name + " is left out: " + peer.why_not);
      }
    }
    for (auto const& transport : settings_.transports)
      run_table({transport, ranks, algorithms_on(transport), peers}, pinned);
  }

  std::vector<std::string> algorithms_on(std::string const& transport) {
    std::vector<std::string> algorithms;
    for (auto const& algorithm : settings_.algorithms) {
      if (needs_windows(algorithm) && !buffers_in_windows(transport, settings_.memory)) {
        text_.note(algorithm + " is left out: it needs --memory window on " + transport);
      } else {
        algorithms.push_back(algorithm);
      }
    }
    return algorithms;
  }

  void run_table(Table const& table, bool pinned) {
    Heading heading = {table.transport, table.ranks, pinned ? "a core each" : "not bound to cores", {}};
    for (auto const& peer : table.peers) heading.peers.emplace_back(peer->name(), peer->version());
    text_.begin_table(heading);
    auto const ranks = chevron_ranks(table.transport, table.ranks, pinned);
    for (auto const& element : settings_.elements) {
      auto const chevron = open_chevron(element, ranks);
      if (!chevron.contestant) {
        text_.note(element + " is left out: " + chevron.why_not);
        continue;
      }
      for (auto const& op : settings_.ops) {
        if (std::find(chevron.ops.begin(), chevron.ops.end(), op) == chevron.ops.end()) {
          text_.note(op + " of " + element + " is left out: it is not compiled into chevron-perf");
          continue;
        }
        sweep(*chevron.contestant, element, op, table, settings_, [&](Rows const& rows) { add(rows); });
        leave_out_lost(table.peers);
      }
    }
  }

  void leave_out_lost(std::vector<std::unique_ptr<Contestant>>& peers) {
    std::erase_if(peers, [&](auto const& peer) {
      if (!peer->lost().empty()) text_.note(peer->name() + " is left out from here on: " + peer->lost());
      return !peer->lost().empty();
    });
  }

  void add(Rows const& rows) {
    text_.add(rows);
    rows_.insert(rows_.end(), rows.out_of_place.begin(), rows.out_of_place.end());
    rows_.insert(rows_.end(), rows.in_place.begin(), rows.in_place.end());
  }

  Settings settings_;
  std::vector<int> cores_ = cores();
  Machine machine_ = Machine::current();
  TextReport text_{std::cout};
  std::map<std::string, std::string> versions_;
  std::vector<Row> rows_;
};

}  // namespace

}  // namespace perf

int main(int argc, char** argv) {
  auto settings = perf::read_command_line(argc, argv);
  if (auto const* exit_code = std::get_if<int>(&settings)) return *exit_code;
  return perf::Program(std::move(std::get<perf::Settings>(settings))).run();
}

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <utility>

#include <perf/names.hpp>
#include <perf/rounds.hpp>
#include <perf/sweep.hpp>

namespace perf {

namespace {

//! One size, operation and element, either out of place or in place.
struct Side {
  std::vector<Entry> chevron;  //!< an entry for each algorithm
  std::vector<Entry> peers;

  Side(Contestant& chevron_ranks, Table const& table, Task task) {
    for (auto const& peer : table.peers) peers.push_back({peer.get(), task});
    for (auto const& algorithm : table.algorithms) {
      task.algorithm = algorithm;
      chevron.push_back({&chevron_ranks, task});
    }
  }

  void add_to(std::vector<Entry*>& turns) {
    for (auto& entry : chevron) turns.push_back(&entry);
    for (auto& entry : peers) turns.push_back(&entry);
  }
};

//! Wrong elements of one untimed call.
std::optional<std::uint64_t> check(Entry& entry, Settings const& settings) {
  if (!settings.check) return std::nullopt;
  Task task = entry.task;
  task.kind = Task::Kind::check;
  auto const answer = entry.contestant->ask(task);
  if (answer.error.empty()) return answer.wrong;
  entry.error = answer.error;
  return std::nullopt;
}

std::vector<Row> rows_of(Side& side, Table const& table, Settings const& settings) {
  std::vector<Row> rows;
  for (auto& entry : side.chevron) {
    auto const& task = entry.task;
    auto const wrong = check(entry, settings);
    rows.push_back({.collective = settings.collective,
                    .transport = table.transport,
                    .ranks = table.ranks,
                    .element = task.element,
                    .op = task.op,
                    .requested = task.algorithm,
                    .algorithm = entry.policy,
                    .bytes = task.bytes,
                    .count = task.bytes / element_bytes(task.element),
                    .in_place = task.in_place,
                    .wrong = wrong,
                    .time_us = entry.times(),
                    .calls = entry.calls(),
                    .peers = {},
                    .error = entry.error});
    for (auto const& peer : side.peers)
      if (peer.error.empty()) rows.back().peers.emplace_back(peer.contestant->name(), peer.times());
  }
  return rows;
}

Rows measure(Contestant& chevron, Task task, Table const& table, Settings const& settings) {
  Side out_of_place(chevron, table, task);
  task.in_place = true;
  Side in_place(chevron, table, task);

  std::vector<Entry*> turns;
  out_of_place.add_to(turns);
  in_place.add_to(turns);
  run_rounds(turns, settings);
  return {rows_of(out_of_place, table, settings), rows_of(in_place, table, settings)};
}

}  // namespace

void sweep(Contestant& chevron, std::string const& element, std::string const& op, Table const& table,
           Settings const& settings, std::function<void(Rows const&)> const& done) {
  for (auto bytes : sizes_of(settings)) {
    Task task;
    task.element = element;
    task.op = op;
    task.bytes = bytes - bytes % element_bytes(element);
    done(measure(chevron, task, table, settings));
  }
}

}  // namespace perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>
#include <string>

#include <chevron/host/cpu.hpp>
#include <perf/names.hpp>
#include <perf/rounds.hpp>
#include <perf/time_heat.hpp>

namespace perf {

namespace {

constexpr long batches_in_round = 3;

//! Why a policy is the same as another one here, or can't be; empty where it is one of its own.
std::string why_left_out(NamedPolicy const& policy, Settings const& settings) {
  bool const on_windows = needs_windows(policy.algorithm);
  if (on_windows && !buffers_in_windows(settings.transports[0], settings.memory))
    return "it works on windows";
  if (policy.stores == "temporal") return {};
  if (!on_windows) return "it stores in one way only";
  if (!settings.non_temporal.value_or(chevron::non_temporal_stores_pay()))
    return "stores go through the caches on this CPU";
  return {};
}

double median_of(Entry const& entry) { return Times::of(entry.seconds).median; }

}  // namespace

std::vector<Finish> time_heat(Contestant& chevron, Task task, Heat const& heat, Settings const& settings) {
  Settings how = settings;
  if (heat.calls) how.iterations = heat.calls;
  task.bytes = heat.bytes - heat.bytes % element_bytes(task.element);
  task.in_place = heat.in_place;

  std::vector<Finish> finishes(heat.policies.size());
  std::vector<Entry> entries;
  std::vector<std::size_t> places;  // in the heat
  for (std::size_t i = 0; i < heat.policies.size(); ++i) {
    auto const& policy = heat.policies[i];
    finishes[i].left_out = why_left_out(policy, settings);
    if (!finishes[i].left_out.empty()) continue;
    task.algorithm = policy.stores == "temporal" ? policy.algorithm : policy.algorithm + '/' + policy.stores;
    entries.push_back({&chevron, task});
    places.push_back(i);
  }

  double fastest = std::numeric_limits<double>::infinity();
  for (auto& entry : entries) {
    entry.seconds = choose_iterations(entry, how);
    if (!entry.seconds.empty()) fastest = std::min(fastest, median_of(entry));
  }
  std::vector<Entry*> turns;
  for (auto& entry : entries) {
    if (!entry.error.empty() || heat.hopeless(median_of(entry), fastest)) continue;
    entry.seconds.clear();
    turns.push_back(&entry);
  }
  auto const turn = [&](Entry* entry) {
    if (!entry->error.empty()) return;
    auto const seconds = ask(*entry, std::max(entry->task.iterations / 4, 1L), batches_in_round);
    entry->seconds.insert(entry->seconds.end(), seconds.begin(), seconds.end());
  };
  for (long round = 0; round < heat.rounds; ++round) {
    // To and fro, so that nobody always comes after the same neighbour, whose data is in the caches.
    if (round % 2 == 0) {
      std::for_each(turns.begin(), turns.end(), turn);
    } else {
      std::for_each(turns.rbegin(), turns.rend(), turn);
    }
  }

  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto& finish = finishes[places[i]];
    finish.seconds = entries[i].seconds;
    finish.calls = entries[i].task.iterations;
    finish.error = entries[i].error;
    if (!heat.check || !finish.error.empty()) continue;
    Task check = entries[i].task;
    check.kind = Task::Kind::check;
    auto const answer = chevron.ask(check);
    finish.error = answer.error;
    finish.wrong = answer.wrong;
  }
  return finishes;
}

}  // namespace perf

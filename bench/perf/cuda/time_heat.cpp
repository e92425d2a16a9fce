// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <perf/cuda/launches.hpp>
#include <perf/cuda/time_heat.hpp>

namespace perf {

namespace {

//! A policy that is in the race.
struct Runner {
  std::size_t place;  //!< in the heat
  Candidate candidate;
  Batch batch;
};

//! Why a name is none that can be run; empty where it can be.
std::string mistake_in(NamedPolicy const& policy, DeviceGroup const& group, Candidate const& candidate) {
  if (place_of(policy.launch.ordering, ordering_names) == std::size(ordering_names))
    return "no ordering is named " + policy.launch.ordering;
  if (place_of(policy.launch.let_go, let_go_names) == std::size(let_go_names))
    return "no let_go is named " + policy.launch.let_go;
  if (group.find(candidate) == nullptr)
    return policy.algorithm + " with packs=" + std::to_string(candidate.packs) + " is not compiled";
  return {};
}

//! Times one batch of the runner; a failure goes to its finish.
double take_turn(Runner& runner, DeviceGroup const& group, Finish& finish) {
  auto const seconds = runner.batch.run();
  if (!runner.batch.error().empty()) finish.error = runner.batch.error();
  if (auto const ended = group.status(); !ended) finish.error = ended.error().message();
  return seconds;
}

}  // namespace

std::vector<Finish> time_heat(Stage& stage, DeviceGroup& group, BufferContents& contents, Heat const& heat,
                              CudaSettings const& settings) {
  auto const bytes = heat.bytes - heat.bytes % group.element_bytes();
  long const calls = heat.calls.value_or(settings.iterations.value_or(calls_in_batch(stage.ranks(), bytes)));
  std::vector<Finish> finishes(heat.policies.size());
  std::vector<Runner> runners;
  double fastest = std::numeric_limits<double>::infinity();

  for (std::size_t i = 0; i < heat.policies.size(); ++i) {
    auto const& policy = heat.policies[i];
    auto& finish = finishes[i];
    auto const& asked = policy.launch;
    Candidate const candidate = {policy.algorithm, asked.packs,
                                 geometry_of(asked.lanes, asked.threads, asked.ordering, asked.let_go)};
    finish.left_out = mistake_in(policy, group, candidate);
    if (!finish.left_out.empty()) continue;
    finish.launch = launch_of(group.policy(candidate, bytes), asked.packs);
    finish.calls = calls;
    if (asked.lanes != 0 && finish.launch->lanes != asked.lanes) {
      finish.left_out = "there is room for " + std::to_string(finish.launch->lanes) + " lanes";
      continue;
    }
    runners.push_back(
        {i, candidate, batch_of(stage, group, bytes, heat.in_place, candidate, calls, settings.graph)});
    auto& runner = runners.back();
    auto const untimed = take_turn(runner, group, finish);
    if (!finish.error.empty()) return finishes;
    // What comes first is slower for that. Far off is far off nevertheless.
    if (heat.hopeless(untimed, 2 * fastest)) {
      finish.seconds.push_back(untimed);
    } else {
      finish.seconds.push_back(take_turn(runner, group, finish));
      if (!finish.error.empty()) return finishes;
    }
    fastest = std::min(fastest, finish.seconds[0]);
    if (heat.hopeless(finish.seconds[0], fastest)) runners.pop_back();
  }

  for (long round = 1; round < heat.rounds; ++round) {
    for (auto& runner : runners) {
      auto& finish = finishes[runner.place];
      if (heat.hopeless(finish.seconds[0], fastest)) continue;
      finish.seconds.push_back(take_turn(runner, group, finish));
      if (!finish.error.empty()) return finishes;
    }
  }

  for (auto& runner : runners) {
    if (!heat.check) break;
    auto& finish = finishes[runner.place];
    auto single = batch_of(stage, group, bytes, heat.in_place, runner.candidate, 1, settings.graph);
    finish.wrong = contents.wrong_after([&] { single.run(); }, bytes, heat.in_place);
    if (!single.error().empty()) finish.error = single.error();
    if (auto const ended = group.status(); !ended) finish.error = ended.error().message();
  }
  return finishes;
}

}  // namespace perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! chevron-perf-cuda: the command line, one table for each rank count, and a file of all rows. Program::measure() is what
//! happens at one size.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <perf/cuda/buffers.hpp>
#include <perf/cuda/command_line.hpp>
#include <perf/cuda/cuda_check.hpp>
#include <perf/cuda/group.hpp>
#include <perf/cuda/launches.hpp>
#include <perf/cuda/nccl.hpp>
#include <perf/cuda/stage.hpp>
#include <perf/cuda/time_heat.hpp>
#include <perf/heats.hpp>
#include <perf/json.hpp>
#include <perf/machine.hpp>
#include <perf/report_json.hpp>
#include <perf/report_text.hpp>

namespace perf {

namespace {

//! One thing that is timed at one size, out of place or in place.
struct Entry {
  Batch batch;
  std::vector<double> seconds = {};  //!< per call, for each timed run
  std::string error = {};

  void take_turn(bool warm) {
    auto const per_call = batch.run();
    if (warm) seconds.push_back(per_call);
  }
  [[nodiscard]] Times times() const { return Times::of(seconds); }
  [[nodiscard]] std::string why_failed() const { return error.empty() ? batch.error() : error; }
};

//! What an algorithm gave at one size.
struct Measured {
  Candidate candidate;
  bool in_place;
  Entry entry;
};

using NcclPeers = std::vector<std::pair<std::string, std::unique_ptr<Nccl>>>;

//! A peer's calls at one size.
struct Peer {
  std::string name;
  std::optional<bool> in_place;  //!< none: the same for both
  Entry entry;
};

//! The ranks of one table and element, and what they are compared with.
struct Scene {
  Stage& stage;
  DeviceGroup& group;
  BufferContents& contents;
  NcclPeers const& nccl;
  std::string element;
};

class Program {
 public:
  explicit Program(CudaSettings settings) : settings_(std::move(settings)) {
    if (!settings_.grid_file.empty()) grid_file_.open(settings_.grid_file);
  }

  //! The exit code: 0 if something ran, nothing failed and no element is wrong.
  int run() {
    machine_.gpu = gpu();
    if (!settings_.policies_file.empty()) return run_policies();
    text_.begin(machine_, settings_);
    if (grid_file_.is_open()) {
      grid_file_
          << "ranks,element,bytes,in_place,algorithm,lanes,threads,packs,ordering,let_go,microseconds\n";
    }
    for (int const ranks : settings_.rank_counts) run_rank_count(ranks);
    if (!settings_.json_file.empty() &&
        !write_json(settings_.json_file, machine_, settings_, versions_, rows_)) {
      std::cerr << "chevron-perf-cuda: can't write " << settings_.json_file << '\n';
      return 1;
    }
    bool right = !rows_.empty();
    for (auto const& row : rows_) right = right && row.error.empty() && row.wrong.value_or(0) == 0;
    return right ? 0 : 1;
  }

 private:
  //! Heats of named policies, as they are asked for.
  int run_policies() {
    auto const devices = settings_.devices_of(settings_.rank_counts[0]);
    auto const& element = settings_.elements[0];
    Stage stage(devices);
    auto const opened = open(element, devices);
    if (!opened.group) {
      std::cerr << "chevron-perf-cuda: " << element << ": " << opened.why_not << '\n';
      return 1;
    }
    BufferContents contents(*opened.group, stage, settings_.max_bytes);
    bool const one_device = std::count(devices.begin(), devices.end(), devices[0]) == stage.ranks();
    auto const greeting =
        object({{"transport", json(std::string("cuda_peer"))},
                {"ranks", json(stage.ranks())},
                {"element", json(element)},
                {"max_bytes", json(settings_.max_bytes)},
                {"every_pointer_is_in_a_window", json(one_device && !settings_.system_scope)},
                {"machine", json(machine_)}});
    return run_heats_of(settings_.policies_file, greeting, [&](Heat const& heat) {
      return time_heat(stage, *opened.group, contents, heat, settings_);
    });
  }

  [[nodiscard]] OpenedDeviceGroup open(std::string const& element, std::vector<int> const& devices) const {
    return open_device_group(element, {.devices = devices,
                                       .max_bytes = settings_.max_bytes,
                                       .seed = settings_.seed,
                                       .deadline = settings_.deadline,
                                       .system_scope = settings_.system_scope,
                                       .most_lanes = settings_.most_lanes,
                                       .packet_bytes = settings_.packet_bytes,
                                       .chunk_bytes = settings_.chunk_bytes});
  }

  void run_rank_count(int ranks) {
    auto const devices = settings_.devices_of(ranks);
    Stage stage(devices);
    Heading heading = {"cuda_peer", ranks, placement(devices), {}};
    if (settings_.copy)
      heading.peers.emplace_back(copies_name(ranks), "that many device-to-device copies of the size at once");
    NcclPeers nccl;
    for (auto const& name : settings_.peers) {
      auto opened = name == "nccl" ? Nccl::open(devices) : Nccl::open_symmetric(devices, settings_.max_bytes);
      if (opened.nccl) {
        versions_["nccl"] = opened.nccl->version();
        heading.peers.emplace_back(name, opened.nccl->version());
        nccl.emplace_back(name, std::move(opened.nccl));
      } else {
        text_.note(name + " is left out: " + opened.why_not);
      }
    }
    text_.begin_table(heading);
    for (auto const& element : settings_.elements) {
      auto const opened = open(element, devices);
      if (!opened.group) {
        text_.note(element + " is left out: " + opened.why_not);
        continue;
      }
      BufferContents contents(*opened.group, stage, settings_.max_bytes);
      Scene const scene = {stage, *opened.group, contents, nccl, element};
      for (auto const bytes : sizes_of(settings_))
        measure(scene, bytes - bytes % opened.group->element_bytes());
    }
  }

  //! The main loop: everything that is timed at one size, turn by turn, so that what else happens strikes all alike.
  void measure(Scene const& scene, std::size_t bytes) {
    std::vector<Measured> algorithms;
    for (auto const& algorithm : settings_.algorithms)
      for (bool const in_place : {false, true})
        algorithms.push_back(prepare(scene, bytes, in_place, fastest(scene, bytes, in_place, algorithm)));
    std::vector<Peer> peers;
    if (settings_.copy)
      peers.push_back({copies_name(scene.stage.ranks()), std::nullopt, copies(scene, bytes)});
    for (auto const& [name, nccl] : scene.nccl)
      for (bool const in_place : {false, true})
        peers.push_back({name, in_place, nccl_calls(scene, *nccl, bytes, in_place)});

    for (long round = 0; round <= settings_.rounds; ++round) {
      bool const warm = round > 0;
      for (auto& one : algorithms) {
        one.entry.take_turn(warm);
        if (auto const ended = scene.group.status(); !ended) one.entry.error = ended.error().message();
      }
      for (auto& peer : peers) peer.entry.take_turn(warm);
    }

    Rows rows;
    for (auto& one : algorithms) {
      auto row = row_of(scene, bytes, one);
      for (auto const& peer : peers) {
        bool const same_placement = peer.in_place.value_or(one.in_place) == one.in_place;
        if (peer.entry.why_failed().empty() && same_placement)
          row.peers.emplace_back(peer.name, peer.entry.times());
      }
      (one.in_place ? rows.in_place : rows.out_of_place).push_back(std::move(row));
    }
    add(rows);
    for (auto const& peer : peers)
      if (!peer.entry.why_failed().empty()) text_.note(peer.name + ": " + peer.entry.why_failed());
  }

  Row row_of(Scene const& scene, std::size_t bytes, Measured& one) {
    auto const policy = scene.group.policy(one.candidate, bytes);
    Row row;
    row.collective = settings_.collective;
    row.transport = "cuda_peer";
    row.ranks = scene.stage.ranks();
    row.element = scene.element;
    row.op = "sum";
    row.requested = one.candidate.algorithm;
    row.algorithm = chevron::name(policy.algorithm);
    if (one.candidate.algorithm != "auto") row.algorithm = one.candidate.algorithm;
    row.bytes = bytes;
    row.count = bytes / scene.group.element_bytes();
    row.in_place = one.in_place;
    row.graph = settings_.graph;
    row.launch = launch_of(policy, one.candidate.packs);
    row.time_us = one.entry.times();
    row.calls = static_cast<long>(one.entry.seconds.size()) * one.entry.batch.calls();
    if (settings_.check && one.entry.why_failed().empty()) {
      auto single = batch(scene, bytes, one.in_place, one.candidate, 1);
      row.wrong = scene.contents.wrong_after([&] { single.run(); }, bytes, one.in_place);
      if (auto const ended = scene.group.status(); !ended) one.entry.error = ended.error().message();
      if (!single.error().empty()) one.entry.error = single.error();
    }
    if (settings_.host_time && !one.in_place && one.entry.why_failed().empty())
      row.host_time = scene.group.host_time(one.candidate, bytes, scene.stage.streams());
    row.error = one.entry.why_failed();
    return row;
  }

  // -- what is timed -------------------------------------------------------------------------------------------------

  [[nodiscard]] Batch batch(Scene const& scene, std::size_t bytes, bool in_place, Candidate const& candidate,
                            long calls) const {
    return batch_of(scene.stage, scene.group, bytes, in_place, candidate, calls, settings_.graph);
  }

  [[nodiscard]] Measured prepare(Scene const& scene, std::size_t bytes, bool in_place,
                                 Candidate const& candidate) const {
    return {candidate, in_place, {batch(scene, bytes, in_place, candidate, calls_in_batch(scene, bytes))}};
  }

  //! The yardstick: the least traffic that an all-reduce can have is what these copies have, on one device within its memory,
  //! on several between neighbours.
  [[nodiscard]] Entry copies(Scene const& scene, std::size_t bytes) const {
    auto const once = [&stage = scene.stage, &group = scene.group, bytes] {
      for (int rank = 0; rank < stage.ranks(); ++rank) {
        int const next = (rank + 1) % stage.ranks();
        auto const status = cudaMemcpyAsync(group.out(next), group.in(rank), bytes, cudaMemcpyDeviceToDevice,
                                            stage.stream(rank));
        if (status != cudaSuccess) return std::string(cudaGetErrorString(status));
      }
      return std::string();
    };
    return {Batch(scene.stage, once, calls_in_batch(scene, bytes), settings_.graph)};
  }

  [[nodiscard]] Entry nccl_calls(Scene const& scene, Nccl& nccl, std::size_t bytes, bool in_place) const {
    std::vector<void const*> in;
    std::vector<void*> out;
    for (int rank = 0; rank < scene.stage.ranks(); ++rank) {
      out.push_back(in_place ? scene.group.in_place(rank) : scene.group.out(rank));
      in.push_back(in_place ? out.back() : scene.group.in(rank));
    }
    auto const once = [scene, &nccl, in, out, count = bytes / scene.group.element_bytes()] {
      return nccl.all_reduce(scene.element, in, out, count, scene.stage.streams());
    };
    // NCCL connects its ranks when it first needs to, which is better not captured.
    Batch(scene.stage, once, 1, false).run();
    return {Batch(scene.stage, once, calls_in_batch(scene, bytes), settings_.graph)};
  }

  [[nodiscard]] long calls_in_batch(Scene const& scene, std::size_t bytes) const {
    if (settings_.iterations) return *settings_.iterations;
    return perf::calls_in_batch(scene.stage.ranks(), bytes);
  }

  // -- the grid ------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<Candidate> candidates(Scene const& scene, std::size_t bytes,
                                                  std::string const& algorithm) const {
    if (algorithm == "auto") return {{.algorithm = algorithm}};
    std::vector<int> packs;
    for (int const tried : settings_.packs_tried)
      if (scene.group.find({.algorithm = algorithm, .packs = tried}) != nullptr) packs.push_back(tried);
    if (packs.empty()) packs.push_back(0);
    std::vector<Candidate> all;
    for (int const in_flight : packs)
      for (int const lanes : settings_.lanes_tried)
        for (int const threads : settings_.threads_tried)
          for (auto const& ordering : settings_.orderings_tried)
            for (auto const& let_go : settings_.let_go_tried) {
              Candidate const candidate = {algorithm, in_flight,
                                           geometry_of(lanes, threads, ordering, let_go)};
              // What has no room is cut down: then the combination is there already.
              auto const runs = launch_of(scene.group.policy(candidate, bytes), in_flight);
              auto const& tried = settings_.let_go_tried;
              bool const there_already =
                  (lanes != 0 && runs.lanes != lanes) ||
                  (runs.let_go != let_go && std::count(tried.begin(), tried.end(), runs.let_go) > 0);
              if (!there_already) all.push_back(candidate);
            }
    if (all.empty()) all.push_back({.algorithm = algorithm, .packs = packs[0]});
    return all;
  }

  //! The fastest of an algorithm's candidates. Where there is one only, nothing is run.
  [[nodiscard]] Candidate fastest(Scene const& scene, std::size_t bytes, bool in_place,
                                  std::string const& algorithm) {
    auto const all = candidates(scene, bytes, algorithm);
    Candidate best = all[0];
    if (all.size() == 1) return best;
    constexpr double hopeless = 1.5;
    constexpr std::size_t trials = 5;
    std::optional<double> best_microseconds;
    for (auto const& candidate : all) {
      Entry entry = {
          batch(scene, bytes, in_place, candidate, std::max(calls_in_batch(scene, bytes) / 4, 2L))};
      entry.take_turn(false);
      do {
        entry.take_turn(true);
      } while (entry.seconds.size() < trials &&
               (!best_microseconds || entry.times().median < hopeless * *best_microseconds));
      if (!entry.why_failed().empty() || !scene.group.status())
        return candidate;  // its row will say what failed
      auto const microseconds = entry.times().median;
      auto const launch = launch_of(scene.group.policy(candidate, bytes), candidate.packs);
      if (grid_file_.is_open()) {
        grid_file_ << scene.stage.ranks() << ',' << scene.element << ',' << bytes << ',' << in_place << ','
                   << algorithm << ',' << launch.lanes << ',' << launch.threads << ',' << launch.packs << ','
                   << launch.ordering << ',' << launch.let_go << ',' << microseconds << '\n';
      }
      if (best_microseconds && microseconds >= *best_microseconds) continue;
      best_microseconds = microseconds;
      best = candidate;
    }
    return best;
  }

  // -- what is told --------------------------------------------------------------------------------------------------

  void add(Rows const& rows) {
    text_.add(rows);
    for (auto const& row : rows.out_of_place) {
      if (!row.host_time) continue;
      char line[128];
      std::snprintf(line, sizeof line, "%s: a call costs its thread %.2f us, an empty kernel %.2f us",
                    row.requested.c_str(), row.host_time->call, row.host_time->empty_kernel);
      text_.note(line);
    }
    rows_.insert(rows_.end(), rows.out_of_place.begin(), rows.out_of_place.end());
    rows_.insert(rows_.end(), rows.in_place.begin(), rows.in_place.end());
  }

  static std::string copies_name(int ranks) { return "copyx" + std::to_string(ranks); }

  [[nodiscard]] std::string placement(std::vector<int> const& devices) const {
    std::string text = "on devices ";
    for (std::size_t rank = 0; rank < devices.size(); ++rank)
      text.append(rank == 0 ? "" : ",").append(std::to_string(devices[rank]));
    return text + (settings_.graph ? "; replays of a CUDA graph per rank" : "; calls from one thread");
  }

  static std::string gpu() {
    cudaDeviceProp properties{};
    int driver = 0;
    int runtime = 0;
    check_cuda(cudaGetDeviceProperties(&properties, 0), "looking for devices");
    check_cuda(cudaDriverGetVersion(&driver), "asking for versions");
    check_cuda(cudaRuntimeGetVersion(&runtime), "asking for versions");
    auto const version = [](int number) {
      return std::to_string(number / 1000) + '.' + std::to_string(number % 1000 / 10);
    };
    return std::string(properties.name) + ", CUDA " + version(runtime) + ", driver for CUDA " +
           version(driver);
  }

  CudaSettings settings_;
  Machine machine_ = Machine::current();
  TextReport text_{std::cout};
  std::ofstream grid_file_;
  std::map<std::string, std::string> versions_;
  std::vector<Row> rows_;
};

}  // namespace

}  // namespace perf

int main(int argc, char** argv) try {
  auto settings = perf::read_cuda_command_line(argc, argv);
  if (auto const* exit_code = std::get_if<int>(&settings)) return *exit_code;
  // A kernel that is loaded while others wait for it waits for those; and streams that share a queue of the device wait for
  // each other.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("chevron-perf-cuda: skipped, there is no GPU here");
    return 77;
  }
  return perf::Program(std::move(std::get<perf::CudaSettings>(settings))).run();
} catch (std::exception const& failure) {
  std::fprintf(stderr, "chevron-perf-cuda: %s\n", failure.what());
  return 1;
}

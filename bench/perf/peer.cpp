// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include <perf/child_process.hpp>
#include <perf/cores.hpp>
#include <perf/listener.hpp>
#include <perf/peer.hpp>

namespace perf {

namespace {

using Words = std::vector<std::string>;

struct Launch {
  int rank_count;
  bool pinned;
  std::string program;
  std::string socket;
};

struct Peer {
  std::string name;
  std::string launcher;  //!< a program that must be installed, or nothing
  Words (*command)(Launch const&);
};

std::vector<Peer> const& peers() {
  static std::vector<Peer> const all = {
      {"openmpi", "mpirun.openmpi",
       [](Launch const& launch) {
         Words words = {"mpirun.openmpi", "-n", std::to_string(launch.rank_count)};
         if (::geteuid() == 0) words.insert(words.end(), {"--allow-run-as-root"});
         if (launch.pinned) {
           words.insert(words.end(), {"--map-by", "core", "--bind-to", "core"});
         } else {
           words.insert(words.end(), {"--bind-to", "none", "--oversubscribe"});
         }
         words.insert(words.end(), {launch.program, "--control", launch.socket});
         return words;
       }},
      {"mpich", "mpirun.mpich",
       [](Launch const& launch) {
         return Words{"mpirun.mpich",
                      "-n",
                      std::to_string(launch.rank_count),
                      "-bind-to",
                      launch.pinned ? "core" : "none",
                      launch.program,
                      "--control",
                      launch.socket};
       }},
      // Unbound: each of its ranks has a second thread, for the sockets, that needs a core as well.
      {"gloo", "",
       [](Launch const& launch) {
         return Words{launch.program, "--ranks", std::to_string(launch.rank_count), "--control",
                      launch.socket};
       }},
  };
  return all;
}

bool is_installed(std::string const& program) {
  char const* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

//! The peer programs are built into the folder of chevron-perf.
std::filesystem::path program_of(Peer const& peer) {
  std::error_code unknown;
  auto const self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return self.parent_path() / ("chevron-perf-peer-" + peer.name);
}

std::string last_line(std::string const& file) {
  std::ifstream lines(file);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (line.find_first_not_of(" -") != std::string::npos) last = line;
  return last;
}

//! The connections of all ranks, by rank, with the version that they tell; nothing if they don't all come.
std::optional<std::pair<std::vector<Channel>, std::string>> greet(Listener& listener, ChildProcess& process,
                                                                  int rank_count) {
  constexpr std::chrono::seconds patience{60};
  auto const deadline = std::chrono::steady_clock::now() + patience;
  std::vector<std::optional<Channel>> ranks(static_cast<std::size_t>(rank_count));
  std::string version;
  for (int missing = rank_count; missing > 0;) {
    if (process.has_ended() || std::chrono::steady_clock::now() > deadline) return std::nullopt;
    auto channel = listener.accept(std::chrono::milliseconds(100));
    if (!channel) continue;
    auto const line = channel->read_line(patience);
    if (!line) return std::nullopt;
    std::istringstream hello(*line);
    std::string word;
    std::size_t rank = ranks.size();
    hello >> word >> rank >> std::ws;
    if (word != "hello" || rank >= ranks.size()) return std::nullopt;
    std::getline(hello, version);
    ranks[rank].emplace(std::move(*channel));
    --missing;
  }
  std::vector<Channel> channels;
  for (auto& rank : ranks) channels.push_back(std::move(*rank));
  return std::pair(std::move(channels), version);
}

//! What a peer needs while it lives.
struct Running {
  TemporaryFolder folder;
  std::optional<ChildProcess> process;
};

OpenedPeer open(Peer const& peer, int rank_count, bool pinned) {
  auto const program = program_of(peer);
  if (!std::filesystem::exists(program)) return {nullptr, "was not there when chevron-perf was built"};
  if (!peer.launcher.empty() && !is_installed(peer.launcher))
    return {nullptr, peer.launcher + " is not installed"};

  auto running = std::make_shared<Running>();
  Listener listener(running->folder.file("control"));
  auto const log = running->folder.file("log");
  running->process =
      ChildProcess::start(peer.command({rank_count, pinned, program.string(), listener.path()}), log);
  auto ranks = greet(listener, *running->process, rank_count);
  if (!ranks) return {nullptr, "did not start: " + last_line(log)};
  auto finish = [running] { running->process->wait(std::chrono::seconds(10)); };
  return {std::make_unique<Contestant>(peer.name, ranks->second, std::move(ranks->first), finish), ""};
}

}  // namespace

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (auto const& peer : peers()) names.push_back(peer.name);
  return names;
}

OpenedPeer open_peer(std::string const& name, int rank_count, bool pinned) {
  for (auto const& peer : peers())
    if (peer.name == name) return open(peer, rank_count, pinned);
  return {nullptr, "is not known"};
}

}  // namespace perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <perf/cuda/command_line.hpp>

namespace perf {

namespace {

using Names = std::vector<std::string>;

//! A value that is not understood; the text says why.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

Names split(std::string const& text) {
  Names parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

template <class Number>
Number number(std::string const& text, Number least, Number most) {
  Number value{};
  auto const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < least || value > most)
    throw Wrong("'" + text + "' is no number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

std::vector<int> numbers(std::string const& text, int least, int most) {
  std::vector<int> all;
  for (auto const& part : split(text)) all.push_back(number(part, least, most));
  return all;
}

//! 64, 4K, 16M, 1G.
std::size_t size(std::string text) {
  std::size_t unit = 1;
  if (!text.empty() && (text.back() == 'B' || text.back() == 'b')) text.pop_back();
  if (auto const letter = text.empty() ? std::string::npos : std::string("KMGkmg").find(text.back());
      letter != std::string::npos) {
    unit = std::size_t{1} << 10 * (letter % 3 + 1);
    text.pop_back();
  }
  return unit * number<std::size_t>(text, 1, std::size_t{1} << 36);
}

template <std::size_t N>
Names some_of(std::string const& text, std::string_view const (&known)[N]) {
  Names chosen;
  for (auto const& name : split(text)) {
    if (name == "all") {
      chosen.insert(chosen.end(), std::begin(known), std::end(known));
    } else if (std::find(std::begin(known), std::end(known), name) != std::end(known)) {
      chosen.push_back(name);
    } else {
      std::string all;
      for (auto const& one : known) all.append(all.empty() ? "" : ", ").append(one);
      throw Wrong("'" + name + "' is none of " + all);
    }
  }
  return chosen;
}

struct Option {
  char const* names;  //!< separated by a comma
  char const* value;  //!< what stands for it in the help; empty: the option takes none
  char const* help;
  std::function<void(std::string const&)> set;

  bool has_name(std::string const& name) const {
    auto const all = split(names);
    return std::find(all.begin(), all.end(), name) != all.end();
  }
};

std::vector<Option> options_for(CudaSettings& to) {
  constexpr double forever = 1e6;
  return {
      {"-b,--minbytes", "SIZE", "smallest size, such as 64 or 4K",
       [&](auto const& text) { to.min_bytes = size(text); }},
      {"-e,--maxbytes", "SIZE", "largest size, such as 64M or 1G",
       [&](auto const& text) { to.max_bytes = size(text); }},
      {"-f,--stepfactor", "N", "factor between sizes",
       [&](auto const& text) { to.factor = number<std::size_t>(text, 2, 1 << 20); }},
      {"-d,--datatype", "NAMES", "elements: some of bfloat16, half, float; or all",
       [&](auto const& text) { to.elements = some_of(text, device_element_names); }},
      {"--ranks", "NUMBERS", "rank counts: some of 2, 3, 4, 8",
       [&](auto const& text) { to.rank_counts = numbers(text, 2, 32); }},
      {"--devices", "NUMBERS", "the device of each rank; they repeat where there are more ranks",
       [&](auto const& text) { to.devices = numbers(text, 0, 1023); }},
      {"--algorithm", "NAMES", "auto (the table picks), or by name, or all",
       [&](auto const& text) { to.algorithms = some_of(text, device_algorithm_names); }},
      {"--graph", "", "time replays of a CUDA graph per rank", [&](auto const&) { to.graph = true; }},
      {"--lanes", "NUMBERS", "thread blocks per rank to try; 0: by size",
       [&](auto const& text) { to.lanes_tried = numbers(text, 0, 256); }},
      {"--threads", "NUMBERS", "threads per block to try",
       [&](auto const& text) { to.threads_tried = numbers(text, 64, 512); }},
      {"--ordering", "NAMES", "to try: some of formal, relaxed_arrival, relaxed; or all",
       [&](auto const& text) { to.orderings_tried = some_of(text, ordering_names); }},
      {"--packs", "NUMBERS", "packs in flight to try: 0 (the library's own number), 1, 2, 4",
       [&](auto const& text) { to.packs_tried = numbers(text, 0, 4); }},
      {"--let-go", "NAMES",
       "to try: some of at_once, when_sent, when_met, never (no dependent launch); or all",
       [&](auto const& text) { to.let_go_tried = some_of(text, let_go_names); }},
      {"--grid", "", "try lanes 1 to 64, threads 128 to 512, packs 1 to 4, both relaxed orderings",
       [&](auto const&) {
         to.lanes_tried = {1, 2, 4, 8, 16, 24, 32, 64};
         to.threads_tried = {128, 256, 512};
         to.orderings_tried = {"relaxed_arrival", "relaxed"};
         to.packs_tried = {1, 2, 4};
       }},
      {"--grid-file", "FILE", "a CSV file for the times of all that was tried",
       [&](auto const& text) { to.grid_file = text; }},
      {"--policies", "FILE",
       "time the policies that a file names, or standard input (-), instead; answers are lines of JSON (see "
       "perf/heats.hpp). One rank count and element",
       [&](auto const& text) { to.policies_file = text; }},
      {"--most-lanes", "N",
       "CudaOptions::lanes: thread blocks that a call may have; 0: as many as fit, up to 64",
       [&](auto const& text) { to.most_lanes = number(text, 0, 256); }},
      {"--system-scope", "", "fences of system scope, also where all ranks share a device",
       [&](auto const&) { to.system_scope = true; }},
      {"--packet-bytes", "SIZE", "what one step of packets carries to a lane",
       [&](auto const& text) { to.packet_bytes = size(text); }},
      {"--chunk-bytes", "SIZE", "a chunk of the algorithms with mailboxes",
       [&](auto const& text) { to.chunk_bytes = size(text); }},
      {"--host-time", "", "tell what a call costs the calling thread, and what an empty kernel does",
       [&](auto const&) { to.host_time = true; }},
      {"--no-copy", "", "without the yardstick: as many device-to-device copies as ranks",
       [&](auto const&) { to.copy = false; }},
      {"--peers", "NAMES", "other libraries: nccl, nccl_symmetric (with buffers in its symmetric windows)",
       [&](auto const& text) {
         constexpr std::string_view known[] = {"nccl", "nccl_symmetric"};
         to.peers = some_of(text, known);
       }},
      {"-c,--check", "0|1", "compare every element of one call per row with the reference",
       [&](auto const& text) { to.check = number(text, 0, 1) == 1; }},
      {"--seed", "N", "of the data that is checked",
       [&](auto const& text) { to.seed = number<std::uint64_t>(text, 0, ~std::uint64_t{0}); }},
      {"-n,--iters", "N", "calls in a batch; if not given, by size",
       [&](auto const& text) { to.iterations = number<long>(text, 1, 100'000); }},
      {"--rounds", "N", "timed batches",
       [&](auto const& text) { to.rounds = number<long>(text, 1, 100'000); }},
      {"--deadline", "SECONDS", "for each wait of a call",
       [&](auto const& text) {
         to.deadline =
             std::chrono::milliseconds(static_cast<long>(1e3 * number<double>(text, 1e-3, forever)));
       }},
      {"--few", "", "few, small calls with much time: for compute-sanitizer",
       [&](auto const&) {
         to.min_bytes = 64;
         to.max_bytes = 64 << 10;
         to.factor = 32;
         to.iterations = 2;
         to.rounds = 1;
         to.copy = false;
         to.deadline = std::chrono::minutes(10);
       }},
      {"--json", "FILE", "a file for the results", [&](auto const& text) { to.json_file = text; }},
  };
}

void print_help(std::vector<Option> const& options) {
  std::puts(
      "Times chevron's collective operations on GPUs.\nUsage: chevron-perf-cuda [all_reduce] [OPTIONS]\n");
  for (auto const& option : options)
    std::printf("  %-30s %s\n", (std::string(option.names) + ' ' + option.value).c_str(), option.help);
}

void read_arguments(int argc, char** argv, std::vector<Option> const& options, CudaSettings& settings) {
  for (int i = 1; i < argc; ++i) {
    std::string const argument = argv[i];
    if (argument == "all_reduce") continue;
    auto const option = std::find_if(options.begin(), options.end(),
                                     [&](Option const& one) { return one.has_name(argument); });
    if (option == options.end()) throw Wrong("unknown option " + argument);
    bool const has_value = option->value[0] != '\0';
    if (has_value && i + 1 == argc) throw Wrong(argument + " needs a value");
    try {
      option->set(has_value ? argv[++i] : "");
    } catch (Wrong const& wrong) {
      throw Wrong(argument + ": " + wrong.what());
    }
  }
  if (settings.min_bytes > settings.max_bytes) throw Wrong("-b must not be above -e");
  if (!settings.policies_file.empty() && settings.rank_counts.size() * settings.elements.size() != 1)
    throw Wrong("--policies needs one rank count and one element");
}

}  // namespace

std::variant<CudaSettings, int> read_cuda_command_line(int argc, char** argv) {
  CudaSettings settings;
  settings.command = "chevron-perf-cuda";
  for (int i = 1; i < argc; ++i) settings.command.append(" ").append(argv[i]);
  auto const options = options_for(settings);
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) != "--help" && std::string(argv[i]) != "-h") continue;
    print_help(options);
    return 0;
  }
  try {
    read_arguments(argc, argv, options, settings);
  } catch (Wrong const& wrong) {
    std::fprintf(stderr, "chevron-perf-cuda: %s (--help lists the options)\n", wrong.what());
    return 2;
  }
  return settings;
}

}  // namespace perf

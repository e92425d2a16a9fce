// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <perf/command_line.hpp>
#include <perf/names.hpp>
#include <perf/peer.hpp>

namespace perf {

namespace {

using Names = std::vector<std::string>;

template <std::size_t N>
Names listed(std::string_view const (&names)[N]) {
  return Names(std::begin(names), std::end(names));
}

Names elements() {
  Names names;
  for (auto const& element : element_names) names.emplace_back(element.name);
  return names;
}

Names with(Names names, std::string const& more) {
  names.push_back(more);
  return names;
}

void replace(Names& chosen, std::string const& word, Names const& meaning) {
  auto const found = std::find(chosen.begin(), chosen.end(), word);
  if (found == chosen.end()) return;
  chosen.insert(chosen.erase(found), meaning.begin(), meaning.end());
}

std::string joined(int argc, char** argv) {
  std::string command = "chevron-perf";
  for (int i = 1; i < argc; ++i) command.append(" ").append(argv[i]);
  return command;
}

}  // namespace

std::variant<Settings, int> read_command_line(int argc, char** argv) {
  Settings settings;
  settings.command = joined(argc, argv);
  CLI::App app("Times chevron's collective operations, and other libraries' in the same run.",
               "chevron-perf");
  app.formatter(std::make_shared<CLI::Formatter>());
  app.get_formatter()->column_width(34);
  CLI::AsSizeValue const size(false);

  auto const names = [&](std::string const& flags, Names& chosen, Names const& known,
                         std::string const& what) {
    return app.add_option(flags, chosen, what + ": some of " + CLI::detail::join(known, ", ") + "; or all")
        ->delimiter(',')
        ->check(CLI::IsMember(with(known, "all")))
        ->default_str(CLI::detail::join(chosen, ","));
  };

  app.add_option("collective", settings.collective, "what to time: all_reduce")
      ->check(CLI::IsMember(listed(collective_names)));
  app.add_option("-b,--minbytes", settings.min_bytes, "smallest size, such as 64 or 4K")->transform(size);
  app.add_option("-e,--maxbytes", settings.max_bytes, "largest size, such as 64M or 1G")->transform(size);
  app.add_option("-f,--stepfactor", settings.factor, "factor between sizes")->check(CLI::Range(2, 1 << 20));
  names("-d,--datatype", settings.elements, elements(), "elements");
  names("-o,--op", settings.ops, listed(op_names), "operations");
  names("--transport", settings.transports, listed(transport_names), "transports");
  names("--algorithm", settings.algorithms, listed(algorithm_names), "algorithms");
  app.add_option("--ranks", settings.rank_counts, "rank counts, separated by commas")
      ->delimiter(',')
      ->check(CLI::Range(2, 32));
  app.add_option("--memory", settings.memory, "where buffers lie: window (registered) or plain (anywhere)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Memory>{{"window", Memory::window}, {"plain", Memory::plain}}));
  app.add_option("--lanes", settings.lanes, "threads of each chevron rank")->check(CLI::Range(1, 64));
  bool pin = true;
  auto const* const pin_flag =
      app.add_flag("--pin,!--no-pin", pin, "bind each rank to a core (if not given: where there are enough)");
  app.add_option("-c,--check", settings.check,
                 "compare every element of one call per row with the reference: 1 or 0");
  app.add_option("--seed", settings.seed, "of the data that is checked");
  app.add_option("-n,--iters", settings.iterations, "calls in a batch (if not given: as many as fill 0.5 ms)")
      ->check(CLI::PositiveNumber);
  app.add_option("-w,--warmup_iters", settings.warmup,
                 "untimed calls before each round (if not given: by time)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--row-time", settings.row_seconds, "seconds that each library spends on a row")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", settings.rounds, "how often the libraries take turns in a row")
      ->check(CLI::PositiveNumber);
  app.add_option("--json", settings.json_file, "a file for the results");
  app.add_option(
      "--policies", settings.policies_file,
      "time the policies that a file names, or standard input (-), instead; answers are lines of JSON (see "
      "perf/heats.hpp). One transport, rank count, element and operation");
  bool non_temporal = true;
  auto const* const non_temporal_flag = app.add_flag(
      "--non-temporal,!--no-non-temporal", non_temporal,
      "whether stores go past the caches where a policy says so (if not given: where it pays on this CPU)");
  app.add_option("--peers", settings.peers,
                 "other libraries: some of mpi (openmpi and mpich), openmpi, mpich, gloo")
      ->delimiter(',')
      ->check(CLI::IsMember(with(peer_names(), "mpi")));

  try {
    app.parse(argc, argv);
    if (settings.min_bytes == 0 || settings.min_bytes > settings.max_bytes)
      throw CLI::ValidationError("-b", "must be above 0 and not above -e");
    if (!settings.policies_file.empty() && settings.transports.size() * settings.rank_counts.size() *
                                                   settings.elements.size() * settings.ops.size() !=
                                               1)
      throw CLI::ValidationError("--policies", "needs one transport, rank count, element and operation");
  } catch (CLI::ParseError const& end) {
    return app.exit(end);
  }
  if (pin_flag->count() > 0) settings.pin = pin;
  if (non_temporal_flag->count() > 0) settings.non_temporal = non_temporal;
  replace(settings.elements, "all", elements());
  replace(settings.ops, "all", listed(op_names));
  replace(settings.transports, "all", listed(transport_names));
  replace(settings.algorithms, "all", listed(algorithm_names));
  replace(settings.peers, "mpi", {"openmpi", "mpich"});
  return settings;
}

}  // namespace perf

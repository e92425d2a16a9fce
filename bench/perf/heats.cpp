// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <charconv>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <perf/heats.hpp>
#include <perf/json.hpp>

namespace perf {

namespace {

//! A line that is not understood; the text says why.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Number>
Number number(std::string_view text, Number least) {
  Number value{};
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value < least)
    throw Wrong("'" + std::string(text) + "' is no number from " + std::to_string(least) + " on");
  return value;
}

struct Word {
  std::string key;  //!< empty where the word has no '='
  std::string value;

  explicit Word(std::string const& text) {
    auto const sign = text.find('=');
    if (sign != std::string::npos) key = text.substr(0, sign);
    value = sign == std::string::npos ? text : text.substr(sign + 1);
  }
};

NamedPolicy read_policy(std::istream& words) {
  NamedPolicy policy;
  if (!(words >> policy.name)) throw Wrong("a policy needs a name");
  for (std::string text; words >> text;) {
    Word const word(text);
    if (word.key == "algorithm") {
      policy.algorithm = word.value;
    } else if (word.key == "stores") {
      policy.stores = word.value;
    } else if (word.key == "lanes") {
      policy.launch.lanes = number(word.value, 0);
    } else if (word.key == "threads") {
      policy.launch.threads = number(word.value, 1);
    } else if (word.key == "packs") {
      policy.launch.packs = number(word.value, 0);
    } else if (word.key == "ordering") {
      policy.launch.ordering = word.value;
    } else if (word.key == "let_go") {
      policy.launch.let_go = word.value;
    } else {
      throw Wrong("a policy has no '" + text + "'");
    }
  }
  if (policy.algorithm.empty()) throw Wrong("policy " + policy.name + " needs an algorithm");
  return policy;
}

Heat read_heat(std::istream& words, std::map<std::string, NamedPolicy> const& policies) {
  Heat heat;
  for (std::string text; words >> text;) {
    Word const word(text);
    if (word.key == "bytes") {
      heat.bytes = number<std::size_t>(word.value, 1);
    } else if (word.key == "place" && (word.value == "in" || word.value == "out")) {
      heat.in_place = word.value == "in";
    } else if (word.key == "rounds") {
      heat.rounds = number(word.value, 1L);
    } else if (word.key == "calls") {
      heat.calls = number(word.value, 1L);
    } else if (word.key == "give_up") {
      heat.give_up = number(word.value, 1.0);
    } else if (word.key == "check") {
      heat.check = number(word.value, 0) != 0;
    } else if (auto const found = policies.find(word.value); word.key.empty() && found != policies.end()) {
      heat.policies.push_back(found->second);
    } else {
      throw Wrong("a measure has no '" + text + "', and no policy has that name");
    }
  }
  if (heat.bytes == 0 || heat.policies.empty()) throw Wrong("a measure needs bytes=, and a policy");
  return heat;
}

std::string microseconds(std::vector<double> const& seconds) {
  std::string list = "[";
  for (double const one : seconds) list.append(list.size() > 1 ? ", " : "").append(json(1e6 * one));
  return list + ']';
}

std::string line_of(Heat const& heat, NamedPolicy const& policy, Finish const& finish) {
  Members members = {{"policy", json(policy.name)}, {"bytes", json(heat.bytes)}};
  if (!finish.error.empty()) {
    members.emplace_back("error", json(finish.error));
  } else if (!finish.left_out.empty()) {
    members.emplace_back("left_out", json(finish.left_out));
    members.emplace_back("launch", finish.launch ? json(*finish.launch) : "null");
  } else {
    members.emplace_back("us", microseconds(finish.seconds));
    members.emplace_back("calls", json(finish.calls));
    members.emplace_back("launch", finish.launch ? json(*finish.launch) : "null");
    members.emplace_back("wrong", finish.wrong ? json(*finish.wrong) : "null");
  }
  return object(members);
}

//! Each line at once: somebody may wait for it.
void write_line(std::ostream& out, std::string const& line) { out << line << '\n' << std::flush; }

}  // namespace

int run_heats(std::istream& in, std::ostream& out, std::string const& greeting,
              std::function<std::vector<Finish>(Heat const&)> const& run) {
  write_line(out, greeting);
  std::map<std::string, NamedPolicy> policies;
  bool right = true;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    if (!(words >> kind) || kind[0] == '#') continue;
    try {
      if (kind == "policy") {
        auto const policy = read_policy(words);
        policies.insert_or_assign(policy.name, policy);
      } else if (kind == "measure") {
        auto const heat = read_heat(words, policies);
        auto const start = std::chrono::steady_clock::now();
        auto const finishes = run(heat);
        std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
        bool failed = false;
        for (std::size_t i = 0; i < finishes.size(); ++i) {
          write_line(out, line_of(heat, heat.policies[i], finishes[i]));
          failed = failed || !finishes[i].error.empty();
          right = right && finishes[i].wrong.value_or(0) == 0;
        }
        write_line(out, object({{"heat", json(heat.bytes)}, {"seconds", json(took.count())}}));
        if (failed) return 1;  // a group of ranks that failed once is over
      } else {
        throw Wrong("a line begins with policy or measure, not with '" + kind + "'");
      }
    } catch (Wrong const& wrong) {
      write_line(out, object({{"error", json(std::string(wrong.what()))}, {"line", json(line)}}));
      return 2;
    }
  }
  return right ? 0 : 1;
}

int run_heats_of(std::string const& file, std::string const& greeting,
                 std::function<std::vector<Finish>(Heat const&)> const& run) {
  if (file == "-") return run_heats(std::cin, std::cout, greeting, run);
  std::ifstream lines(file);
  if (!lines) {
    std::cerr << "can't read " << file << '\n';
    return 2;
  }
  return run_heats(lines, std::cout, greeting, run);
}

}  // namespace perf

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! @file
//! Sentence embeddings with all-MiniLM-L6-v2, tensor-parallel over N ranks that meet through chevron.
//! The ranks are threads or processes of this machine, or its GPUs. The result is checked against the same encoder on one
//! rank and against an independent implementation.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "devices.hpp"
#include "measure.hpp"
#include "model.hpp"
#include "ranks.hpp"
#include "reference.hpp"
#include "safetensors.hpp"
#include "sentences.hpp"
#include "shard.hpp"
#include "synthetic.hpp"
#include "tokenizer.hpp"

namespace tp2_encoder {
namespace {

// Embeddings have length 1. Float rounding of the sums in another order gives differences of about 1e-7.
constexpr float allowed_between_rank_counts = 1e-5f;
constexpr float allowed_to_reference = 1e-5f;
constexpr std::size_t longest_table = 16;

struct Arguments {
  std::vector<std::string> sentences;
  std::string file;
  std::vector<int> ranks{1, 2, 3, 4, 6, 12};
  std::string device;
  std::string transport = "both";
  std::filesystem::path weights = "build/weights/all-MiniLM-L6-v2";
  std::filesystem::path reference;
  std::uint64_t seed = 1;
  int passes = 3;
  bool list_sentences = false;
  bool tokens = false;
};

void declare(CLI::App& app, Arguments& arguments) {
  app.add_option("sentences", arguments.sentences,
                 "what to encode; a few built-in sentences if none are given");
  app.add_option("--file", arguments.file, "a text file with one sentence per line")
      ->check(CLI::ExistingFile);
  app.add_option("--ranks", arguments.ranks, "rank counts, as in 1,2,3,4,6,12")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({1, 2, 3, 4, 6, 12}));
  app.add_option("--device", arguments.device, "where ranks run; if not given, on GPUs where there are any")
      ->check(CLI::IsMember({"host", "cuda"}));
  app.add_option("--transport", arguments.transport, "how ranks on the host reach each other")
      ->check(CLI::IsMember({"host_threads", "host_shared_memory", "both"}));
  app.add_option("--weights", arguments.weights, "the folder that get_weights.sh filled, or: synthetic")
      ->capture_default_str();
  app.add_option("--reference", arguments.reference, "a file from reference.py to compare with");
  app.add_option("--seed", arguments.seed, "of synthetic weights")->capture_default_str();
  app.add_option("--passes", arguments.passes, "how often the sentences are encoded for the times")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_flag("--list-sentences", arguments.list_sentences, "print the sentences and stop");
  app.add_flag("--tokens", arguments.tokens,
               "print one line of JSON per sentence with its token ids and stop");
}

std::vector<std::string> sentences_of(Arguments const& arguments) {
  auto sentences = arguments.sentences;
  if (!arguments.file.empty()) {
    std::ifstream lines(arguments.file);
    for (std::string line; std::getline(lines, line);) sentences.push_back(line);
  }
  if (sentences.empty()) sentences.assign(built_in_sentences.begin(), built_in_sentences.end());
  return sentences;
}

float largest_difference(Matrix const& a, Matrix const& b) {
  auto const difference = (a - b).cwiseAbs();
  return difference.maxCoeff<Eigen::PropagateNaN>();
}

void print_similarities(std::vector<std::string> const& sentences, Matrix const& embeddings) {
  auto const shown = std::min(sentences.size(), longest_table);
  std::printf("\nCosine similarity");
  if (shown < sentences.size()) std::printf(" (the first %zu sentences)", shown);
  std::printf(":\n");
  for (std::size_t row = 0; row < shown; ++row) {
    std::printf("%3zu ", row + 1);
    for (std::size_t column = 0; column < shown; ++column) {
      if (column <= row) {
        std::printf(" %5.2f", embeddings.row(row).dot(embeddings.row(column)));
      } else {
        std::printf("      ");
      }
    }
    std::printf("   %s\n", sentences[row].c_str());
  }
  std::printf("\n");
}

struct Finished {
  int rank_count;
  std::string transport;
  Outcome outcome;
  float difference;  // the largest one to one rank on the host
};

bool same_bits_as_others(Finished const& run, std::vector<Finished> const& all) {
  return std::ranges::all_of(all, [&](Finished const& other) {
    return other.rank_count != run.rank_count ||
           std::memcmp(other.outcome.embeddings.data(), run.outcome.embeddings.data(),
                       run.outcome.embeddings.size() * sizeof(float)) == 0;
  });
}

//! The job on ranks that are devices.
Outcome outcome_on_devices(Job const& job, Tensors const& tensors, int rank_count) {
  auto const device_run = run_on_devices(job.batches, job.passes, tensors, rank_count);
  Outcome outcome{.embeddings = Matrix(job.sentence_count(), hidden_size),
                  .time = {device_run.total_seconds, device_run.all_reduce_seconds},
                  .same_bits = device_run.same_bits};
  std::ranges::copy(device_run.embeddings, outcome.embeddings.data());
  return outcome;
}

//! Counts the failed checks and says of each, in a sentence that holds if it passed.
class Verdict {
 public:
  void add(bool passed, std::string const& sentence) {
    std::printf("%s %s\n", passed ? "ok:    " : "FAILED:", sentence.c_str());
    failures_ += passed ? 0 : 1;
  }
  [[nodiscard]] int failures() const { return failures_; }

 private:
  int failures_ = 0;
};

std::string scientific(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", value);
  return text;
}

int run_all(Arguments const& arguments) {
  auto const sentences = sentences_of(arguments);
  if (arguments.list_sentences) {
    for (auto const& sentence : sentences) std::printf("%s\n", sentence.c_str());
    return 0;
  }

  auto const wants_synthetic = arguments.weights == "synthetic";
  auto const is_real = !wants_synthetic && std::filesystem::exists(arguments.weights / "model.safetensors");
  if (!is_real && !wants_synthetic) {
    std::fprintf(arguments.tokens ? stderr : stdout,
                 "There are no weights in %s (get_weights.sh fetches them from the network), so this runs on "
                 "synthetic ones.\n",
                 arguments.weights.c_str());
  }
  auto const tokenizer = is_real ? std::optional<WordPiece>(arguments.weights / "vocab.txt") : std::nullopt;
  std::vector<std::vector<int>> ids;
  for (auto const& sentence : sentences) {
    ids.push_back(tokenizer ? tokenizer->encode(sentence, max_tokens)
                            : HashedWords().encode(sentence, max_tokens));
    if (arguments.tokens) {
      constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
      std::printf("%s\n", nlohmann::ordered_json{{"text", sentence}, {"ids", ids.back()}}
                              .dump(-1, ' ', false, replace)
                              .c_str());
    }
  }
  if (arguments.tokens) return 0;

  auto const file =
      is_real ? std::make_unique<SafetensorsFile>(arguments.weights / "model.safetensors") : nullptr;
  SyntheticTensors synthetic(arguments.seed);
  Tensors const tensors = [&](std::string const& name, int rows, int columns) {
    return file ? file->tensor(name, rows, columns) : synthetic.tensor(name, rows, columns);
  };
  auto const model = file ? read_model(*file) : read_model(synthetic);
  auto const on_devices = arguments.device.empty() ? has_device() : arguments.device == "cuda";
  if (on_devices && !has_device()) {
    std::printf("There is no GPU here, or this program was built without CUDA.\n");
    return 77;
  }
  Job const job{.model = model, .batches = pack(ids), .passes = arguments.passes};
  std::size_t token_count = 0, largest_batch = 0;
  for (auto const& batch : job.batches) {
    token_count += batch.ids.size();
    largest_batch = std::max(largest_batch, batch.ids.size());
  }
  std::printf("all-MiniLM-L6-v2, float32, %s.\n",
              is_real ? ("weights from " + arguments.weights.string()).c_str()
                      : ("synthetic weights of its shapes, seed " + std::to_string(arguments.seed)).c_str());
  std::printf("%zu sentences, %zu tokens; %zu all-reduces a pass, of up to %zu bytes each.\n\n",
              sentences.size(), token_count, 2 * layer_count * job.batches.size(),
              largest_batch * hidden_size * sizeof(float));

  // One rank, on the host: what all others are compared with.
  std::string const yardstick = on_devices ? "the encoder on the host" : "TP=1";
  int const decimals = on_devices ? 2 : 1;
  std::printf("ranks  transport           ms/pass  in all-reduce  largest difference to %s\n",
              yardstick.c_str());
  auto const alone = measure_alone(job);
  std::printf("%5d  %-18s %8.*f %14s  %s\n", 1, "none", decimals, 1e3 * alone.time.total_seconds, "-", "-");

  std::vector<Finished> finished;
  auto measure_ranks = [&](int rank_count, std::string const& transport, auto&& run_job) {
    std::printf("%5d  %-18s ", rank_count, transport.c_str());
    std::fflush(stdout);
    Outcome outcome = run_job();
    auto const difference = largest_difference(outcome.embeddings, alone.embeddings);
    std::printf("%8.*f %13.1f%%  %.1e\n", decimals, 1e3 * outcome.time.total_seconds,
                outcome.time.all_reduce_percent(), difference);
    finished.push_back({rank_count, transport, std::move(outcome), difference});
  };
  for (auto const rank_count : arguments.ranks) {
    if (on_devices)
      measure_ranks(rank_count, "cuda_peer", [&] { return outcome_on_devices(job, tensors, rank_count); });
    if (on_devices || rank_count == 1) continue;
    for (auto const transport : {Transport::host_threads, Transport::host_shared_memory}) {
      if (arguments.transport != "both" && arguments.transport != name_of(transport)) continue;
      measure_ranks(rank_count, name_of(transport), [&] { return run(job, transport, rank_count); });
    }
  }
  if (!on_devices)
    std::printf(
        "The time in all-reduce includes the wait for slower ranks; this machine runs %u threads at once.\n",
        std::thread::hardware_concurrency());

  print_similarities(sentences, alone.embeddings);

  Verdict verdict;
  for (auto const& run : finished) {
    char share[32];
    std::snprintf(share, sizeof share, "%.0f%%", run.outcome.time.all_reduce_percent());
    verdict.add(run.difference <= allowed_between_rank_counts,
                "TP=" + std::to_string(run.rank_count) + " over " + run.transport + " equals " + yardstick +
                    ": max abs difference " + scientific(run.difference) + " (allowed " +
                    scientific(allowed_between_rank_counts) + "); " + share + " of its time was all-reduce.");
  }
  if (!finished.empty()) {
    verdict.add(std::ranges::all_of(finished, [](auto const& run) { return run.outcome.same_bits; }),
                "The ranks of each run hold the same bits.");
    if (!on_devices)
      verdict.add(
          std::ranges::all_of(finished, [&](auto const& run) { return same_bits_as_others(run, finished); }),
          "Runs with the same rank count give the same bits, whatever the transport.");
  }

  auto reference_file = arguments.reference;
  auto const is_built_in = arguments.sentences.empty() && arguments.file.empty();
  if (reference_file.empty() && is_built_in) reference_file = TP2_ENCODER_REFERENCE;
  if (is_real && !reference_file.empty()) {
    auto const reference = read_reference(reference_file, sentences);
    auto worst = largest_difference(alone.embeddings, reference.embeddings);
    for (auto const& run : finished) {
      worst = std::max(worst, largest_difference(run.outcome.embeddings, reference.embeddings));
    }
    verdict.add(ids == reference.ids, "The token ids are those of the reference tokenizer.");
    verdict.add(worst <= allowed_to_reference,
                "All embeddings agree with the reference (" + reference.made_by + "): max abs difference " +
                    scientific(worst) + " (allowed " + scientific(allowed_to_reference) + ").");
  } else {
    std::printf("There is no reference for %s, so nothing was compared with one.\n",
                is_real ? "these sentences" : "synthetic weights");
  }
  std::printf("%s\n", verdict.failures() == 0 ? "All checks passed." : "Some checks FAILED.");
  return verdict.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tp2_encoder

int main(int argc, char** argv) try {
  CLI::App app{"Sentence embeddings with all-MiniLM-L6-v2, tensor-parallel over chevron."};
  tp2_encoder::Arguments arguments;
  tp2_encoder::declare(app, arguments);
  CLI11_PARSE(app, argc, argv);
  return tp2_encoder::run_all(arguments);
} catch (std::exception const& failure) {
  std::fprintf(stderr, "tp2_encoder: %s\n", failure.what());
  return 2;
}

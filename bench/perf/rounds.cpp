// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <chrono>
#include <cmath>

#include <perf/rounds.hpp>

namespace perf {

namespace {

//! Long against a barrier, short against a slice of the scheduler.
constexpr double batch_seconds = 0.5e-3;
constexpr long most_iterations = 1'000'000;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

long whole(double wanted, long least, long most) {
  return static_cast<long>(
      std::clamp(std::ceil(wanted), static_cast<double>(least), static_cast<double>(most)));
}

}  // namespace

std::vector<double> ask(Entry& entry, long warmup, long batches) {
  entry.task.warmup = warmup;
  entry.task.batches = batches;
  auto const answer = entry.contestant->ask(entry.task);
  entry.error = answer.error;
  entry.policy = answer.policy;
  return answer.seconds;
}

std::vector<double> choose_iterations(Entry& entry, Settings const& settings) {
  entry.task.iterations = settings.iterations.value_or(1);
  for (;;) {
    auto const trial = ask(entry, 1, 3);
    if (!entry.error.empty() || settings.iterations) return trial;
    // The fastest: a disturbed batch would make all later ones too short.
    auto const batch = std::max(*std::min_element(trial.begin(), trial.end()), 1e-9) *
                       static_cast<double>(entry.task.iterations);
    if (batch >= batch_seconds / 2 || entry.task.iterations == most_iterations) return trial;
    auto const growth = std::min(batch_seconds / batch, 10.0);  // few calls say little about many
    entry.task.iterations = whole(static_cast<double>(entry.task.iterations) * growth, 1, most_iterations);
  }
}

namespace {

//! One turn: batches until its time is up. Small helpings, because batches can take longer than foreseen.
void take_turn(Entry& entry, Settings const& settings) {
  constexpr double helpings = 4;
  auto const turn_seconds = settings.row_seconds / static_cast<double>(settings.rounds);
  auto const per_batch = [&](double seconds) { return seconds * static_cast<double>(entry.task.iterations); };
  Stopwatch const turn;
  auto batch = entry.seconds.empty() ? batch_seconds : per_batch(entry.seconds.back());
  do {
    auto const warmup = settings.warmup.value_or(
        whole(0.1 * turn_seconds / helpings / batch * static_cast<double>(entry.task.iterations), 1,
              most_iterations));
    Stopwatch const helping;
    auto const seconds = ask(entry, warmup, whole(turn_seconds / helpings / batch, 1, 10'000));
    if (!entry.error.empty() || seconds.empty()) return;
    entry.seconds.insert(entry.seconds.end(), seconds.begin(), seconds.end());
    batch = std::max(helping.seconds() / static_cast<double>(seconds.size()), 1e-6);
  } while (turn.seconds() + batch < turn_seconds);
}

}  // namespace

void run_rounds(std::vector<Entry*> const& entries, Settings const& settings) {
  for (auto* entry : entries) choose_iterations(*entry, settings);
  auto const turn = [&](Entry* entry) {
    if (entry->error.empty()) take_turn(*entry, settings);
  };
  for (long round = 0; round < settings.rounds; ++round) {
    // To and fro, so that nobody always comes after the same neighbour, whose data is in the caches.
    if (round % 2 == 0) {
      std::for_each(entries.begin(), entries.end(), turn);
    } else {
      std::for_each(entries.rbegin(), entries.rend(), turn);
    }
  }
}

}  // namespace perf

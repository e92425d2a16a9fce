// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The explorer itself, on programs that are small enough to know what it must find.
#include "bounded_search.hpp"
#include "execution.hpp"
#include "explore.hpp"
#include "explored_access.hpp"
#include "partial_order.hpp"
#include "random_walk.hpp"

#include <support/catch.hpp>
#include <support/seed.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace chevron::test;
using Access = ExploredAccess;
using Word = std::uint64_t;

//! Eight words, some data, and threads that use them.
struct Tiny {
  Tiny() {
    memory.add(words, sizeof(Word) * count, Role::departure, "word");
    memory.add(data, 8, Role::data, "data");
  }
  static constexpr int count = 8;
  MemoryMap memory{256};
  Word* words = reinterpret_cast<Word*>(memory.base());
  std::byte* data = memory.base() + 128;

  Program program(int threads, std::function<void(int)> run) {
    return {
        .memory = memory, .threads = threads, .run = std::move(run), .restart = [this] { memory.clear(); }};
  }
};

void await(Word const& word, Word wanted) {
  while (Access::load_acquire(word) != wanted) Access::pause(word);
}

Report by_partial_order(Program program, Weakened weakened = {}) {
  Execution execution(program, weakened);
  PartialOrder strategy;
  return explore(execution, strategy);
}
Report by_bounded_search(Program program, int preemptions, Weakened weakened = {}) {
  Execution execution(program, weakened);
  BoundedSearch strategy(preemptions);
  return explore(execution, strategy);
}
Report by_random_walk(Program program, std::uint64_t walks, Weakened weakened = {}) {
  Execution execution(program, weakened);
  RandomWalk strategy(1, walks, 3);
  return explore(execution, strategy);
}

std::optional<Finding::Kind> kind(Report const& report) {
  if (!report.finding) return std::nullopt;
  return report.finding->kind;
}

}  // namespace

TEST_CASE("Operations on different words have one order") {
  Tiny tiny;
  Report const report = by_partial_order(tiny.program(3, [&](int thread) {
    for (Word i = 0; i < 3; ++i) Access::store_release(tiny.words[thread], i);
  }));
  CHECK(report.complete == 1);
  CHECK(report.exhausted);
  CHECK_FALSE(report.finding);
}

TEST_CASE("Stores to one word have every order") {
  Tiny tiny;
  auto const program = tiny.program(2, [&](int thread) {
    for (int i = 0; i < 3; ++i) Access::store_relaxed(*tiny.words, static_cast<Word>(thread));
  });
  CHECK(by_partial_order(program).complete == 20);  // 6 over 3
  Report const first_sight = by_bounded_search(program, 100);
  CHECK(first_sight.complete == 1 + 20);  // once to learn that the word is shared
  CHECK(by_bounded_search(program, 0).complete == 1 + 2);
  CHECK(by_bounded_search(program, 1).complete == 1 + 6);
}

// The benchmark "lastzero": (n + 3) * 2^(n - 2) executions that differ, for n writers.
TEST_CASE("The partial-order reduction explores each different execution once") {
  auto const last_zero = [](int writers) {
    Tiny tiny;
    return by_partial_order(tiny.program(writers + 1, [&tiny, writers](int thread) {
      if (thread == 0) {
        for (int i = writers; Access::load_relaxed(tiny.words[i]) != 0; --i) {
        }
      } else {
        Access::store_relaxed(tiny.words[thread], Access::load_relaxed(tiny.words[thread - 1]) + 1);
      }
    }));
  };
  CHECK(last_zero(2).complete == 5);
  CHECK(last_zero(3).complete == 12);
  CHECK(last_zero(4).complete == 28);
  CHECK(last_zero(5).complete == 64);
}

// Random little programs: the reduction must see what a search through all interleavings sees, no more and no
// less.
TEST_CASE("The partial-order reduction misses no outcome") {
  INFO("CHEVRON_TEST_SEED=" << seed());
  std::mt19937_64 random(seed());
  for (int program_number = 0; program_number < (sanitized ? 10 : 100); ++program_number) {
    Tiny tiny;
    int const threads = 2 + static_cast<int>(random() % 2);
    struct Action {
      enum { load, store, add, await } what;
      int word;
    };
    std::vector<std::vector<Action>> actions(static_cast<std::size_t>(threads));
    for (auto& of_thread : actions) {
      for (std::size_t i = 0, n = 2 + random() % 3; i < n; ++i) {
        auto const what = random() % 8;
        of_thread.push_back({what < 3   ? Action::load
                             : what < 6 ? Action::store
                             : what < 7 ? Action::add
                                        : Action::await,
                             static_cast<int>(random() % 2)});
      }
    }
    std::string seen[max_threads];
    std::set<std::string> outcomes;
    auto program = tiny.program(threads, [&](int thread) {
      Word next = static_cast<Word>(thread) * 10;
      std::string& mine = seen[thread];
      mine.clear();
      for (Action const& action : actions[static_cast<std::size_t>(thread)]) {
        Word& word = tiny.words[action.word];
        switch (action.what) {
          case Action::load:
            mine += std::to_string(Access::load_relaxed(word)) + " ";
            break;
          case Action::store:
            Access::store_relaxed(word, ++next);
            break;
          case Action::add:
            Execution::current().update(word, [](Word was) { return was + 100; });
            break;
          case Action::await:
            for (;;) {
              Word const value = Access::load_relaxed(word);
              mine += std::to_string(value) + " ";
              if (value >= 2) break;
              mine.resize(mine.size() - std::to_string(value).size() - 1);
              Access::pause(word);
            }
        }
      }
    });
    program.check = [&] {
      std::string outcome;
      for (int thread = 0; thread < threads; ++thread) outcome += seen[thread] + "; ";
      outcomes.insert(outcome + std::to_string(tiny.words[0]) + " " + std::to_string(tiny.words[1]));
      return std::string();
    };
    auto const reduced = by_partial_order(program);
    auto const by_reduction = std::exchange(outcomes, {});
    auto const searched = by_bounded_search(program, 1000);
    INFO("program " << program_number);
    CHECK(kind(reduced) == kind(searched));  // none, or a deadlock
    if (!searched.finding) CHECK(by_reduction == outcomes);
  }
}

TEST_CASE("A flag that is awaited has one execution, and orders data") {
  Tiny tiny;
  auto const program = tiny.program(2, [&](int thread) {
    if (thread == 0) {
      Access::writing(tiny.data, 8);
      Access::store_release(tiny.words[0], Word{1});
    } else {
      await(tiny.words[0], 1);
      Access::reading(tiny.data, 8);
    }
  });
  Report const report = by_partial_order(program);
  CHECK(report.complete == 1);
  CHECK_FALSE(report.finding);

  Weakened const store{.stores = Role::departure};
  Weakened const load{.loads = Role::departure};
  for (Weakened const& weakened : {store, load}) {
    CHECK(kind(by_partial_order(program, weakened)) == Finding::race);
    CHECK(kind(by_bounded_search(program, 0, weakened)) == Finding::race);
    CHECK(kind(by_random_walk(program, 1, weakened)) == Finding::race);
  }
}

TEST_CASE("A read races with a later write") {
  Tiny tiny;
  auto const program = [&](bool waits) {
    return tiny.program(2, [&tiny, waits](int thread) {
      if (thread == 0) {
        Access::reading(tiny.data, 8);
        Access::store_release(tiny.words[0], Word{1});
      } else {
        if (waits) await(tiny.words[0], 1);
        Access::writing(tiny.data + 4, 4);
      }
    });
  };
  CHECK_FALSE(by_partial_order(program(true)).finding);
  CHECK(kind(by_partial_order(program(false))) == Finding::race);
}

TEST_CASE("A non-temporal store needs its fence") {
  Tiny tiny;
  auto const program = tiny.program(2, [&](int thread) {
    if (thread == 0) {
      Access::writing_past_caches(tiny.data, 8);
      Access::non_temporal_fence();
      Access::store_release(tiny.words[0], Word{1});
    } else {
      await(tiny.words[0], 1);
      Access::reading(tiny.data, 8);
    }
  });
  CHECK_FALSE(by_partial_order(program).finding);
  CHECK(kind(by_partial_order(program, {.no_fences = true})) == Finding::race);
}

TEST_CASE("Two that wait for each other first are a deadlock") {
  Tiny tiny;
  Report const report = by_partial_order(tiny.program(2, [&](int thread) {
    await(tiny.words[1 - thread], 1);
    Access::store_release(tiny.words[thread], Word{1});
  }));
  CHECK(kind(report) == Finding::deadlock);
}

// What a single flag does when its writer does not wait for the reader.
TEST_CASE("A flag that is overwritten before it is seen is a deadlock in some executions") {
  Tiny tiny;
  auto const program = tiny.program(3, [&](int thread) {
    if (thread == 0) {
      Access::store_release(tiny.words[0], Word{1});
      Access::store_release(tiny.words[1], Word{1});
      Access::store_release(tiny.words[0], Word{2});
    } else {
      await(tiny.words[thread - 1], 1);
    }
  });
  CHECK(kind(by_partial_order(program)) == Finding::deadlock);
  CHECK(kind(by_bounded_search(program, 1)) == Finding::deadlock);
  CHECK(kind(by_random_walk(program, 100)) == Finding::deadlock);
}

// The order that the doorbell relies on: each stores, then looks at the other's word.
TEST_CASE("With store buffers, both may miss each other's store unless a fence is between") {
  Tiny tiny;
  auto const program = [&](bool buffers) {
    auto dekker = tiny.program(2, [&](int thread) {
      Access::store_relaxed(tiny.words[thread], Word{1});
      Access::store_load_fence();
      bool const missed = Access::load_relaxed(tiny.words[1 - thread]) == 0;
      Access::store_relaxed(tiny.words[2 + thread], Word{missed});
    });
    dekker.store_buffers = buffers;
    dekker.check = [&] { return std::string(tiny.words[2] + tiny.words[3] == 2 ? "both missed" : ""); };
    return dekker;
  };
  CHECK(by_partial_order(program(false)).complete == 3);
  CHECK_FALSE(by_partial_order(program(false)).finding);
  Report const fenced = by_partial_order(program(true));
  CHECK_FALSE(fenced.finding);
  CHECK(fenced.exhausted);
  CHECK(kind(by_partial_order(program(true), {.no_fences = true})) == Finding::wrong_result);
  CHECK(kind(by_random_walk(program(true), 200, {.no_fences = true})) == Finding::wrong_result);
}

TEST_CASE("A sleeper that nobody wakes is a deadlock") {
  Tiny tiny;
  auto& bell = *reinterpret_cast<std::uint32_t*>(tiny.words);
  auto const program = [&](bool rings) {
    return tiny.program(2, [&bell, rings](int thread) {
      if (thread == 0) {
        Execution::current().sleep_on(bell, 0);
      } else {
        if (rings) Access::increment(bell);
        Execution::current().wake(bell);
      }
    });
  };
  CHECK_FALSE(by_partial_order(program(true)).finding);
  CHECK(by_partial_order(program(true)).complete == 3);  // asleep before both, before the wake, not at all
  CHECK(kind(by_partial_order(program(false))) == Finding::deadlock);
}

TEST_CASE("An access to what belongs to nothing is found") {
  Tiny tiny;
  CHECK(kind(by_partial_order(tiny.program(1, [&](int) { Access::reading(tiny.data, 9); }))) ==
        Finding::stray_access);
  CHECK(kind(by_partial_order(tiny.program(1, [&](int) { Access::writing(tiny.words, 8); }))) ==
        Finding::stray_access);
  auto& outside = *reinterpret_cast<Word*>(tiny.data + 64);
  CHECK(kind(by_partial_order(tiny.program(1, [&](int) { Access::store_relaxed(outside, Word{1}); }))) ==
        Finding::stray_access);
  auto const unannounced = tiny.program(1, [&](int) { tiny.data[8] = std::byte{0}; });
  CHECK(kind(by_partial_order(unannounced)) == Finding::stray_access);
  tiny.data[8] = MemoryMap::fence;
}

TEST_CASE("A program that never ends is found") {
  Tiny tiny;
  CHECK(kind(by_partial_order(tiny.program(1, [&](int) {
          for (;;) Access::store_relaxed(tiny.words[0], Word{1});
        }))) == Finding::endless);
}

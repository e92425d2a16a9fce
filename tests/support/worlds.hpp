// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_WORLDS_HPP
#define CHEVRON_TESTS_SUPPORT_WORLDS_HPP

//! @file
//! Groups of threads and groups of processes behind one face, for tests of what must hold for both.

#include <chevron/collective/all_reduce.hpp>
#include <chevron/core/error.hpp>
#include <chevron/core/result.hpp>
#include <chevron/host/options.hpp>
#include <chevron/transport/host_shared_memory.hpp>
#include <chevron/transport/host_threads.hpp>

#include <support/processes.hpp>
#include <support/shared.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace chevron::test {

using Clock = std::chrono::steady_clock;

//! How a rank fared: the error it ended with, if any, and how long that took. Lives in shared memory.
struct Outcome {
  Errc code = Errc::ok;
  int culprit = -1;
  int reporter = -1;
  std::chrono::nanoseconds took{0};
  char message[300] = {};
  char complaint[300] = {};  //!< something that the test's body itself found wrong

  [[nodiscard]] bool good() const { return code == Errc::ok && complaint[0] == '\0'; }
  void complain(std::string const& text) {
    if (complaint[0] == '\0') std::snprintf(complaint, sizeof(complaint), "%s", text.c_str());
  }
  //! Notes an error, or that there was none.
  template <class Value>
  void note(Result<Value> const& result) {
    code = result ? Errc::ok : result.error().code;
    culprit = result ? -1 : result.error().rank;
    reporter = result ? -1 : result.error().reporter;
    std::snprintf(message, sizeof(message), "%s", result ? "" : result.error().message().c_str());
  }
  //! Notes that something before the test proper, with the same short deadline, came to nothing (see
  //! run_in_time).
  template <class Value>
  void note_no_test(Result<Value> const& result) {
    note(result);
    took = std::chrono::hours(1);
  }
};

//! A rank of a test: what its body gets.
template <class AGroup>
struct Seat {
  using Group = AGroup;
  static constexpr int ranks = Group::ranks;

  int rank;
  Group& group;
  Outcome& outcome;
  Meeting& meeting;

  //! Waits for all ranks of the test by other means than chevron.
  void meet() const {
    if (!meeting.wait(ranks)) outcome.complain("the other ranks of the test have not come");
  }
  //! Calls a function that returns a Result, notes it and the time it took.
  template <class Function>
  bool attempt(Function&& function) const {
    auto const before = Clock::now();
    auto const result = function();
    outcome.took = Clock::now() - before;
    outcome.note(result);
    return static_cast<bool>(result);
  }
};

template <int NRanks>
using Outcomes = std::array<Outcome, NRanks>;

//! Ranks that are threads. `run` may be called again: the same group is then joined anew.
template <int NRanks>
class ThreadWorld {
 public:
  using Group = HostThreads<NRanks>;
  using Comm = Communicator<Group>;
  static constexpr int ranks = NRanks;
  static constexpr bool one_address_space = true;

  //! Runs `body(seat)` on every rank.
  template <class Body>
  Outcomes<NRanks> run(Body&& body) {
    Outcomes<NRanks> outcomes;
    Meeting meeting;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < NRanks; ++rank) {
      threads.emplace_back([&, rank] {
        Seat<Group> seat{rank, group_, outcomes[static_cast<std::size_t>(rank)], meeting};
        body(seat);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
  }

 private:
  Group group_{};
};

//! Ranks that are processes, forked for every `run`, always under the same key.
template <int NRanks>
class ProcessWorld {
 public:
  using Group = HostSharedMemory<NRanks>;
  using Comm = Communicator<Group>;
  static constexpr int ranks = NRanks;
  static constexpr bool one_address_space = false;

  template <class Body>
  Outcomes<NRanks> run(Body&& body) {
    Shared<Outcomes<NRanks>> shared;
    Shared<Meeting> meeting;
    Children children;
    for (int rank = 0; rank < NRanks; ++rank) {
      children.start([&, rank] {
        Seat<Group> seat{rank, group_, (*shared)[static_cast<std::size_t>(rank)], *meeting};
        body(seat);
        return 0;
      });
    }
    auto const ended = children.wait(std::chrono::seconds(50));
    Outcomes<NRanks> outcomes = *shared;
    for (std::size_t rank = 0; rank < NRanks; ++rank) {
      if (!ended[rank].good()) outcomes[rank].complain(ended[rank].text());
    }
    return outcomes;
  }

 private:
  Group group_{SharedMemoryKey::random()};
};

//! For TEMPLATE_TEST_CASE: `typename TestType::template World<3>`.
struct OnThreads {
  template <int NRanks>
  using World = ThreadWorld<NRanks>;
};
struct OnProcesses {
  template <int NRanks>
  using World = ProcessWorld<NRanks>;
};

//! A sum of small integers through one algorithm; says what was wrong with it.
template <template <int, class, class, class> class Algorithm, class Comm>
Result<void> checked_sum(Comm const& communicator, std::size_t count, Outcome& outcome, int* in, int* out) {
  int const rank = communicator.rank();
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<int>(i % 1000) * (rank + 1) + rank;
  for (std::size_t i = 0; i < count; ++i) out[i] = -1;
  auto done = all_reduce<Algorithm<Comm::ranks, int, Sum, Identity>>(communicator, in, out, count);
  constexpr int ranks = Comm::ranks;
  for (std::size_t i = 0; done && i < count; ++i) {
    int const expected = static_cast<int>(i % 1000) * (ranks * (ranks + 1) / 2) + ranks * (ranks - 1) / 2;
    if (out[i] == expected) continue;
    outcome.complain("rank " + std::to_string(rank) + ": wrong sum at index " + std::to_string(i));
    break;
  }
  return done;
}

//! All algorithms once, with right results; the first error otherwise.
template <class Comm>
Result<void> work(Comm& communicator, Outcome& outcome, std::size_t count = 1000) {
  auto window = communicator.template allocate<int>(2 * count);
  if (!window) return window.error();
  std::vector<int> in(count);
  std::vector<int> out(count);
  if (auto done = checked_sum<OneShotPush>(communicator, count, outcome, in.data(), out.data()); !done)
    return done;
  if (auto done = checked_sum<ReduceScatterAllGather>(communicator, count, outcome, in.data(), out.data());
      !done) {
    return done;
  }
  if (auto done = checked_sum<TwoShotPush>(communicator, count, outcome, in.data(), out.data()); !done)
    return done;
  int* const in_window = window->data();
  if (auto done = checked_sum<OneShotPull>(communicator, count, outcome, in_window, in_window + count);
      !done) {
    return done;
  }
  if (auto done =
          checked_sum<ReduceScatterAllGatherPush>(communicator, count, outcome, in_window, in_window + count);
      !done) {
    return done;
  }
  return checked_sum<ReduceScatterAllGatherZeroCopy>(communicator, count, outcome, in_window,
                                                     in_window + count);
}

//! What is wrong when all ranks of a world join and work as they should; empty when nothing is.
template <class World>
std::string complaint_of(World& world, Options const& options = {}) {
  auto const outcomes = world.run([&](auto& seat) {
    seat.attempt([&]() -> Result<void> {
      auto communicator = seat.group.join(seat.rank, options);
      if (!communicator) return communicator.error();
      auto done = work(*communicator, seat.outcome);
      seat.meet();
      return done;
    });
  });
  std::string text;
  for (Outcome const& outcome : outcomes) {
    if (!outcome.good()) text += std::string(outcome.message) + " " + outcome.complaint + "\n";
  }
  return text;
}

//! All outcomes, for INFO.
template <std::size_t NRanks>
std::string text_of(std::array<Outcome, NRanks> const& outcomes) {
  std::string text;
  for (std::size_t rank = 0; rank < NRanks; ++rank) {
    Outcome const& outcome = outcomes[rank];
    text += "rank " + std::to_string(rank) + ": " +
            (outcome.code == Errc::ok ? "no error" : outcome.message) + " (" +
            std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(outcome.took).count()) +
            " ms) " + outcome.complaint + "\n";
  }
  return text;
}

//! Runs a test whose ranks are to wait out a short deadline; again when the machine was so busy that one of
//! them was held up for long, so that its peers had to take it for the one that is missing.
template <class World, class Body>
auto run_in_time(World& world, std::chrono::milliseconds deadline, Body&& body) {
  for (int attempt = 1;; ++attempt) {
    auto const outcomes = world.run(body);
    std::chrono::nanoseconds longest{0};
    for (Outcome const& outcome : outcomes) longest = outcome.took > longest ? outcome.took : longest;
    if (longest < deadline + std::chrono::milliseconds(100) || attempt == 10) return outcomes;
  }
}

//! How much later than it should a thread may be on a busy machine.
inline constexpr std::chrono::seconds slack{4};

//! For what must not wait for anything: longer than any delay of a busy machine, shorter than `patient`.
inline constexpr std::chrono::seconds at_once{10};

inline Options patient() { return {.deadline = std::chrono::seconds(40)}; }
inline Options impatient() { return {.deadline = std::chrono::milliseconds(300)}; }

}  // namespace chevron::test

#endif

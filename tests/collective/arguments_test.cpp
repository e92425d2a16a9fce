// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one rank finds wrong with its own arguments becomes an error on all ranks, at once; and what no rank
// can find alone, buffers of two ranks that overlap, is found as well.
#include <support/catch.hpp>
#include <support/failures.hpp>
#include <support/watchdog.hpp>
#include <support/worlds.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace {

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

constexpr int ranks = 3;
constexpr std::size_t count = 1000;
using Push = OneShotPush<ranks, int>;
using Staged = ReduceScatterAllGather<ranks, int>;
using ZeroCopy = ReduceScatterAllGatherZeroCopy<ranks, int>;
using PushRsag = ReduceScatterAllGatherPush<ranks, int>;
using Pull = OneShotPull<ranks, int>;
using TwoShot = TwoShotPush<ranks, int>;

//! All ranks call with good arguments, but rank `odd` with `bad(communicator, in, out)`.
template <class World, class Bad>
auto with_bad_arguments(World& world, int odd, Bad&& bad) {
  return world.run([&](auto& seat) {
    std::vector<int> in(2 * count);
    std::vector<int> out(2 * count);
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    fail_for_good(seat, *communicator, [&]() -> Result<void> {
      if (seat.rank == odd) return bad(*communicator, in.data(), out.data());
      return all_reduce<Staged>(*communicator, in.data(), out.data(), count);
    });
    seat.meet();
  });
}

template <class World>
void require_refusal(Errc code, Result<void> (*bad)(typename World::Comm const&, int* in, int* out)) {
  World world;
  for (int odd = 0; odd < ranks; ++odd) {
    auto const outcomes = with_bad_arguments(world, odd, bad);
    require_failure(outcomes, code, odd);
    REQUIRE(complaint_of(world) == "");
  }
}

//! `offset` bytes further on, whatever alignment that has.
int* shifted(int* pointer, std::size_t offset) {
  return reinterpret_cast<int*>(reinterpret_cast<std::uintptr_t>(pointer) + offset);
}

TEMPLATE_TEST_CASE("a null pointer", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "a null pointer");
  using World = typename TestType::template World<ranks>;
  using Comm = typename World::Comm;
  require_refusal<World>(Errc::null_pointer, [](Comm const& communicator, int* in, int*) {
    return all_reduce<Staged>(communicator, in, static_cast<int*>(nullptr), count);
  });
  require_refusal<World>(Errc::null_pointer, [](Comm const& communicator, int*, int* out) {
    return all_reduce<Staged>(communicator, nullptr, out, count);
  });
}

TEMPLATE_TEST_CASE("a pointer that is not aligned to the element", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "a misaligned pointer");
  using World = typename TestType::template World<ranks>;
  using Comm = typename World::Comm;
  require_refusal<World>(Errc::misaligned, [](Comm const& communicator, int* in, int* out) {
    return all_reduce<Staged>(communicator, shifted(in, 2), out, count);
  });
  require_refusal<World>(Errc::misaligned, [](Comm const& communicator, int* in, int* out) {
    return all_reduce<Staged>(communicator, in, shifted(out, 1), count);
  });
}

TEMPLATE_TEST_CASE("a count whose bytes do not fit", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "a count that overflows");
  using World = typename TestType::template World<ranks>;
  using Comm = typename World::Comm;
  require_refusal<World>(Errc::size_overflow, [](Comm const& communicator, int* in, int* out) {
    return all_reduce<Staged>(communicator, in, out, std::numeric_limits<std::size_t>::max());
  });
  require_refusal<World>(Errc::size_overflow, [](Comm const& communicator, int* in, int* out) {
    return all_reduce<Staged>(communicator, in, out,
                              std::numeric_limits<std::size_t>::max() / sizeof(int) + 2);
  });
  require_refusal<World>(Errc::size_overflow, [](Comm const& communicator, int* in, int*) {
    auto const end = reinterpret_cast<int*>(~std::uintptr_t{0} - 4095);
    return all_reduce<Staged>(communicator, in, end, 4096);
  });
}

TEMPLATE_TEST_CASE("input and output that overlap in part", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "buffers that overlap");
  using World = typename TestType::template World<ranks>;
  using Comm = typename World::Comm;
  require_refusal<World>(Errc::buffers_overlap, [](Comm const& communicator, int* in, int*) {
    return all_reduce<Staged>(communicator, in, in + 1, count);
  });
  require_refusal<World>(Errc::buffers_overlap, [](Comm const& communicator, int* in, int*) {
    return all_reduce<Staged>(communicator, in + count - 1, in, count);
  });
}

TEMPLATE_TEST_CASE("spans of different sizes", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "spans of different sizes");
  using World = typename TestType::template World<ranks>;
  using Comm = typename World::Comm;
  require_refusal<World>(Errc::bad_argument, [](Comm const& communicator, int* in, int* out) {
    return all_reduce<Staged>(communicator, std::span<int const>(in, count), std::span<int>(out, count - 1));
  });
}

TEMPLATE_TEST_CASE("buffers that only touch are fine", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "buffers that touch");
  typename TestType::template World<ranks> world;
  auto const outcomes = world.run([](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    std::vector<int> data(2 * count);
    seat.attempt([&]() -> Result<void> {
      auto done = checked_sum<ReduceScatterAllGather>(*communicator, count, seat.outcome, data.data(),
                                                      data.data() + count);
      if (!done) return done;
      int* const first = data.data();
      int* const second = data.data() + count;
      done = checked_sum<OneShotPush>(*communicator, count, seat.outcome, second, first);
      if (!done) return done;
      return checked_sum<TwoShotPush>(*communicator, count, seat.outcome, first, second);
    });
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

TEMPLATE_TEST_CASE("null pointers are fine where there is nothing", "", OnThreads, OnProcesses) {
  Watchdog const watchdog(60s, "nothing at null");
  typename TestType::template World<ranks> world;
  auto const outcomes = world.run([](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    // Only some ranks pass null, and not for the same buffer.
    int something[2] = {7, 8};
    int* const in = seat.rank == 0 ? nullptr : something;
    int* const out = seat.rank != 1 ? nullptr : something + 1;
    seat.attempt([&]() -> Result<void> {
      if (auto done = all_reduce<Push>(*communicator, in, out, 0); !done) return done;
      if (auto done = all_reduce<TwoShot>(*communicator, in, out, 0); !done) return done;
      if (auto done = all_reduce<Staged>(*communicator, in, out, 0); !done) return done;
      if (auto done = all_reduce<Pull>(*communicator, in, out, 0); !done) return done;
      if (auto done = all_reduce<PushRsag>(*communicator, in, out, 0); !done) return done;
      return all_reduce<ZeroCopy>(*communicator, in, out, 0);
    });
    if (something[0] != 7 || something[1] != 8)
      seat.outcome.complain("a call for no elements wrote something");
    seat.meet();
  });
  INFO(text_of(outcomes));
  for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
}

//! Each rank's buffers, out of memory that all ranks share.
struct Buffers {
  int* in;
  int* out;
};

//! An algorithm on windows, on buffers that `place(rank, memory)` chooses: the same ones twice, so the ranks have to agree.
template <class Algorithm>
void require_overlap_is_found(Buffers (*place)(int rank, int* memory), bool is_refused) {
  ThreadWorld<ranks> world;
  std::vector<int> memory(10 * count);
  auto const outcomes = world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    Buffers const mine = place(seat.rank, memory.data());
    auto const call = [&] { return all_reduce<Algorithm>(*communicator, mine.in, mine.out, count); };
    if (is_refused)
      fail_for_good(seat, *communicator, call);
    else
      seat.attempt(call);
    seat.meet();
  });
  if (is_refused) {
    require_failure_of_anyone(outcomes, Errc::buffers_overlap);
    REQUIRE(complaint_of(world) == "");
  } else {
    INFO(text_of(outcomes));
    for (Outcome const& outcome : outcomes) REQUIRE(outcome.good());
  }
}

TEMPLATE_TEST_CASE("a rank's output that overlaps a peer's buffer is refused where ranks use each other's",
                   "", ZeroCopy, Pull, PushRsag) {
  Watchdog const watchdog(60s, "ranks whose buffers overlap");
  SECTION("the output of one is the input of another") {
    require_overlap_is_found<TestType>(
        [](int rank, int* memory) {
          auto const at = static_cast<std::size_t>(rank) * 2 * count;
          return Buffers{memory + at, rank == 0 ? memory + 2 * count : memory + at + count};
        },
        true);
  }
  SECTION("one element of it") {
    require_overlap_is_found<TestType>(
        [](int rank, int* memory) {
          auto const at = static_cast<std::size_t>(rank) * 2 * count;
          return Buffers{memory + at, rank == 1 ? memory + at + count + 1 : memory + at + count};
        },
        true);
  }
  SECTION("all have the same output") {
    require_overlap_is_found<TestType>(
        [](int rank, int* memory) {
          return Buffers{memory + static_cast<std::size_t>(rank) * count, memory + 9 * count};
        },
        true);
  }
  SECTION("two share all they have, in place") {
    require_overlap_is_found<TestType>(
        [](int rank, int* memory) {
          int* const shared = memory + (rank == 2 ? count : 0);
          return Buffers{shared, shared};
        },
        true);
  }
  SECTION("two may read the same input") {
    require_overlap_is_found<TestType>(
        [](int rank, int* memory) {
          return Buffers{memory, memory + static_cast<std::size_t>(rank + 1) * count};
        },
        false);
  }
}

TEMPLATE_TEST_CASE("between processes, a buffer in no window is refused, and the rank named", "", ZeroCopy,
                   Pull, PushRsag) {
  Watchdog const watchdog(60s, "zero copy without a window");
  ProcessWorld<ranks> world;
  for (int odd = 0; odd < ranks; ++odd) {
    auto const outcomes = world.run([&](auto& seat) {
      auto communicator = seat.group.join(seat.rank, patient());
      if (!communicator) return seat.outcome.note(communicator);
      auto window = communicator->template allocate<int>(2 * count);
      if (!window) return seat.outcome.note(window);
      std::vector<int> plain(count);
      fail_for_good(seat, *communicator, [&] {
        int* const out = seat.rank == odd ? plain.data() : window->data() + count;
        return all_reduce<TestType>(*communicator, window->data(), out, count);
      });
      seat.meet();
    });
    require_failure(outcomes, Errc::not_in_window, odd);
  }
  // A buffer that begins in a window and goes on beyond it lies in none.
  auto const outcomes = world.run([&](auto& seat) {
    auto communicator = seat.group.join(seat.rank, patient());
    if (!communicator) return seat.outcome.note(communicator);
    auto window = communicator->template allocate<int>(count + (seat.rank == 1 ? 0 : 1));
    if (!window) return seat.outcome.note(window);
    fail_for_good(seat, *communicator, [&] {
      return all_reduce<TestType>(*communicator, window->data() + 1, window->data() + 1, count);
    });
    seat.meet();
  });
  require_failure(outcomes, Errc::not_in_window, 1);
  REQUIRE(complaint_of(world) == "");
}

}  // namespace

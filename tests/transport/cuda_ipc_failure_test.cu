// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that do not come, that leave and that are killed: the others get an error that names them, in time, and their device
// works as before.
#include <transport/cuda_ipc_ranks.cuh>

#include <signal.h>

#include <thread>

namespace {

using namespace chevron;
using namespace chevron::test;
using Clock = std::chrono::steady_clock;

constexpr std::size_t count = 5000;
constexpr auto deadline = 3s;
constexpr auto slack = 3s;
constexpr auto call_deadline = 6s;

template <int NRanks>
using Push = OneShotPush<NRanks, float>;
template <int NRanks>
using ZeroCopy = ReduceScatterAllGatherZeroCopy<NRanks, float>;

//! Joins with time enough for the devices to come up; the calls have the same deadline.
CudaOptions hasty(std::chrono::milliseconds limit = deadline) { return {.deadline = limit, .lanes = 4}; }

TEST_CASE("a rank that does not come is named") {
  in_processes<3>([](auto& rank) {
    if (rank.rank() == 1) return;
    auto const begin = Clock::now();
    auto const joined = rank.template try_join<Push<3>>(hasty(1s));
    (void)rank.failed_so(joined, Errc::timeout, 1, begin + 1s + slack, "joining");
  });
}

TEST_CASE("a rank that is killed while it joins is named") {
  for (auto const after : {1ms, 50ms, 200ms, 500ms, 1000ms}) {
    in_processes<2>(
        [&](auto& rank) {
          if (rank.rank() == 1) {
            std::thread([&] {
              nap(after);
              ::raise(SIGKILL);
            }).detach();
          }
          auto const begin = Clock::now();
          auto const joined = rank.template try_join<Push<2>>(hasty());
          if (rank.rank() == 1) {
            nap(10s);
            return;
          }
          if (joined) return;  // it lived long enough
          Errc const code = joined.error().code == Errc::peer_died ? Errc::peer_died : Errc::timeout;
          (void)(rank.failed_so(joined, code, 1, begin + deadline + slack, "joining") && rank.device_works());
        },
        1);
  }
}

TEST_CASE("a device that does not exist is told on all ranks") {
  need_device();
  Shared<Stage> stage;
  Children children;
  for (int r = 0; r < 2; ++r) {
    children.start([&] {
      IpcRank<2> rank(*stage, r, r == 1 ? 1000 : device_of(r));
      auto const joined = rank.template try_join<Push<2>>(hasty(20s));
      return rank.failed_so(joined, Errc::no_device, 1, Clock::now() + 1s, "joining") ? 0 : 1;
    });
  }
  auto const ended = children.wait(60s);
  INFO(stage->verdict.text());
  REQUIRE((ended[0].good() && ended[1].good()));
}

TEST_CASE("different numbers of lanes are told on all ranks") {
  in_processes<2>([](auto& rank) {
    auto const joined = rank.template try_join<Push<2>>({.deadline = 20s, .lanes = 2 + rank.rank()});
    (void)rank.failed_so(joined, Errc::lanes_mismatch, 1, Clock::now() + 1s, "joining");
  });
}

//! Plays a good call on windows; then `leave(rank)` on the last rank, while the others make a call that it does not.
template <int NRanks, class Choice, class Leave>
void play(Errc code, int victim, Leave&& leave) {
  in_processes<NRanks>(
      [&](auto& rank) {
        if (!rank.template join<Choice>(hasty(call_deadline))) return;
        {
          auto in = rank.communicator().template allocate<float>(count + 64);
          auto out = rank.communicator().template allocate<float>(count + 64);
          if (!rank.good(in, "a window") || !rank.good(out, "a window")) return;
          if (!rank.template reduce<Choice>(in->data(), out->data(), count, "a good call")) return;
          if (!rank.meet()) return;
          if (rank.rank() != NRanks - 1) {
            bool const failed =
                rank.template must_fail<Choice>(in->data(), out->data(), count, code, NRanks - 1,
                                                call_deadline + slack, "a call without the last rank");
            if (failed) (void)rank.device_works();
            return;
          }
        }
        leave(rank);
      },
      victim);
}

TEST_CASE("a rank that makes no call is named when the deadline is over") {
  // It stays until the others have found out.
  play<2, Push<2>>(Errc::timeout, -1, [](auto&) { nap(call_deadline + slack + 1s); });
  play<3, ZeroCopy<3>>(Errc::timeout, -1, [](auto&) { nap(call_deadline + slack + 1s); });
}

TEST_CASE("a rank that has left is named, and its memory does no harm") {
  play<2, Push<2>>(Errc::timeout, -1, [](auto& rank) {
    rank.leave();
    nap(call_deadline + slack + 1s);
  });
  play<3, ZeroCopy<3>>(Errc::timeout, -1, [](auto& rank) {
    rank.leave();
    nap(call_deadline + slack + 1s);
  });
}

TEST_CASE("a rank whose process has been killed is named as dead") {
  play<2, Push<2>>(Errc::peer_died, 1, [](auto&) { ::raise(SIGKILL); });
  play<3, ZeroCopy<3>>(Errc::peer_died, 2, [](auto&) { ::raise(SIGKILL); });
}

TEST_CASE("an abort ends the calls of all ranks") {
  in_processes<2>([](auto& rank) {
    if (!rank.template join<Push<2>>(hasty(20s))) return;
    auto window = rank.communicator().template allocate<float>(count + 64);
    if (!rank.good(window, "a window")) return;
    if (!rank.template reduce<Push<2>>(window->data(), window->data(), count, "a good call")) return;
    if (!rank.meet()) return;
    if (rank.rank() == 1) {
      nap(300ms);
      rank.communicator().abort();
      return (void)rank.meet();
    }
    (void)(rank.template must_fail<Push<2>>(window->data(), window->data(), count, Errc::aborted, 1, 5s,
                                            "a call that is aborted") &&
           rank.device_works() && rank.meet());
  });
}

// Last, since it may upset what ranks share under CUDA MPS: a client that is killed while its kernel runs.
TEST_CASE("a rank whose process is killed inside a call is named as dead") {
  in_processes<2>(
      [](auto& rank) {
        if (!rank.template join<ZeroCopy<2>>(hasty(call_deadline))) return;
        auto window = rank.communicator().template allocate<float>(count + 64);
        if (!rank.good(window, "a window")) return;
        if (!rank.template reduce<ZeroCopy<2>>(window->data(), window->data(), count, "a good call")) return;
        if (!rank.meet()) return;
        if (rank.rank() == 1) {
          // Waits for the other rank, which comes later.
          (void)all_reduce<ZeroCopy<2>>(rank.communicator(), window->data(), window->data(), count,
                                        rank.stream());
          nap(200ms);
          ::raise(SIGKILL);
        }
        nap(2s);
        // The dead rank has arrived, and never departs.
        (void)(rank.template must_fail<ZeroCopy<2>>(window->data(), window->data(), count, Errc::peer_died, 1,
                                                    call_deadline + slack, "a call with a dead rank") &&
               rank.device_works());
      },
      1);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NCCL's interface on devices, with no NCCL behind it: ranks of one thread and threads; groups, graphs, made
// operations, windows, aborts. CHEVRON_TEST_DEVICES lists the ranks' devices, else all are on device 0.
#include <chevron/nccl/cuda_backend.cuh>
#include <chevron/nccl/exports.cuh>

#include <support/catch.hpp>
#include <support/device.cuh>
#include <support/processes.hpp>
#include <support/watchdog.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using namespace chevron;
using namespace chevron::test;
using namespace std::chrono_literals;

namespace {

struct Few {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{
        Row{.bytes = {0, 16 << 10}, .policy = {one_shot_push}},
        Row{.in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};
using Ranks = RankCounts<2, 3>;
using Calls = Selector<Few, Ranks, Elements<float, std::int32_t>, Operations<Sum, Max, Avg>>;

}  // namespace

nccl::Backend& nccl::backend() {
  static CudaBackend<Ranks, cuda::thread_scope_system, Calls> backend;
  return backend;
}

namespace {

//! A rank of the test's own process.
struct Rank {
  ncclComm_t comm = nullptr;
  int device;
  Stream stream;

  explicit Rank(int number) : device(device_of(number)), stream(device_of(number)) {}
};

std::vector<Rank> ranks_of_one_thread(int count) {
  std::vector<Rank> ranks;
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (int rank = 0; rank < count; ++rank) ranks.emplace_back(rank);
  for (int rank = 0; rank < count; ++rank) {
    Rank& mine = ranks[static_cast<std::size_t>(rank)];
    must(cudaSetDevice(mine.device), "choosing a device");
    REQUIRE(ncclCommInitRank(&mine.comm, count, id, rank) == ncclSuccess);
  }
  INFO(ncclGetLastError(nullptr));
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  return ranks;
}
void leave(std::vector<Rank> const& ranks) {
  for (Rank const& rank : ranks) CHECK(ncclCommDestroy(rank.comm) == ncclSuccess);
}
void wait(std::vector<Rank> const& ranks) {
  for (Rank const& rank : ranks) {
    rank.stream.wait();
    ncclResult_t state = ncclInternalError;
    REQUIRE((ncclCommGetAsyncError(rank.comm, &state) == ncclSuccess && state == ncclSuccess));
  }
}

//! Small whole numbers that depend on rank and position.
float value_at(int rank, std::size_t at) { return static_cast<float>((at * 7 + static_cast<std::size_t>(rank) * 3) % 97); }
std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = value_at(rank, i);
  return values;
}
float sum_at(int ranks, std::size_t at) {
  float sum = 0;
  for (int rank = 0; rank < ranks; ++rank) sum += value_at(rank, at);
  return sum;
}

//! Where ranks have buffers with room on both sides.
struct Buffers {
  static constexpr std::size_t margin = 5;
  static constexpr float canary = -7.5f;
  std::vector<DeviceBuffer<float>> in{};
  std::vector<DeviceBuffer<float>> out{};

  Buffers(std::vector<Rank> const& ranks, std::size_t count) {
    int number = 0;
    for (Rank const& rank : ranks) {
      in.emplace_back(values_of(number++, count), rank.device);
      out.emplace_back(std::vector<float>(count + 2 * margin, canary), rank.device);
    }
  }
};

}  // namespace

TEST_CASE("sums of ranks of one thread, in groups, at any alignment, in place and out of place") {
  need_device();
  Watchdog const watchdog(120s, "sums of ranks of one thread");
  for (int const count_of_ranks : {2, 3}) {
    auto const ranks = ranks_of_one_thread(count_of_ranks);
    for (std::size_t const count : {0u, 1u, 3u, 1000u, 65'537u, 1u << 20}) {
      for (bool const in_place : {false, true}) {
        CAPTURE(count_of_ranks, count, in_place);
        Buffers const buffers(ranks, count);
        auto const place = [&](std::size_t r) { return buffers.out[r].data() + Buffers::margin; };
        if (in_place) {
          for (std::size_t r = 0; r < ranks.size(); ++r) buffers.out[r].set(Buffers::margin, buffers.in[r].values());
        }
        REQUIRE(ncclGroupStart() == ncclSuccess);
        for (std::size_t r = 0; r < ranks.size(); ++r) {
          REQUIRE(ncclAllReduce(in_place ? place(r) : buffers.in[r].data(), place(r), count, ncclFloat, ncclSum,
                                ranks[r].comm, ranks[r].stream) == ncclSuccess);
        }
        REQUIRE(ncclGroupEnd() == ncclSuccess);
        wait(ranks);
        for (auto const& buffer : buffers.out) {
          auto const values = buffer.values();
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < values.size(); ++i) {
            bool const inside = i >= Buffers::margin && i < Buffers::margin + count;
            float const want = inside ? sum_at(count_of_ranks, i - Buffers::margin) : Buffers::canary;
            wrong += values[i] != want;
          }
          REQUIRE(wrong == 0);
        }
      }
    }
    leave(ranks);
  }
}

TEST_CASE("ranks that are threads, each on its own") {
  need_device();
  Watchdog const watchdog(60s, "ranks that are threads");
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  constexpr std::size_t count = 10'000;
  std::array<bool, 3> good{};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      must(cudaSetDevice(device_of(rank)), "choosing a device");
      Rank mine(rank);
      DeviceBuffer<float> const data(values_of(rank, count), mine.device);
      bool fine = ncclCommInitRank(&mine.comm, 3, id, rank) == ncclSuccess;
      for (int i = 0; i < 2 && fine; ++i) {
        fine = ncclAllReduce(data.data(), data.data(), count, ncclFloat, i == 0 ? ncclSum : ncclMax, mine.comm,
                             mine.stream) == ncclSuccess;
      }
      mine.stream.wait();
      auto const values = data.values();
      for (std::size_t i = 0; i < count && fine; ++i) fine = values[i] == sum_at(3, i);
      good[static_cast<std::size_t>(rank)] = ncclCommDestroy(mine.comm) == ncclSuccess && fine;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK((good[0] && good[1] && good[2]));
}

TEST_CASE("a captured group, replayed") {
  need_device();
  Watchdog const watchdog(60s, "a captured group");
  auto const ranks = ranks_of_one_thread(2);
  constexpr std::size_t count = 300'000;
  Buffers const buffers(ranks, count);
  std::vector<Graph> graphs;
  for (std::size_t r = 0; r < 2; ++r) {
    graphs.emplace_back(ranks[r].stream, [&] {
      REQUIRE(ncclAllReduce(buffers.in[r].data(), buffers.out[r].data(), count, ncclFloat, ncclSum, ranks[r].comm,
                            ranks[r].stream) == ncclSuccess);
      REQUIRE(ncclAllReduce(buffers.out[r].data(), buffers.in[r].data(), count, ncclFloat, ncclAvg, ranks[r].comm,
                            ranks[r].stream) == ncclSuccess);
    });
  }
  for (int i = 0; i < 100; ++i) {
    for (std::size_t r = 0; r < 2; ++r) graphs[r].launch(ranks[r].stream);
  }
  wait(ranks);
  // After the first round both ranks have the sum; each further round doubles it, 99 times.
  for (auto const& buffer : buffers.in) {
    auto const values = buffer.values();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += values[i] != std::ldexp(sum_at(2, i), 99);
    CHECK(wrong == 0);
  }
  graphs.clear();
  leave(ranks);
}

TEST_CASE("a premultiplied sum, its factor on the host or on the device") {
  need_device();
  Watchdog const watchdog(60s, "a premultiplied sum");
  auto const ranks = ranks_of_one_thread(2);
  constexpr std::size_t count = 5000;
  for (bool const on_device : {false, true}) {
    Buffers const buffers(ranks, count);
    std::array<ncclRedOp_t, 2> operations{};
    std::vector<DeviceBuffer<float>> factors;
    for (std::size_t r = 0; r < 2; ++r) {
      float factor = r == 0 ? 2.0f : 0.5f;
      factors.emplace_back(std::vector{factor}, ranks[r].device);
      REQUIRE(ncclRedOpCreatePreMulSum(&operations[r], on_device ? factors[r].data() : &factor, ncclFloat,
                                       on_device ? ncclScalarDevice : ncclScalarHostImmediate,
                                       ranks[r].comm) == ncclSuccess);
    }
    for (std::size_t r = 0; r < 2; ++r) {
      REQUIRE(ncclAllReduce(buffers.in[r].data(), buffers.out[r].data(), count, ncclFloat, operations[r], ranks[r].comm,
                            ranks[r].stream) == ncclSuccess);
      CHECK(ncclRedOpDestroy(operations[r], ranks[r].comm) == ncclSuccess);
    }
    wait(ranks);
    for (std::size_t r = 0; r < 2; ++r) {
      auto const values = buffers.out[r].values();
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i) wrong += values[i] != value_at(0, i) * 2.0f + value_at(1, i) * 0.5f;
      CHECK(wrong == 0);
      CHECK(buffers.in[r].values() == values_of(static_cast<int>(r), count));
    }
  }
  leave(ranks);
}

TEST_CASE("registered buffers become windows") {
  need_device();
  Watchdog const watchdog(60s, "registered buffers");
  auto const ranks = ranks_of_one_thread(2);
  constexpr std::size_t count = 100'000;
  std::array<void*, 2> data{};
  std::array<ncclWindow_t, 2> windows{};
  std::array<void*, 2> handles{};
  for (std::size_t r = 0; r < 2; ++r) {
    DeviceGuard const guard(ranks[r].device);
    REQUIRE(ncclMemAlloc(&data[r], count * sizeof(float)) == ncclSuccess);
    auto const values = values_of(static_cast<int>(r), count);
    must(cudaMemcpy(data[r], values.data(), count * sizeof(float), cudaMemcpyHostToDevice), "writing");
  }
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (std::size_t r = 0; r < 2; ++r) {
    REQUIRE(ncclCommWindowRegister(ranks[r].comm, data[r], count * sizeof(float), &windows[r],
                                   NCCL_WIN_COLL_SYMMETRIC) == ncclSuccess);
  }
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  for (std::size_t r = 0; r < 2; ++r) {
    CHECK(windows[r] != nullptr);
    REQUIRE(ncclCommRegister(ranks[r].comm, data[r], count * sizeof(float), &handles[r]) == ncclSuccess);
    CHECK(ranks[r].comm->windows.size() == 2);
    REQUIRE(ncclAllReduce(data[r], data[r], count, ncclFloat, ncclSum, ranks[r].comm, ranks[r].stream) == ncclSuccess);
  }
  wait(ranks);
  for (std::size_t r = 0; r < 2; ++r) {
    std::vector<float> values(count);
    must(cudaMemcpy(values.data(), data[r], count * sizeof(float), cudaMemcpyDeviceToHost), "reading");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) wrong += values[i] != sum_at(2, i);
    CHECK(wrong == 0);
    CHECK(ncclCommDeregister(ranks[r].comm, handles[r]) == ncclSuccess);
    CHECK(ncclCommWindowDeregister(ranks[r].comm, windows[r]) == ncclSuccess);
    CHECK(ranks[r].comm->windows.empty());
  }
  leave(ranks);
  for (void* const each : data) CHECK(ncclMemFree(each) == ncclSuccess);
}

TEST_CASE("a split, and communicators of one rank") {
  need_device();
  Watchdog const watchdog(60s, "a split");
  auto const ranks = ranks_of_one_thread(3);
  std::array<ncclComm_t, 3> parts{};
  REQUIRE(ncclGroupStart() == ncclSuccess);
  for (std::size_t r = 0; r < 3; ++r) {
    REQUIRE(ncclCommSplit(ranks[r].comm, r == 1 ? 1 : 0, 0, &parts[r], nullptr) == ncclSuccess);
  }
  REQUIRE(ncclGroupEnd() == ncclSuccess);
  Buffers const buffers(ranks, 3000);
  for (std::size_t r = 0; r < 3; ++r) {
    REQUIRE(ncclAllReduce(buffers.in[r].data(), buffers.out[r].data(), 3000, ncclFloat, ncclSum, parts[r],
                          ranks[r].stream) == ncclSuccess);
  }
  wait(ranks);
  for (std::size_t r = 0; r < 3; ++r) {
    auto const values = buffers.out[r].values();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < 3000; ++i) {
      wrong += values[i] != (r == 1 ? value_at(1, i) : value_at(0, i) + value_at(2, i));
    }
    CHECK(wrong == 0);
    CHECK(ncclCommDestroy(parts[r]) == ncclSuccess);
  }
  leave(ranks);
}

TEST_CASE("an abort ends a call that waits, and every rank knows") {
  need_device();
  Watchdog const watchdog(60s, "an abort");
  for (int const by : {0, 1}) {
    auto const ranks = ranks_of_one_thread(2);
    Buffers const buffers(ranks, 1000);
    REQUIRE(ncclAllReduce(buffers.in[0].data(), buffers.out[0].data(), 1000, ncclFloat, ncclSum, ranks[0].comm,
                          ranks[0].stream) == ncclSuccess);
    nap(100ms);
    CHECK(cudaStreamQuery(ranks[0].stream) == cudaErrorNotReady);
    auto const began = std::chrono::steady_clock::now();
    auto const other = static_cast<std::size_t>(1 - by);
    CHECK(ncclCommAbort(ranks[static_cast<std::size_t>(by)].comm) == ncclSuccess);
    ranks[0].stream.wait();
    CHECK(std::chrono::steady_clock::now() - began < 5s);
    ncclResult_t state = ncclSuccess;
    CHECK((ncclCommGetAsyncError(ranks[other].comm, &state) == ncclSuccess && state == ncclRemoteError));
    CHECK(ncclCommDestroy(ranks[other].comm) == ncclSuccess);
  }
  CHECK(trouble_with_device() == "");
}

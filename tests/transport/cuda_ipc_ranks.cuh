// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_TRANSPORT_CUDA_IPC_RANKS_CUH
#define CHEVRON_TESTS_TRANSPORT_CUDA_IPC_RANKS_CUH

//! @file
//! Ranks that are processes with a device, on those that CHEVRON_TEST_DEVICES lists, else on device 0. The test's own process
//! never uses CUDA, since a fork after that is of no use.

#include <chevron/chevron.cuh>

#include <support/catch.hpp>
#include <support/data.hpp>
#include <support/processes.hpp>
#include <support/rank_devices.hpp>
#include <support/reference.hpp>
#include <support/seed.hpp>
#include <support/shared.hpp>
#include <support/watchdog.hpp>

#include <cuda_runtime.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

using namespace std::chrono_literals;

//! Devices of this machine, asked for in a child. Ends the test as skipped where there is none.
inline int need_device() {
  static int const devices = [] {
    Shared<std::atomic<int>> found;
    Children children;
    children.start([&] {
      int count = 0;
      if (cudaGetDeviceCount(&count) == cudaSuccess) *found = count;
      return 0;
    });
    (void)children.wait(60s);
    return found->load();
  }();
  if (devices == 0) {
    std::puts("skipped: there is no CUDA device");
    std::exit(77);
  }
  for (int const device : listed_devices()) {
    if (device >= 0 && device < devices) continue;
    std::printf("CHEVRON_TEST_DEVICES lists what is no device here; there are %d\n", devices);
    std::exit(1);
  }
  return devices;
}

//! What the ranks of a test share besides chevron.
struct Stage {
  SharedMemoryKey key = SharedMemoryKey::random();
  Verdict verdict{};
  Meeting meeting{};
  std::uint64_t data_seed = seed();
};

//! In windows a pull, a push of shards or zero copy, elsewhere through the mailboxes.
struct TwoWays {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{
        Row{.bytes = {0, 16 << 10}, .in_windows_only = true, .policy = {one_shot_pull}},
        Row{.bytes = {16 << 10, 64 << 10},
            .in_windows_only = true,
            .policy = {reduce_scatter_all_gather_push}},
        Row{.in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.policy = {reduce_scatter_all_gather}},
    };
  }
};
template <int NRanks>
using ByTable = Selector<TwoWays, RankCounts<NRanks>, Elements<float>>;

//! One rank: a process whose part of a test this is.
template <int NRanks>
class IpcRank {
 public:
  using Transport = CudaIpc<NRanks>;

  IpcRank(Stage& stage, int rank, int device) : stage_(stage), rank_(rank), device_(device) {}

  //! Joins the others; says so where it fails.
  template <class... Choices>
  [[nodiscard]] bool join(CudaOptions const& options = {}) {
    auto joined = try_join<Choices...>(options);
    return good(joined, "joining");
  }
  template <class... Choices>
  [[nodiscard]] Result<void> try_join(CudaOptions const& options = {}) {
    auto joined = Transport(stage_.key).template join<Choices...>(rank_, device_, options);
    if (!joined) return joined.error();
    communicator_.emplace(std::move(*joined));
    if (!good(cudaSetDevice(device_), "choosing a device")) return {};
    (void)good(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    return {};
  }
  void leave() { communicator_.reset(); }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] Communicator<Transport>& communicator() { return *communicator_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] bool is_good() const { return stage_.verdict.good(); }

  bool good(cudaError_t status, char const* during) {
    if (status != cudaSuccess)
      stage_.verdict.fail("rank %d: %s: %s", rank_, during, cudaGetErrorString(status));
    return status == cudaSuccess;
  }
  template <class Value>
  bool good(Result<Value> const& result, char const* during) {
    if (!result) stage_.verdict.fail("rank %d: %s: %s", rank_, during, result.error().message().c_str());
    return result.has_value();
  }
  bool expect(bool condition, char const* what) {
    if (!condition) stage_.verdict.fail("rank %d: not so: %s", rank_, what);
    return condition;
  }
  //! All ranks come here, or the test has failed.
  [[nodiscard]] bool meet() { return expect(stage_.meeting.wait(NRanks), "all ranks come to the meeting"); }

  //! One all-reduce of `count` elements at some places of the two buffers, which have room for 64 more. Everything around them
  //! must stay what it was.
  template <class Choice>
  bool reduce(float* in, float* out, std::size_t count, char const* what) {
    ++calls_;
    std::size_t const in_at = static_cast<std::size_t>(rank_ * 3 + calls_ * 5) % 37;
    std::size_t const out_at = in == out ? in_at : static_cast<std::size_t>(rank_ * 7 + calls_) % 29;
    std::size_t const room = count + 64;
    std::vector<float> before(room, 17.0f);
    std::vector<float> expected(room, in == out ? 17.0f : 19.0f);
    std::uint64_t const draw = stage_.data_seed + static_cast<std::uint64_t>(calls_);
    for (std::size_t i = 0; i < count; ++i) {
      std::array<float, NRanks> all{};
      for (int r = 0; r < NRanks; ++r)
        all[static_cast<std::size_t>(r)] = value_of<float>(Data::tame, draw, r, i);
      before[in_at + i] = all[static_cast<std::size_t>(rank_)];
    }
    std::size_t const bytes = room * sizeof(float);
    if (in != out && !good(cudaMemcpy(out, expected.data(), bytes, cudaMemcpyHostToDevice), "poisoning"))
      return false;
    if (!good(cudaMemcpy(in, before.data(), bytes, cudaMemcpyHostToDevice), "filling")) return false;
    auto const called = all_reduce<Choice>(*communicator_, in + in_at, out + out_at, count, stream_);
    if (!good(called, what) || !good(cudaStreamSynchronize(stream_), what) ||
        !good(communicator_->status(), what)) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::array<float, NRanks> all{};
      for (int r = 0; r < NRanks; ++r)
        all[static_cast<std::size_t>(r)] = value_of<float>(Data::tame, draw, r, i);
      expected[out_at + i] = reference<Sum, float>(all, Identity{}, i);
    }
    std::vector<float> got(room);
    if (!good(cudaMemcpy(got.data(), out, bytes, cudaMemcpyDeviceToHost), "reading")) return false;
    std::size_t const at = first_difference(expected.data(), got.data(), room);
    if (at != room) {
      stage_.verdict.fail(
          "rank %d: %s, call %d, count %zu, in at %zu, out at %zu: element %zu is %a and not %a", rank_, what,
          calls_, count, in_at, out_at, at, double{got[at]}, double{expected[at]});
    }
    return at == room;
  }

  //! A call that must end the communicator, within the time given, with one of the codes.
  template <class Choice>
  bool must_fail(float* in, float* out, std::size_t count, Errc code, int culprit,
                 std::chrono::milliseconds limit, char const* what) {
    auto const begin = std::chrono::steady_clock::now();
    auto called = all_reduce<Choice>(*communicator_, in, out, count, stream_);
    if (called) {
      if (!good(cudaStreamSynchronize(stream_), what)) return false;
      called = communicator_->status();
    }
    return failed_so(called, code, culprit, begin + limit, what);
  }
  bool failed_so(Result<void> const& result, Errc code, int culprit,
                 std::chrono::steady_clock::time_point limit, char const* what) {
    bool const in_time = std::chrono::steady_clock::now() <= limit;
    bool const as_said =
        !result && result.error().code == code && (culprit < 0 || result.error().rank == culprit);
    if (!as_said || !in_time) {
      stage_.verdict.fail("rank %d: %s: wanted \"%s\" of rank %d%s; got: %s", rank_, what, describe(code),
                          culprit, in_time ? "" : " earlier",
                          result ? "success" : result.error().message().c_str());
    }
    return as_said && in_time;
  }

  //! After an error the process's device works as before.
  bool device_works() {
    if (!good(cudaSetDevice(device_), "choosing a device after an error")) return false;
    float* data = nullptr;
    float value = 0;
    float const sent = 42;
    return good(cudaDeviceSynchronize(), "synchronizing after an error") &&
           good(cudaMalloc(&data, 1 << 20), "allocating after an error") &&
           good(cudaMemcpy(data, &sent, sizeof(sent), cudaMemcpyHostToDevice), "copying after an error") &&
           good(cudaMemcpy(&value, data, sizeof(value), cudaMemcpyDeviceToHost), "copying after an error") &&
           good(cudaFree(data), "freeing after an error") && expect(value == sent, "a copied value arrives");
  }

 private:
  Stage& stage_;
  int rank_;
  int device_;
  int calls_ = 0;
  std::optional<Communicator<Transport>> communicator_{};
  cudaStream_t stream_ = nullptr;
};

//! Runs `body(rank)`, an IpcRank, in a process per rank. `victim` is a rank that ends by SIGKILL, -1 for none. `spread`: on all
//! devices there are, where the environment lists none.
template <int NRanks, class Body>
void in_processes(Body&& body, int victim = -1, bool spread = false) {
  int const devices = need_device();
  Watchdog const watchdog(170s, "ranks on a device");
  Shared<Stage> stage;
  std::vector<Ended> ended;
  {
    Children children;
    for (int rank = 0; rank < NRanks; ++rank) {
      children.start([&] {
        bool const on_all = spread && listed_devices().empty();
        IpcRank<NRanks> mine(*stage, rank, on_all ? rank % devices : device_of(rank));
        body(mine);
        return 0;
      });
    }
    ended = children.wait(150s);
  }
  INFO("CHEVRON_TEST_SEED=" << seed());
  INFO(stage->verdict.text());
  REQUIRE(stage->verdict.good());
  for (int rank = 0; rank < NRanks; ++rank) {
    Ended const& end = ended[static_cast<std::size_t>(rank)];
    INFO("rank " << rank << ": " << end.text());
    REQUIRE((rank == victim ? end.signal == SIGKILL : end.good()));
  }
}

}  // namespace chevron::test

#endif

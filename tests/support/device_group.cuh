// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_DEVICE_GROUP_CUH
#define CHEVRON_TESTS_SUPPORT_DEVICE_GROUP_CUH

//! @file
//! A group's ranks for tests of many calls: all algorithms for sums of floats, chosen when the test runs.

#include <chevron/collective/all_reduce.cuh>
#include <chevron/select/selector.hpp>
#include <chevron/select/table.hpp>
#include <chevron/transport/cuda_peer.cuh>

#include <support/device_work.cuh>

#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace chevron::test {

//! Each algorithm within a few kilobytes, and not the same one everywhere; some with packs in flight of their own, or with
//! flagged packets where bare ones would do.
struct DeviceTable {
  static constexpr auto rows() {
    using enum AllReduceAlgorithm;
    return std::array{
        Row{.bytes = {0, 128},
            .policy = {.algorithm = one_shot_push, .cuda = {.packets = PacketKind::flagged}}},
        Row{.bytes = {128, 256},
            .elements = ElementSet::of(ElementKind::float32),
            .policy = {.algorithm = one_shot_push, .cuda = {.packets = PacketKind::bare}}},
        Row{.bytes = {128, 256}, .policy = {one_shot_push}},
        Row{.bytes = {256, 512}, .in_windows_only = true, .policy = {one_shot_pull}},
        Row{.bytes = {512, 1024},
            .in_windows_only = true,
            .policy = {.algorithm = one_shot_pull, .cuda = {.packs = 4}}},
        Row{.bytes = {256, 2048}, .policy = {two_shot_push}},
        Row{.bytes = {2048, 6144}, .policy = {reduce_scatter_all_gather}},
        Row{.bytes = {6144, 8192}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_push}},
        Row{.bytes = {6144, 8192}, .policy = {reduce_scatter_all_gather}},
        Row{.architectures = {70},
            .bytes = {8192, 32768},
            .in_windows_only = true,
            .policy = {.algorithm = reduce_scatter_all_gather_zero_copy, .cuda = {.packs = 1}}},
        Row{.bytes = {8192}, .in_windows_only = true, .policy = {reduce_scatter_all_gather_zero_copy}},
        Row{.bytes = {8192}, .policy = {two_shot_push}},
    };
  }
};

//! How a call gets to an algorithm: by its name, or through a selector.
enum class Route : unsigned char { push, staged, zero_copy, pull, two_shot, push_rsag, selector };
inline constexpr Route named_routes[] = {Route::push, Route::staged,   Route::zero_copy,
                                         Route::pull, Route::two_shot, Route::push_rsag};
inline constexpr std::size_t named_route_count = std::size(named_routes);
inline constexpr int route_count = named_route_count + 1;

//! Whether a call fails between devices where a buffer lies in no window.
constexpr bool needs_windows(Route route) {
  return route == Route::pull || route == Route::zero_copy || route == Route::push_rsag;
}

constexpr char const* name(Route route) {
  return route == Route::selector ? "selector" : chevron::name(static_cast<AllReduceAlgorithm>(route));
}

//! What a test's groups are of, where it says nothing else.
inline constexpr auto usual_scope =
    system_scope_alone ? cuda::thread_scope_system : cuda::thread_scope_device;

//! The devices of a group's ranks: with thread_scope_system those of the environment.
template <int NRanks, cuda::thread_scope Scope = usual_scope>
std::array<int, NRanks> devices_of_group() {
  if constexpr (Scope == cuda::thread_scope_system) {
    return devices_of_ranks<NRanks>();
  } else {
    return {};
  }
}

//! Between devices only what lies in windows is used in place, so a group has windows of its workers' buffers, which must live
//! as long as it does.
template <int NRanks, cuda::thread_scope Scope = usual_scope>
class Group {
 public:
  using Transport = CudaPeer<NRanks, Scope>;
  using Chosen = Selector<DeviceTable, RankCounts<NRanks>, Elements<float>>;
  static constexpr int ranks = NRanks;

  explicit Group(CudaOptions const& options = usual()) {
    auto made =
        Transport::template create<OneShotPush<NRanks, float>, ReduceScatterAllGather<NRanks, float>,
                                   ReduceScatterAllGatherZeroCopy<NRanks, float>, OneShotPull<NRanks, float>,
                                   TwoShotPush<NRanks, float>, ReduceScatterAllGatherPush<NRanks, float>,
                                   Chosen>(devices_of_group<NRanks, Scope>(), options);
    if (!made) throw std::runtime_error(made.error().message());
    communicators_ = std::move(*made);
  }
  explicit Group(std::vector<Worker> const& workers, CudaOptions const& options = usual()) : Group(options) {
    make_windows(workers);
  }

  void make_windows(std::vector<Worker> const& workers) {
    for (Worker const& worker : workers) {
      int const rank = static_cast<int>(&worker - workers.data());
      worker.for_each_window([&](float* data, std::size_t count) { make_window(rank, data, count); });
    }
  }
  //! On every rank as many.
  void make_window(int rank, float* data, std::size_t count) {
    auto window = (*this)[rank].register_window(data, count);
    if (!window) throw std::runtime_error(window.error().message());
    windows_.push_back(std::move(*window));
  }

  [[nodiscard]] static CudaOptions usual() {
    CudaOptions options;
    options.deadline = std::chrono::seconds(20);
    return options;
  }

  [[nodiscard]] auto& operator[](int rank) { return communicators_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] Result<void> try_call(int rank, Route route, float const* in, float* out, std::size_t count,
                                      cudaStream_t stream, CudaGeometry const& geometry = {}) {
    auto const& communicator = (*this)[rank];
    auto const with = [&]<class Choice>() {
      return all_reduce<Choice>(communicator, in, out, count, stream, Sum{}, Identity{}, geometry);
    };
    switch (route) {
      case Route::push:
        return with.template operator()<OneShotPush<NRanks, float>>();
      case Route::staged:
        return with.template operator()<ReduceScatterAllGather<NRanks, float>>();
      case Route::zero_copy:
        return with.template operator()<ReduceScatterAllGatherZeroCopy<NRanks, float>>();
      case Route::pull:
        return with.template operator()<OneShotPull<NRanks, float>>();
      case Route::two_shot:
        return with.template operator()<TwoShotPush<NRanks, float>>();
      case Route::push_rsag:
        return with.template operator()<ReduceScatterAllGatherPush<NRanks, float>>();
      case Route::selector:
        return with.template operator()<Chosen>();
    }
    return {};
  }
  void call(int rank, Route route, float const* in, float* out, std::size_t count, cudaStream_t stream,
            CudaGeometry const& geometry = {}) {
    auto const made = try_call(rank, route, in, out, count, stream, geometry);
    if (!made) throw std::runtime_error(std::string(name(route)) + ": " + made.error().message());
  }

  //! What is wrong with the communicators; empty where nothing is.
  [[nodiscard]] std::string status() const {
    for (auto const& communicator : communicators_) {
      if (auto const good = communicator.status(); !good) return good.error().message();
    }
    return "";
  }

  //! A worker for every rank.
  [[nodiscard]] static std::vector<Worker> workers(std::size_t most_elements) {
    std::vector<Worker> all;
    all.reserve(NRanks);
    auto const devices = devices_of_group<NRanks, Scope>();
    for (int rank = 0; rank < NRanks; ++rank)
      all.emplace_back(rank, NRanks, most_elements, devices[static_cast<std::size_t>(rank)]);
    return all;
  }

  //! One round of a rank: its input is made, the call, a look at the result.
  void round(int rank, Worker const& worker, Route route, std::size_t count,
             CudaGeometry const& geometry = {}, Lie const& lie = {}) {
    float* const in = worker.in(lie);
    float* const out = worker.out(lie);
    worker.begin(in, out, count);
    call(rank, route, in, out, count, worker.stream(), geometry);
    worker.end(out, count);
  }

  //! Waits for all ranks; the first complaint, empty where there is none.
  [[nodiscard]] std::string finish(std::vector<Worker> const& workers, unsigned long long checked = 0) const {
    cudaError_t const done = synchronise_devices();
    if (std::string bad = status(); !bad.empty()) return bad;
    if (done != cudaSuccess) return cudaGetErrorString(done);
    for (Worker const& worker : workers) {
      if (std::string bad = worker.complaint(checked); !bad.empty()) return bad;
    }
    return "";
  }

 private:
  std::vector<Communicator<Transport>> communicators_{};
  std::vector<typename Communicator<Transport>::template Window<float>> windows_{};
};

}  // namespace chevron::test

#endif

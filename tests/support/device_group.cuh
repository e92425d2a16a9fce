// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef CHEVRON_TESTS_SUPPORT_DEVICE_GROUP_CUH
#define CHEVRON_TESTS_SUPPORT_DEVICE_GROUP_CUH

//! @file
//! The ranks of one device for tests of many calls: all algorithms for sums of floats, chosen when the test runs.

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

constexpr char const* name(Route route) {
  return route == Route::selector ? "selector" : chevron::name(static_cast<AllReduceAlgorithm>(route));
}

template <int NRanks, cuda::thread_scope Scope = cuda::thread_scope_device>
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
                                   Chosen>(std::array<int, NRanks>{}, options);
    if (!made) throw std::runtime_error(made.error().message());
    communicators_ = std::move(*made);
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
    for (int rank = 0; rank < NRanks; ++rank) all.emplace_back(rank, NRanks, most_elements);
    return all;
  }

  //! One round of a rank: its input is made, the call, a look at the result.
  void round(int rank, Worker const& worker, Route route, std::size_t count,
             CudaGeometry const& geometry = {}, bool in_place = false, std::size_t in_askew = 0,
             std::size_t out_askew = 0) {
    float* const in = worker.in(in_askew);
    float* const out = in_place ? in : worker.out(out_askew);
    worker.begin(in, out, count);
    call(rank, route, in, out, count, worker.stream(), geometry);
    worker.end(out, count);
  }

  //! Waits for all ranks; the first complaint, empty where there is none.
  [[nodiscard]] std::string finish(std::vector<Worker> const& workers, unsigned long long checked = 0) const {
    cudaError_t const done = cudaDeviceSynchronize();
    if (std::string bad = status(); !bad.empty()) return bad;
    if (done != cudaSuccess) return cudaGetErrorString(done);
    for (Worker const& worker : workers) {
      if (std::string bad = worker.complaint(checked); !bad.empty()) return bad;
    }
    return "";
  }

 private:
  std::vector<Communicator<Transport>> communicators_{};
};

}  // namespace chevron::test

#endif

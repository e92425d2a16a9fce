// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! Everything that chevron-perf-cuda instantiates for one element and rank count. Compiled once for each pair, with
//! CHEVRON_PERF_ELEMENT and CHEVRON_PERF_RANKS set, so that the compiler works on several at a time.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <chevron/chevron.cuh>
#include <perf/cuda/cuda_check.hpp>
#include <perf/cuda/group.hpp>
#include <perf/cuda/range.hpp>
#include <perf/cuda/table.hpp>
#include <perf/reference.hpp>

namespace perf {

namespace {

//! @brief A kernel with the parameters of a call, so that a bare launch copies as much.
template <class View, class CallType>
__global__ void empty_kernel(__grid_constant__ View const, __grid_constant__ CallType const,
                             __grid_constant__ chevron::CallGreeting const, chevron::CudaManner) {}

//! @brief Calls `work(begin, end)` for parts of [0, count) on all cores.
template <class Work>
void in_parallel(std::size_t count, Work&& work) {
  std::size_t const parts = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < parts; ++part)
    threads.emplace_back([&, part] { work(count * part / parts, count * (part + 1) / parts); });
  for (auto& thread : threads) thread.join();
}

//! @brief How many packs an algorithm is told to have in flight; 0 where the library says.
template <class Algorithm>
constexpr int packs_of = 0;
template <class Algorithm, int Packs>
constexpr int packs_of<chevron::InFlight<Algorithm, Packs>> = Packs;

template <class... Each>
struct Algorithms {
  template <class Transport, class Selector>
  static auto create(std::array<int, Transport::ranks> const& devices, chevron::CudaOptions const& options) {
    return Transport::template create<Selector, Each...>(devices, options);
  }
  //! Calls `visit.template operator()<Algorithm>()` for each.
  template <class Visit>
  static void for_each(Visit&& visit) {
    (visit.template operator()<Each>(), ...);
  }
};

template <class Choice, class Communicator, class T>
chevron::Result<void> call(void const* communicator, void const* in, void* out, std::size_t count,
                           cudaStream_t stream, chevron::CudaGeometry const& geometry) {
  Range const range(chevron::is_selector<Choice> ? "all_reduce, by table" : "all_reduce, by name");
  auto const& self = *static_cast<Communicator const*>(communicator);
  auto const from = static_cast<T const*>(in);
  auto const to = static_cast<T*>(out);
  if constexpr (chevron::is_selector<Choice>) {
    return chevron::all_reduce<Choice>(self, from, to, count, stream);
  } else {
    return chevron::all_reduce<Choice>(self, from, to, count, stream, chevron::Sum{}, chevron::Identity{},
                                       geometry);
  }
}

template <class T, int NRanks, cuda::thread_scope Scope>
class Group final : public DeviceGroup {
  using Transport = chevron::CudaPeer<NRanks, Scope>;
  using Communicator = chevron::Communicator<Transport>;
  using Window = typename Communicator::template Window<T>;
  using Selector = chevron::Selector<DeviceTable<Scope == cuda::thread_scope_device>,
                                     chevron::RankCounts<NRanks>, chevron::Elements<T>>;
  using Pull = chevron::OneShotPull<NRanks, T>;
  using ZeroCopy = chevron::ReduceScatterAllGatherZeroCopy<NRanks, T>;
  using Push = chevron::ReduceScatterAllGatherPush<NRanks, T>;

  //! What calls are compiled for.
  using Compiled =
      Algorithms<chevron::OneShotPush<NRanks, T>, Pull, chevron::TwoShotPush<NRanks, T>,
                 chevron::ReduceScatterAllGather<NRanks, T>, ZeroCopy, chevron::InFlight<Pull, 1>,
                 chevron::InFlight<Pull, 2>, chevron::InFlight<Pull, 4>, chevron::InFlight<ZeroCopy, 1>,
                 chevron::InFlight<ZeroCopy, 2>, chevron::InFlight<ZeroCopy, 4>, Push,
                 chevron::InFlight<Push, 1>, chevron::InFlight<Push, 2>, chevron::InFlight<Push, 4>>;

 public:
  static OpenedDeviceGroup open(DeviceRanks const& ranks) {
    std::array<int, NRanks> devices{};
    std::copy_n(ranks.devices.begin(), NRanks, devices.begin());
    chevron::CudaOptions options;
    options.deadline = ranks.deadline;
    options.lanes = ranks.most_lanes;
    if (ranks.packet_bytes != 0) options.packet_bytes = ranks.packet_bytes;
    if (ranks.chunk_bytes != 0) options.chunk_bytes = ranks.chunk_bytes;
    auto made = Compiled::template create<Transport, Selector>(devices, options);
    if (!made) return {.why_not = made.error().message()};
    auto group = std::make_unique<Group>(ranks, std::move(*made));
    if (auto done = group->allocate(); !done) return {.why_not = done.error().message()};
    return {.group = std::move(group)};
  }

  Group(DeviceRanks const& ranks, std::vector<Communicator> communicators)
      : ranks_(ranks), communicators_(std::move(communicators)) {}

  std::size_t element_bytes() const override { return sizeof(T); }
  void const* communicator(int rank) const override { return &at(communicators_, rank); }
  void* in(int rank) const override { return at(in_, rank).data(); }
  void* out(int rank) const override { return at(out_, rank).data(); }
  void* in_place(int rank) const override { return at(in_place_, rank).data(); }

  DeviceCall find(Candidate const& candidate) const override {
    if (candidate.algorithm == "auto") return &call<Selector, Communicator, T>;
    DeviceCall found = nullptr;
    Compiled::for_each([&]<class Algorithm>() {
      if (candidate.algorithm == Algorithm::name && candidate.packs == packs_of<Algorithm>)
        found = &call<Algorithm, Communicator, T>;
    });
    return found;
  }

  chevron::Policy policy(Candidate const& candidate, std::size_t size_bytes) const override {
    chevron::Policy policy{.cuda = candidate.geometry};
    Candidate ran = candidate;
    if (candidate.algorithm == "auto") {
      policy = Selector::template choose<T>(NRanks, size_bytes);
      ran = {.algorithm = chevron::name(policy.algorithm)};
    }
    auto const& endpoint = communicators_[0].endpoint();
    int most = endpoint.view().layout.lanes();
    Compiled::for_each([&]<class Algorithm>() {
      if (ran.algorithm != Algorithm::name || ran.packs != packs_of<Algorithm>) return;
      using Body = chevron::detail::Anywhere<Algorithm>;
      most = endpoint.lanes_of(chevron::detail::kernel_of<Transport, Body, T, chevron::Identity>());
    });
    auto const shape =
        chevron::detail::LaunchShape::of(policy.cuda, size_bytes, NRanks, most);
    policy.cuda.lanes = shape.lanes;
    policy.cuda.threads = shape.threads;
    if (shape.lanes > endpoint.early_lanes()) policy.cuda.let_go = chevron::LetGo::when_met;
    return policy;
  }

  chevron::Result<void> status() const override {
    for (auto const& one : communicators_)
      if (auto ended = one.status(); !ended) return ended;
    return {};
  }

  HostTime host_time(Candidate const& candidate, std::size_t size_bytes,
                     std::vector<cudaStream_t> const& streams) const override {
    using View = typename Transport::Endpoint::View;
    using CallType = chevron::Call<T, chevron::Identity>;
    auto const geometry = policy(candidate, size_bytes).cuda;
    auto const made_call = find(candidate);
    auto const of_call = median_microseconds(streams, [&](int rank) {
      (void)made_call(communicator(rank), in(rank), out(rank), size_bytes / sizeof(T),
                      streams[static_cast<std::size_t>(rank)], candidate.geometry);
    });
    auto const of_empty_kernel = median_microseconds(streams, [&](int rank) {
      cudaLaunchAttribute dependent{};
      dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
      dependent.val.programmaticStreamSerializationAllowed = 1;
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(static_cast<unsigned>(geometry.lanes));
      config.blockDim = dim3(static_cast<unsigned>(geometry.threads));
      config.stream = streams[static_cast<std::size_t>(rank)];
      config.attrs = &dependent;
      config.numAttrs = geometry.dependent_launch ? 1 : 0;
      (void)cudaLaunchKernelEx(
          &config, empty_kernel<View, CallType>, at(communicators_, rank).endpoint().view(), CallType{},
          chevron::CallGreeting{}, chevron::CudaManner{geometry.ordering, geometry.let_go});
    });
    return {of_call, of_empty_kernel};
  }

  std::vector<std::byte> sample(int rank) const override {
    return generated([&](std::size_t i) { return perf::sample<T>(ranks_.seed, rank, i); });
  }
  std::vector<std::byte> reference() const override {
    return generated([&](std::size_t i) { return perf::reference<chevron::Sum, T>(ranks_.seed, NRanks, i); });
  }

 private:
  template <class Value>
  static Value const& at(std::vector<Value> const& all, int rank) {
    return all[static_cast<std::size_t>(rank)];
  }

  chevron::Result<void> allocate() {
    auto const count = (ranks_.max_bytes + Guard::bytes) / sizeof(T);
    for (auto* windows : {&in_, &out_, &in_place_}) {
      for (auto& one : communicators_) {
        auto window = one.template allocate<T>(count);
        if (!window) return window.error();
        windows->push_back(std::move(*window));
      }
    }
    return {};
  }

  template <class Element>
  std::vector<std::byte> generated(Element&& element) const {
    std::vector<std::byte> bytes(ranks_.max_bytes / sizeof(T) * sizeof(T));
    in_parallel(bytes.size() / sizeof(T), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        T const value = element(i);
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
      }
    });
    return bytes;
  }

  //! Of one launch, over launches for all ranks in turn. The streams never have so many pending that a launch waits.
  template <class LaunchOne>
  double median_microseconds(std::vector<cudaStream_t> const& streams, LaunchOne&& launch) const {
    using Clock = std::chrono::steady_clock;
    constexpr int warmup = 32;
    constexpr int launches = 512;
    constexpr int pending = 32;
    std::vector<double> seconds;
    for (int i = 0; i < warmup + launches; ++i) {
      for (int rank = 0; rank < NRanks; ++rank) {
        check_cuda(cudaSetDevice(at(ranks_.devices, rank)), "choosing a device");
        auto const start = Clock::now();
        launch(rank);
        std::chrono::duration<double> const elapsed = Clock::now() - start;
        if (i >= warmup) seconds.push_back(elapsed.count());
      }
      if (i % pending != pending - 1) continue;
      for (auto const stream : streams) check_cuda(cudaStreamSynchronize(stream), "waiting for calls");
    }
    return Times::of(std::move(seconds)).median;
  }

  DeviceRanks ranks_;
  std::vector<Communicator> communicators_;
  std::vector<Window> in_{}, out_{}, in_place_{};
};

}  // namespace

template <class T, int NRanks>
OpenedDeviceGroup open_device_group_of(DeviceRanks const& ranks) {
  bool const one_device = std::count(ranks.devices.begin(), ranks.devices.end(), ranks.devices[0]) == NRanks;
  if (one_device && !ranks.system_scope) return Group<T, NRanks, cuda::thread_scope_device>::open(ranks);
  return Group<T, NRanks, cuda::thread_scope_system>::open(ranks);
}

template OpenedDeviceGroup open_device_group_of<CHEVRON_PERF_ELEMENT, CHEVRON_PERF_RANKS>(DeviceRanks const&);

}  // namespace perf

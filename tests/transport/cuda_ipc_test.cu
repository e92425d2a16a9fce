// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks that are processes, on one device or each on its own: all algorithms, in windows and elsewhere, on memory of every kind.
#include <transport/cuda_ipc_ranks.cuh>

#include <cuda.h>

namespace {

using namespace chevron;
using namespace chevron::test;

template <int NRanks>
using Push = OneShotPush<NRanks, float>;
template <int NRanks>
using TwoShot = TwoShotPush<NRanks, float>;
template <int NRanks>
using Staged = ReduceScatterAllGather<NRanks, float>;
template <int NRanks>
using ZeroCopy = ReduceScatterAllGatherZeroCopy<NRanks, float>;
template <int NRanks>
using PushRsag = ReduceScatterAllGatherPush<NRanks, float>;
template <int NRanks>
using Pull = OneShotPull<NRanks, float>;

constexpr std::size_t largest = 70'001;
constexpr std::size_t counts[] = {0, 1, 7, 1000, 4099, largest};

//! Without MPS the ranks of a device take turns, and a word takes milliseconds to be seen.
//! From epoch 0 on, which memory of zeros would pass for.
CudaOptions patient() { return {.deadline = 60s, .lanes = 8, .first_epoch = 0}; }

template <int NRanks>
void play_all(IpcRank<NRanks>& rank) {
  if (!rank.template join<Push<NRanks>, TwoShot<NRanks>, Staged<NRanks>, ZeroCopy<NRanks>, Pull<NRanks>,
                          PushRsag<NRanks>, ByTable<NRanks>>(patient())) {
    return;
  }
  // Of another size on each rank.
  auto in_window = rank.communicator().template allocate<float>(largest + 64 + 1000 * rank.rank());
  auto out_window = rank.communicator().template allocate<float>(largest + 64);
  if (!rank.good(in_window, "a window") || !rank.good(out_window, "a window")) return;
  float* plain_in = nullptr;
  float* plain_out = nullptr;
  std::size_t const bytes = (largest + 64) * sizeof(float);
  if (!rank.good(cudaMalloc(&plain_in, bytes), "memory")) return;
  if (!rank.good(cudaMalloc(&plain_out, bytes), "memory")) return;
  float* const in = in_window->data();
  float* const out = out_window->data();
  // Where only some ranks' buffers lie in windows.
  float* const mixed_in = rank.rank() == 0 ? plain_in : in;
  float* const mixed_out = rank.rank() == NRanks - 1 ? plain_out : out;
  for (std::size_t const count : counts) {
    bool const fine = rank.template reduce<Push<NRanks>>(in, out, count, "push, windows") &&
                      rank.template reduce<Push<NRanks>>(plain_in, plain_in, count, "push, in place") &&
                      rank.template reduce<TwoShot<NRanks>>(in, in, count, "two-shot, in place") &&
                      rank.template reduce<TwoShot<NRanks>>(plain_in, plain_out, count, "two-shot, plain") &&
                      rank.template reduce<Staged<NRanks>>(plain_in, plain_out, count, "staged, plain") &&
                      rank.template reduce<Staged<NRanks>>(in, out, count, "staged, windows") &&
                      rank.template reduce<ZeroCopy<NRanks>>(in, out, count, "zero copy") &&
                      rank.template reduce<ZeroCopy<NRanks>>(in, in, count, "zero copy, in place") &&
                      rank.template reduce<PushRsag<NRanks>>(in, out, count, "push of shards") &&
                      rank.template reduce<PushRsag<NRanks>>(in, in, count, "push of shards, in place") &&
                      rank.template reduce<Pull<NRanks>>(in, out, count, "pull") &&
                      rank.template reduce<Pull<NRanks>>(out, out, count, "pull, in place") &&
                      rank.template reduce<ByTable<NRanks>>(in, out, count, "by table, windows") &&
                      rank.template reduce<ByTable<NRanks>>(plain_in, plain_out, count, "by table, plain") &&
                      rank.template reduce<ByTable<NRanks>>(mixed_in, mixed_out, count, "by table, mixed");
    if (!fine) return;
  }
  (void)rank.meet();
}

TEST_CASE("2 processes") {
  in_processes<2>([](auto& rank) { play_all(rank); });
}
TEST_CASE("3 processes") {
  in_processes<3>([](auto& rank) { play_all(rank); });
}
TEST_CASE("4 processes") {
  in_processes<4>([](auto& rank) { play_all(rank); });
}
TEST_CASE("processes on devices of their own, where there are several") {
  in_processes<2>([](auto& rank) { play_all(rank); }, -1, true);
}

//! Tells bytes through memory that the test shares.
class BoardBootstrap {
 public:
  using Board = std::array<std::byte, 64>;
  BoardBootstrap(Shared<Board> const& board, Shared<Meeting> const& meeting, int rank)
      : board_(board), meeting_(meeting), rank_(rank) {}
  int rank() const { return rank_; }
  int size() const { return 2; }
  Result<void> all_gather(std::byte const* mine, std::byte* all, std::size_t size_bytes) {
    std::copy_n(mine, size_bytes, board_->data() + static_cast<std::size_t>(rank_) * size_bytes);
    if (!meeting_->wait(2)) return Error{.code = Errc::timeout, .during = "meeting at a board"};
    std::copy_n(board_->data(), 2 * size_bytes, all);
    return {};
  }

 private:
  Shared<Board> const& board_;
  Shared<Meeting> const& meeting_;
  int rank_;
};

TEST_CASE("ranks meet through a bootstrap") {
  Shared<BoardBootstrap::Board> const board;
  Shared<Meeting> const meeting;
  in_processes<2>([&](auto& rank) {
    BoardBootstrap ranks(board, meeting, rank.rank());
    auto const joined = CudaIpc<2>::join<Push<2>>(ranks, rank.device(), patient());
    if (!rank.good(joined, "joining")) return;
    (void)rank.expect(joined->rank() == rank.rank(), "the bootstrap's rank is the communicator's");
    auto const of_another_size = CudaIpc<3>::join<Push<3>>(ranks, rank.device(), patient());
    (void)rank.expect(!of_another_size && of_another_size.error().code == Errc::ranks_mismatch,
                      "a bootstrap of another size is refused");
    (void)rank.meet();
  });
}

// ---- kinds of memory

//! A function of the driver, as the library looks it up.
template <class Function>
Function* driver_function(char const* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &answer) != cudaSuccess)
    return nullptr;
  return reinterpret_cast<Function*>(found);
}

constexpr std::size_t room_bytes = (largest + 64) * sizeof(float);

// None of these is freed: the process ends soon. They are of the current device, the rank's.

int current_device() {
  int device = -1;
  return cudaGetDevice(&device) == cudaSuccess ? device : -1;
}

float* inside_an_allocation() {
  void* data = nullptr;
  if (cudaMalloc(&data, room_bytes + 4096) != cudaSuccess) return nullptr;
  return reinterpret_cast<float*>(static_cast<std::byte*>(data) + 768);
}

float* of_a_pool(bool shareable) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = shareable ? cudaMemHandleTypePosixFileDescriptor : cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = current_device();
  cudaMemPool_t pool = nullptr;
  void* first = nullptr;
  void* data = nullptr;
  if (cudaMemPoolCreate(&pool, &properties) != cudaSuccess) return nullptr;
  if (cudaMallocFromPoolAsync(&first, 10'000, pool, nullptr) != cudaSuccess) return nullptr;
  if (cudaMallocFromPoolAsync(&data, room_bytes, pool, nullptr) != cudaSuccess) return nullptr;
  return cudaDeviceSynchronize() == cudaSuccess ? static_cast<float*>(data) : nullptr;
}

//! Two pieces of memory mapped in a row; the buffer lies across the border.
float* of_two_mappings() {
  auto const create = driver_function<decltype(cuMemCreate)>("cuMemCreate");
  auto const driver = CudaDriver::load("");
  if (create == nullptr || !driver) return nullptr;
  constexpr std::size_t piece = std::size_t{2} << 20;
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = current_device();
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr base = 0;
  if (driver->reserve_addresses(&base, 2 * piece, piece, 0, 0) != CUDA_SUCCESS) return nullptr;
  for (CUdeviceptr at = base; at < base + 2 * piece; at += piece) {
    CUmemGenericAllocationHandle handle{};
    if (create(&handle, piece, &properties, 0) != CUDA_SUCCESS) return nullptr;
    if (driver->map(at, piece, 0, handle, 0) != CUDA_SUCCESS) return nullptr;
    if (driver->set_access(at, piece, &access, 1) != CUDA_SUCCESS) return nullptr;
  }
  return reinterpret_cast<float*>(base + piece - 1000 * sizeof(float));
}

float* of_kind(int kind) {
  switch (kind) {
    case 0:
      return inside_an_allocation();
    case 1:
      return of_a_pool(true);
    default:
      return of_two_mappings();
  }
}

//! `kind_of(rank, buffer)`: buffer 0 is the input, 1 the output.
template <class KindOf>
void play_kinds(KindOf&& kind_of) {
  in_processes<2>([&](auto& rank) {
    if (!rank.template join<ZeroCopy<2>, Pull<2>>(patient())) return;
    float* const in = of_kind(kind_of(rank.rank(), 0));
    float* const out = of_kind(kind_of(rank.rank(), 1));
    if (!rank.expect(in != nullptr && out != nullptr, "there is memory")) return;
    auto in_window = rank.communicator().register_window(in, largest + 64);
    if (!rank.good(in_window, "the input's window")) return;
    auto out_window = rank.communicator().register_window(out, largest + 64);
    if (!rank.good(out_window, "the output's window")) return;
    for (std::size_t const count : counts) {
      if (!rank.template reduce<ZeroCopy<2>>(in, out, count, "zero copy")) return;
      if (!rank.template reduce<ZeroCopy<2>>(out, out, count, "zero copy, in place")) return;
      if (!rank.template reduce<Pull<2>>(out, in, count, "pull")) return;
    }
    (void)rank.meet();
  });
}

TEST_CASE("windows inside allocations") {
  play_kinds([](int, int) { return 0; });
}
TEST_CASE("windows of a pool") {
  play_kinds([](int, int) { return 1; });
}
TEST_CASE("windows across two mappings") {
  play_kinds([](int, int) { return 2; });
}
TEST_CASE("windows of another kind on each rank") {
  play_kinds([](int rank, int buffer) { return (rank + 2 * buffer) % 3; });
}

TEST_CASE("windows that can't be made are refused on all ranks, and later ones are made") {
  in_processes<2>([](auto& rank) {
    if (!rank.template join<ZeroCopy<2>>(patient())) return;
    float* const fine = inside_an_allocation();
    float* const unshared = of_a_pool(false);
    float on_host[16] = {};
    if (!rank.expect(fine != nullptr && unshared != nullptr, "there is memory")) return;
    auto const later = std::chrono::steady_clock::now() + 60s;
    auto const result_of = [](auto const& window) {
      return window ? Result<void>() : Result<void>(window.error());
    };
    // What is wrong on one rank is told on both.
    auto const host = rank.communicator().register_window(rank.rank() == 1 ? on_host : fine, 16);
    if (!rank.failed_so(result_of(host), Errc::bad_argument, 1, later, "host memory")) return;
    auto const pool = rank.communicator().register_window(rank.rank() == 0 ? unshared : fine, 16);
    if (!rank.failed_so(result_of(pool), Errc::bad_argument, 0, later, "a pool's own memory")) return;
    auto const window = rank.communicator().register_window(fine, largest + 64);
    if (!rank.good(window, "a window")) return;
    if (!rank.template reduce<ZeroCopy<2>>(fine, fine, largest, "zero copy")) return;
    (void)rank.meet();
  });
}

// ---- windows that come and go

//! Memory that was registered, freed and allocated again has the same address and is in no window: it must not be taken for
//! what peers still have mapped.
TEST_CASE("memory that is freed and allocated again at its address is in no window") {
  in_processes<2>([](auto& rank) {
    if (!rank.template join<ByTable<2>>(patient())) return;
    float* first = nullptr;
    constexpr std::size_t bytes = std::size_t{4} << 20;
    if (!rank.good(cudaMalloc(&first, bytes), "memory")) return;
    auto window = rank.communicator().register_window(first, largest + 64);
    if (!rank.good(window, "a window")) return;
    if (!rank.template reduce<ByTable<2>>(first, first, largest, "in the window")) return;
    auto const is_in_window = [&](float* data) {
      return rank.communicator().endpoint().locate(data, 16).in_window();
    };
    if (!rank.expect(is_in_window(first), "what was registered is in a window") || !rank.meet()) return;
    float* again = first;
    if (rank.rank() == 1) {
      if (!rank.good(cudaFree(first), "freeing") || !rank.good(cudaMalloc(&again, bytes), "memory")) return;
      std::printf("the second allocation has %s address\n", again == first ? "the first one's" : "another");
      if (!rank.expect(!is_in_window(again), "a later allocation is in no window")) return;
    }
    if (!rank.template reduce<ByTable<2>>(again, again, largest, "after the freeing")) return;
    (void)rank.meet();
  });
}

//! A captured graph holds a window's number. Windows that were made later are found by it all the same, as its calls are
//! made again; a window that has gone is an error and no illegal access.
TEST_CASE("a graph outlives its window") {
  in_processes<2>([](auto& rank) {
    if (!rank.template join<ZeroCopy<2>>(patient())) return;
    auto window = rank.communicator().template allocate<float>(largest);
    if (!rank.good(window, "a window")) return;
    std::vector<float> ones(largest, 1.0f);
    if (!rank.good(cudaMemcpy(window->data(), ones.data(), largest * sizeof(float), cudaMemcpyHostToDevice),
                   "filling"))
      return;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    if (!rank.good(cudaStreamBeginCapture(rank.stream(), cudaStreamCaptureModeGlobal), "capturing")) return;
    auto const captured =
        all_reduce<ZeroCopy<2>>(rank.communicator(), window->data(), window->data(), largest, rank.stream());
    if (!rank.good(cudaStreamEndCapture(rank.stream(), &graph), "capturing")) return;
    if (!rank.good(captured, "capturing")) return;
    if (!rank.good(cudaGraphInstantiate(&replay, graph, 0), "instantiating")) return;
    for (int i = 0; i < 5; ++i) {
      if (!rank.good(cudaGraphLaunch(replay, rank.stream()), "replaying")) return;
    }
    if (!rank.good(cudaStreamSynchronize(rank.stream()), "replaying")) return;
    if (!rank.good(rank.communicator().status(), "replaying")) return;
    if (!rank.good(cudaMemcpy(ones.data(), window->data(), largest * sizeof(float), cudaMemcpyDeviceToHost),
                   "reading"))
      return;
    for (float const value : ones) {
      if (!rank.expect(value == 32.0f, "five sums of two are 32 times as much")) return;
    }
    if (!rank.meet()) return;
    { auto const gone = std::move(*window); }
    if (!rank.meet()) return;
    if (!rank.good(cudaGraphLaunch(replay, rank.stream()), "replaying without the window")) return;
    if (!rank.good(cudaStreamSynchronize(rank.stream()), "replaying without the window")) return;
    if (!rank.failed_so(rank.communicator().status(), Errc::unknown_window, -1,
                        std::chrono::steady_clock::now() + 1s, "replaying without the window"))
      return;
    if (rank.device_works()) (void)rank.meet();
  });
}

}  // namespace

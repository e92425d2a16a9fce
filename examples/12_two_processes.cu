// Two processes are two ranks, each on a device, which may be the same one. They all-reduce in windows, in place, by a
// graph that is captured once and launched again and again.
//
// Started without arguments it draws a key and starts itself once more as rank 1; CUDA may not be used before a fork. Two
// ranks of one device should run under CUDA MPS.
#include <chevron/chevron.cuh>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

using AllReduce = chevron::ReduceScatterAllGatherZeroCopy<2, float>;

int complain(chevron::Error const& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return EXIT_FAILURE;
}

int work(int rank, chevron::SharedMemoryKey const& key) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("rank %d: there is no device\n", rank);
    return 77;
  }
  int const device = rank % devices;
  cudaSetDevice(device);
  chevron::CudaIpc<2> group(key);
  auto communicator = group.join<AllReduce>(rank, device);
  if (!communicator) return complain(communicator.error());

  constexpr std::size_t count = 1 << 20;
  auto window = communicator->allocate<float>(count);
  if (!window) return complain(window.error());
  std::vector<float> values(count, rank == 0 ? 1.0f : 2.0f);
  cudaMemcpy(window->data(), values.data(), count * sizeof(float), cudaMemcpyHostToDevice);

  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  auto captured =
      chevron::all_reduce<AllReduce>(*communicator, window->data(), window->data(), count, stream);
  cudaStreamEndCapture(stream, &graph);
  if (!captured) return complain(captured.error());
  cudaGraphInstantiate(&replay, graph, 0);
  for (int i = 0; i < 10; ++i) cudaGraphLaunch(replay, stream);
  cudaStreamSynchronize(stream);
  if (auto status = communicator->status(); !status) return complain(status.error());

  // 1 + 2 at first, and twice as much each time after that.
  cudaMemcpy(values.data(), window->data(), count * sizeof(float), cudaMemcpyDeviceToHost);
  for (float const value : values) {
    if (value != 3.0f * 512) return std::printf("rank %d: %g is wrong\n", rank, double{value}), EXIT_FAILURE;
  }
  std::printf("rank %d on device %d: %zu right sums of %g\n", rank, device, count, double{values[0]});
  return EXIT_SUCCESS;
}

int main(int argc, char** argv) {
  if (argc == 2) {
    auto const key = chevron::SharedMemoryKey::parse(argv[1]);
    return key ? work(1, *key) : complain(key.error());
  }
  auto const key = chevron::SharedMemoryKey::random();
  pid_t const other = fork();
  if (other == 0) return execl("/proc/self/exe", argv[0], key.text().c_str(), nullptr);
  int const mine = work(0, key);
  int theirs = 0;
  waitpid(other, &theirs, 0);
  return mine != EXIT_SUCCESS ? mine : WEXITSTATUS(theirs);
}

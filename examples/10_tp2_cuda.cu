// Two ranks on one GPU, or on two. Each has a window of device memory; after the call, each has the sum of both.
#include <chevron/chevron.cuh>

#include <cstdio>
#include <vector>

using Group = chevron::CudaPeer<2>;
using Algorithm = chevron::ReduceScatterAllGatherZeroCopy<2, float>;

int failed(chevron::Error const& error) { return std::puts(error.message().c_str()), 1; }

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return std::puts("10_tp2_cuda: skipped, there is no GPU here"), 77;
  }
  // What calls will use is named now, so that no kernel is loaded later while a peer's kernel waits.
  auto ranks = Group::create<Algorithm>({0, devices > 1 ? 1 : 0});
  if (!ranks) return failed(ranks.error());

  std::vector<float> values(1000);
  std::size_t const bytes = values.size() * sizeof(float);
  std::vector<chevron::Communicator<Group>::Window<float>> windows;
  cudaStream_t streams[2];  // ranks wait for each other, so each needs a stream of its own
  for (int r = 0; r < 2; ++r) {
    auto window = (*ranks)[r].allocate<float>(values.size());
    if (!window) return failed(window.error());
    values.assign(values.size(), r == 0 ? 1.0f : 41.0f);
    cudaSetDevice(devices > 1 ? r : 0);
    cudaStreamCreate(&streams[r]);
    cudaMemcpyAsync(window->data(), values.data(), bytes, cudaMemcpyHostToDevice, streams[r]);
    windows.push_back(std::move(*window));
  }
  // A call puts a kernel into its stream and returns, so one thread can call for all ranks.
  for (int r = 0; r < 2; ++r) {
    auto called = chevron::all_reduce<Algorithm>((*ranks)[r], windows[r].span(), streams[r]);
    if (!called) return failed(called.error());
  }
  bool good = true;
  for (int r = 0; r < 2; ++r) {
    cudaStreamSynchronize(streams[r]);
    if (auto ended = (*ranks)[r].status(); !ended) return failed(ended.error());
    cudaMemcpy(values.data(), windows[r].data(), bytes, cudaMemcpyDeviceToHost);
    std::printf("rank %d: %zu sums, each %g\n", r, values.size(), static_cast<double>(values[999]));
    good = good && values[0] == 42.0f && values[999] == 42.0f;
  }
  return good ? 0 : 1;
}

// A step of an engine, captured once for each rank in a CUDA graph and replayed on new data: all-reduces of 4 MiB and more
// between 2, 3, 5, 6 and 7 ranks, which share the GPUs that there are. Every element is checked.
#include <chevron/chevron.cuh>

#include <array>
#include <cstdio>
#include <vector>

template <int N>
using Selector = chevron::Selector<chevron::tables::OneGpu, chevron::RankCounts<N>, chevron::Elements<float>>;

// Prints what went wrong, if anything did.
bool ok(chevron::Result<void> const& result) {
  return result || (std::puts(result.error().message().c_str()), false);
}
bool ok(cudaError_t status) {
  return status == cudaSuccess || (std::puts(cudaGetErrorString(status)), false);
}

// Whole numbers, small enough that float sums are exact.
float input(int rank, std::size_t i, int replay) {
  return static_cast<float>((i * 7 + rank * 13 + replay) % 1000);
}

template <int N>
struct Rank {
  typename chevron::Communicator<chevron::CudaPeer<N>>::template Window<float> in, out;
  int device = 0;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t step = nullptr;
};

template <int N>
bool capture(chevron::Communicator<chevron::CudaPeer<N>>& communicator, Rank<N>& rank, std::size_t count) {
  auto in = communicator.template allocate<float>(count);
  auto out = communicator.template allocate<float>(count);
  if (!in || !out) return std::puts((in ? out : in).error().message().c_str()), false;
  rank.in = std::move(*in);
  rank.out = std::move(*out);
  if (!ok(cudaSetDevice(rank.device)) || !ok(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking)))
    return false;

  cudaGraph_t graph = nullptr;
  if (!ok(cudaStreamBeginCapture(rank.stream, cudaStreamCaptureModeThreadLocal))) return false;
  float* const sums = rank.out.data();
  bool const called =
      ok(chevron::all_reduce<Selector<N>>(communicator, rank.in.data(), sums, count, rank.stream)) &&
      ok(chevron::all_reduce<Selector<N>>(communicator, sums, sums, count, rank.stream));
  return ok(cudaStreamEndCapture(rank.stream, &graph)) && called &&
         ok(cudaGraphInstantiate(&rank.step, graph, 0)) && ok(cudaGraphDestroy(graph));
}

template <int N>
bool replay(int devices, std::size_t count) {
  std::array<int, N> places{};
  for (int r = 0; r < N; ++r) places[r] = r % devices;
  auto made = chevron::CudaPeer<N>::template create<Selector<N>>(places);
  if (!made) return std::puts(made.error().message().c_str()), false;
  std::vector<Rank<N>> ranks(N);
  for (int r = 0; r < N; ++r) {
    ranks[r].device = places[r];
    if (!capture<N>((*made)[r], ranks[r], count)) return false;
  }

  std::vector<float> values(count);
  std::size_t wrong = 0;
  constexpr int replays = 3;
  for (int turn = 0; turn < replays; ++turn) {
    for (int r = 0; r < N; ++r) {
      for (std::size_t i = 0; i < count; ++i) values[i] = input(r, i, turn);
      if (!ok(cudaMemcpyAsync(ranks[r].in.data(), values.data(), count * sizeof(float),
                              cudaMemcpyHostToDevice, ranks[r].stream)))
        return false;
    }
    for (auto& rank : ranks)
      if (!ok(cudaGraphLaunch(rank.step, rank.stream))) return false;
    for (int r = 0; r < N; ++r) {
      if (!ok(cudaStreamSynchronize(ranks[r].stream)) || !ok((*made)[r].status())) return false;
      if (!ok(cudaMemcpy(values.data(), ranks[r].out.data(), count * sizeof(float), cudaMemcpyDeviceToHost)))
        return false;
      for (std::size_t i = 0; i < count; ++i) {
        float sum = 0;
        for (int from = 0; from < N; ++from) sum += input(from, i, turn);
        wrong += values[i] != N * sum;
      }
    }
  }
  for (auto& rank : ranks)
    if (!ok(cudaGraphExecDestroy(rank.step)) || !ok(cudaStreamDestroy(rank.stream))) return false;
  std::printf("%d ranks, %zu bytes, %d replays: %zu wrong elements\n", N, count * sizeof(float), replays,
              wrong);
  return wrong == 0;
}

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return std::puts("11_cuda_graph: skipped, there is no GPU here"), 77;
  }
  bool good = true;
  for (std::size_t const bytes : {std::size_t{4} << 20, (std::size_t{16} << 20) + 12}) {
    std::size_t const count = bytes / sizeof(float);
    good = replay<2>(devices, count) && replay<3>(devices, count) && replay<5>(devices, count) &&
           replay<6>(devices, count) && replay<7>(devices, count) && good;
  }
  return good ? 0 : 1;
}

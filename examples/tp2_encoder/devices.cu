// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! @file
//! The encoder on GPUs. Each rank has a stream, and each of its forward passes is a CUDA graph: products by cuBLAS, the
//! rest by the kernels of device_kernels.cuh, and two all-reduces per layer in place in a window. One thread launches the
//! graphs of all ranks.

#include "devices.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <array>
#include <chevron/chevron.cuh>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "device_kernels.cuh"
#include "model.hpp"
#include "shard.hpp"

namespace tp2_encoder {
namespace {

using CompiledRankCounts = chevron::RankCounts<1, 2, 3, 4, 6, 12>;

template <int NRanks>
using DeviceSelector = chevron::Selector<chevron::tables::OneGpu, chevron::RankCounts<NRanks>, chevron::Elements<float>>;

void require(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}
void require(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("cuBLAS: ") + cublasGetStatusString(status));
}
template <class T>
void require(chevron::Result<T> const& result) {
  if (!result) throw std::runtime_error(result.error().message());
}

//! Memory of the current device.
template <class T>
class OnDevice {
 public:
  OnDevice() = default;
  explicit OnDevice(std::size_t count) {
    require(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)));
  }
  explicit OnDevice(std::vector<T> const& values) : OnDevice(values.size()) {
    fill(values.data(), values.size());
  }
  OnDevice(OnDevice&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  OnDevice& operator=(OnDevice&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~OnDevice() { (void)cudaFree(data_); }

  void fill(T const* values, std::size_t count) {
    require(cudaMemcpy(data_, values, count * sizeof(T), cudaMemcpyHostToDevice));
    require(cudaDeviceSynchronize());  // the copy may go on after it has returned, and no stream waits for it
  }
  [[nodiscard]] T* data() const { return data_; }

 private:
  T* data_ = nullptr;
};

//! A `TensorSource` that copies each tensor to the current device: the model that is read from it, and the shards of that,
//! are views into the device's memory.
class TensorsOnDevice {
 public:
  explicit TensorsOnDevice(Tensors const& tensors) : tensors_(tensors) {}
  [[nodiscard]] float const* tensor(std::string const& name, int rows, int columns) {
    auto const count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    OnDevice<float> copy(count);
    copy.fill(tensors_(name, rows, columns), count);
    copies_.push_back(std::move(copy));
    return copies_.back().data();
  }

 private:
  Tensors const& tensors_;
  std::vector<OnDevice<float>> copies_{};
};

//! What all ranks on a device share.
struct DeviceModel {
  explicit DeviceModel(Tensors const& all) : tensors(all), model(read_model(tensors)) {}
  TensorsOnDevice tensors;
  Model model;
};

struct DeviceBatch {
  explicit DeviceBatch(Batch const& batch)
      : tokens(static_cast<int>(batch.ids.size())),
        sentence_count(static_cast<int>(batch.sentences.size())),
        ids(batch.ids),
        sentences(batch.sentences) {
    std::vector<Place> all;
    for (auto const& [first, count] : batch.sentences)
      for (int position = 0; position < count; ++position) all.push_back({first, count, position});
    places = OnDevice<Place>(all);
  }
  int tokens;
  int sentence_count;
  OnDevice<int> ids;
  OnDevice<Batch::Sentence> sentences;
  OnDevice<Place> places{};
};

//! Sums `count` floats at `data` over all ranks, in the order of the stream.
using AllReduceOnDevice = std::function<void(float* data, std::size_t count, cudaStream_t stream)>;

//! @brief One rank: its shard of the encoder, and a graph for each batch.
class DeviceRank {
 public:
  DeviceRank(int device, Shard shard, Model const& model, std::vector<Batch> const& batches, float* partial)
      : device_(device), shard_(shard), model_(model), partial_(partial) {
    require(cudaSetDevice(device));
    require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    require(cublasCreate(&cublas_));
    require(cublasSetStream(cublas_, stream_));
    // A workspace of its own: what is captured must not be allocated meanwhile.
    require(cublasSetWorkspace(cublas_, workspace_.data(), workspace_bytes));
    require(cublasSetMathMode(cublas_, CUBLAS_PEDANTIC_MATH));
    std::size_t sentences = 0;
    for (auto const& batch : batches) {
      batches_.emplace_back(batch);
      sentences += batch.sentences.size();
    }
    embeddings_ = OnDevice<float>(sentences * hidden_size);
  }
  DeviceRank(DeviceRank const&) = delete;
  DeviceRank& operator=(DeviceRank const&) = delete;
  ~DeviceRank() {
    for (auto const graph : graphs_) (void)cudaGraphExecDestroy(graph);
    (void)cublasDestroy(cublas_);
    (void)cudaStreamDestroy(stream_);
  }

  //! Makes a graph of the forward pass of each batch.
  void capture(AllReduceOnDevice const& all_reduce) {
    require(cudaSetDevice(device_));
    for (auto const graph : graphs_) require(cudaGraphExecDestroy(graph));
    graphs_.clear();
    int first_sentence = 0;
    for (auto const& batch : batches_) {
      cudaGraph_t captured = nullptr;
      require(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
      encode(batch, embeddings_.data() + first_sentence * hidden_size, all_reduce);
      require(cudaStreamEndCapture(stream_, &captured));
      require(cudaGraphInstantiate(&graphs_.emplace_back(), captured, 0));
      require(cudaGraphDestroy(captured));
      require(cudaGraphUpload(graphs_.back(), stream_));
      first_sentence += batch.sentence_count;
    }
    require(cudaStreamSynchronize(stream_));
  }
  void launch(std::size_t batch) { require(cudaGraphLaunch(graphs_[batch], stream_)); }
  void wait() { require(cudaStreamSynchronize(stream_)); }

  [[nodiscard]] std::vector<float> embeddings(std::size_t sentence_count) const {
    std::vector<float> all(sentence_count * hidden_size);
    require(cudaMemcpy(all.data(), embeddings_.data(), all.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return all;
  }

 private:
  static constexpr std::size_t workspace_bytes = 32 << 20;
  static constexpr std::size_t hidden_floats = static_cast<std::size_t>(max_batch_tokens) * hidden_size;

  //! outputs = inputs * weight^T, row-major. To cuBLAS, which counts by columns, each matrix is its transpose.
  void multiply(MatrixView const& weight, float const* inputs, int tokens, float* outputs) {
    constexpr float one = 1;
    constexpr float zero = 0;
    auto const rows = static_cast<int>(weight.rows());
    auto const columns = static_cast<int>(weight.cols());
    require(cublasSgemm(cublas_, CUBLAS_OP_T, CUBLAS_OP_N, rows, tokens, columns, &one, weight.data(),
                        static_cast<int>(weight.outerStride()), inputs, columns, &zero, outputs, rows));
  }

  void apply(Linear const& linear, float const* inputs, int tokens, float* outputs, bool gelu = false) {
    multiply(linear.weight, inputs, tokens, outputs);
    add_bias<<<static_cast<unsigned>(tokens), row_threads, 0, stream_>>>(
        outputs, linear.bias.data(), static_cast<int>(linear.weight.rows()), gelu);
  }

  //! The same steps as encode() of encoder.hpp.
  void encode(DeviceBatch const& batch, float* embeddings, AllReduceOnDevice const& all_reduce) {
    auto const tokens = static_cast<unsigned>(batch.tokens);
    float* const hidden = hidden_.data();
    auto add_over_ranks = [&](float const* mine, Linear const& linear, LayerNorm const& norm) {
      multiply(linear.weight, mine, batch.tokens, partial_);
      all_reduce(partial_, static_cast<std::size_t>(batch.tokens) * hidden_size, stream_);
      add_and_normalise<<<tokens, row_threads, 0, stream_>>>(hidden, partial_, linear.bias.data(),
                                                             norm.scale.data(), norm.bias.data());
    };
    embed_tokens<<<tokens, row_threads, 0, stream_>>>(
        model_.word_embeddings.data(), model_.position_embeddings.data(), model_.token_type_embeddings.data(),
        model_.embedding_norm.scale.data(), model_.embedding_norm.bias.data(), batch.ids.data(),
        batch.places.data(), hidden);
    for (auto const& whole : model_.layers) {
      auto const layer = shard_of(whole, shard_);
      auto const columns = static_cast<int>(layer.query.weight.rows());
      apply(layer.query, hidden, batch.tokens, query_.data());
      apply(layer.key, hidden, batch.tokens, key_.data());
      apply(layer.value, hidden, batch.tokens, value_.data());
      dim3 const heads(tokens, static_cast<unsigned>(columns / head_size));
      attend_heads<<<heads, 32, 0, stream_>>>(query_.data(), key_.data(), value_.data(), batch.places.data(),
                                              columns, context_.data());
      add_over_ranks(context_.data(), layer.attention_output, layer.attention_norm);
      apply(layer.ffn_up, hidden, batch.tokens, ffn_.data(), true);
      add_over_ranks(ffn_.data(), layer.ffn_down, layer.ffn_norm);
    }
    pool_sentences<<<static_cast<unsigned>(batch.sentence_count), row_threads, 0, stream_>>>(
        hidden, batch.sentences.data(), embeddings);
    require(cudaPeekAtLastError());
  }

  int device_;
  Shard shard_;
  Model const& model_;
  float* partial_;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  OnDevice<std::byte> workspace_{workspace_bytes};
  OnDevice<float> hidden_{hidden_floats}, query_{hidden_floats}, key_{hidden_floats}, value_{hidden_floats},
      context_{hidden_floats}, ffn_{static_cast<std::size_t>(max_batch_tokens) * ffn_size};
  OnDevice<float> embeddings_{};
  std::vector<DeviceBatch> batches_{};
  std::vector<cudaGraphExec_t> graphs_{};
};

//! Seconds of a pass, after one to warm up.
double time_passes(std::vector<std::unique_ptr<DeviceRank>>& ranks, std::size_t batch_count, int passes) {
  auto const pass = [&] {
    for (std::size_t batch = 0; batch < batch_count; ++batch)
      for (auto& rank : ranks) rank->launch(batch);
  };
  auto const wait = [&] {
    for (auto& rank : ranks) rank->wait();
  };
  pass();
  wait();
  auto const start = std::chrono::steady_clock::now();
  for (int count = 0; count < passes; ++count) pass();
  wait();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / passes;
}

template <int NRanks>
DeviceRun run(std::vector<Batch> const& batches, int passes, Tensors const& tensors, int device_count) {
  std::array<int, NRanks> devices{};
  for (int rank = 0; rank < NRanks; ++rank) devices[static_cast<std::size_t>(rank)] = rank % device_count;

  using Group = chevron::CudaPeer<NRanks>;
  auto communicators = Group::template create<DeviceSelector<NRanks>>(devices);
  require(communicators);
  std::vector<typename chevron::Communicator<Group>::template Window<float>> windows;
  for (auto& communicator : *communicators) {
    auto window =
        communicator.template allocate<float>(static_cast<std::size_t>(max_batch_tokens) * hidden_size);
    require(window);
    windows.push_back(std::move(*window));
  }

  std::map<int, std::unique_ptr<DeviceModel>> models;  // by device
  std::vector<std::unique_ptr<DeviceRank>> ranks;
  for (int rank = 0; rank < NRanks; ++rank) {
    auto const r = static_cast<std::size_t>(rank);
    require(cudaSetDevice(devices[r]));
    auto& model = models[devices[r]];
    if (!model) model = std::make_unique<DeviceModel>(tensors);
    ranks.push_back(std::make_unique<DeviceRank>(devices[r], Shard{rank, NRanks}, model->model, batches,
                                                 windows[r].data()));
    ranks.back()->capture(
        [&communicator = (*communicators)[r]](float* data, std::size_t count, cudaStream_t stream) {
          if constexpr (NRanks > 1)
            require(chevron::all_reduce<DeviceSelector<NRanks>>(communicator, data, data, count, stream));
        });
  }

  std::size_t sentence_count = 0;
  for (auto const& batch : batches) sentence_count += batch.sentences.size();
  DeviceRun result;
  result.total_seconds = time_passes(ranks, batches.size(), passes);
  for (auto const& communicator : *communicators) require(communicator.status());
  result.embeddings = ranks[0]->embeddings(sentence_count);
  for (auto const& rank : ranks) {
    auto const others = rank->embeddings(sentence_count);
    result.same_bits = result.same_bits && std::memcmp(others.data(), result.embeddings.data(),
                                                       others.size() * sizeof(float)) == 0;
  }

  // The same passes without the all-reduces, whose results nobody wants.
  if (NRanks > 1) {
    for (auto& rank : ranks) rank->capture([](float*, std::size_t, cudaStream_t) {});
    result.all_reduce_seconds =
        std::max(0.0, result.total_seconds - time_passes(ranks, batches.size(), passes));
  }
  return result;
}

int count_devices() {
  // Streams that share a queue of the device wait for each other, and there is one for each rank.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace

bool has_device() { return count_devices() > 0; }

DeviceRun run_on_devices(std::vector<Batch> const& batches, int passes, Tensors const& tensors,
                         int rank_count) {
  int const device_count = count_devices();
  if (device_count == 0) throw std::runtime_error("there is no GPU here");
  auto result = chevron::with_rank_count<CompiledRankCounts>(
      rank_count, [&](auto n) { return run<n>(batches, passes, tensors, device_count); });
  require(result);
  return std::move(*result);
}

}  // namespace tp2_encoder

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_DEVICE_KERNELS_CUH
#define TP2_ENCODER_DEVICE_KERNELS_CUH

//! @file
//! What the encoder does on a GPU besides products and all-reduces; the counterparts are in encoder.hpp. One block works on
//! one row of floats, or on one head of one token; matrices are row-major and without gaps.

#include <cuda_runtime.h>

#include "batch.hpp"
#include "model.hpp"

namespace tp2_encoder {

inline constexpr int row_threads = 128;
inline constexpr int values_per_thread = hidden_size / row_threads;
static_assert(hidden_size % row_threads == 0 && row_threads % 32 == 0);

//! A token's place: where its sentence begins, how long it is, and where in it the token stands.
struct Place {
  int first_token;
  int token_count;
  int position;
};

//! @brief The sum of a value over the block, the same bits in each thread.
__device__ inline float sum_over_block(float value) {
  __shared__ float of_warp[row_threads / 32];
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < row_threads / 32; ++warp) sum += of_warp[warp];
  return sum;
}

//! @brief A row, spread over the block's threads, to mean 0 and variance 1, then scaled and shifted.
__device__ inline void normalise_row(float (&row)[values_per_thread], float const* scale, float const* bias,
                                     float* to) {
  float sum = 0;
  for (float const x : row) sum += x;
  float const mean = sum_over_block(sum) / hidden_size;
  float squares = 0;
  for (float& x : row) {
    x -= mean;
    squares += x * x;
  }
  float const deviation = sqrtf(sum_over_block(squares) / hidden_size + layer_norm_epsilon);
  for (int k = 0; k < values_per_thread; ++k) {
    int const column = k * row_threads + static_cast<int>(threadIdx.x);
    to[column] = row[k] * (scale[column] / deviation) + bias[column];
  }
}

//! @brief Word + position + token type, normalised. A block per token.
static __global__ void embed_tokens(float const* words, float const* positions, float const* types,
                                    float const* scale, float const* bias, int const* ids,
                                    Place const* places, float* hidden) {
  int const token = static_cast<int>(blockIdx.x);
  float row[values_per_thread];
  for (int k = 0; k < values_per_thread; ++k) {
    int const column = k * row_threads + static_cast<int>(threadIdx.x);
    row[k] = words[ids[token] * hidden_size + column] +
             positions[places[token].position * hidden_size + column] + types[column];
  }
  normalise_row(row, scale, bias, hidden + token * hidden_size);
}

//! @brief hidden = normalised(hidden + sum + bias of the product). A block per token.
static __global__ void add_and_normalise(float* hidden, float const* sum, float const* product_bias,
                                         float const* scale, float const* bias) {
  int const at = static_cast<int>(blockIdx.x) * hidden_size;
  float row[values_per_thread];
  for (int k = 0; k < values_per_thread; ++k) {
    int const column = k * row_threads + static_cast<int>(threadIdx.x);
    row[k] = hidden[at + column] + sum[at + column] + product_bias[column];
  }
  normalise_row(row, scale, bias, hidden + at);
}

//! @brief Adds a bias to each row, then GELU in its exact form where asked for. A block per row.
static __global__ void add_bias(float* rows, float const* bias, int columns, bool gelu) {
  float* const row = rows + static_cast<int>(blockIdx.x) * columns;
  for (int column = static_cast<int>(threadIdx.x); column < columns; column += static_cast<int>(blockDim.x)) {
    float const x = row[column] + bias[column];
    row[column] = gelu ? x * 0.5f * (1.0f + erff(x * sqrtf(0.5f))) : x;
  }
}

//! @brief Self-attention within a sentence: a block of one warp per token (x) and head of this rank (y).
static __global__ void attend_heads(float const* query, float const* key, float const* value,
                                    Place const* places, int columns, float* context) {
  static_assert(head_size == 32, "a thread of the warp per column of a head");
  __shared__ float weights[max_tokens];
  int const token = static_cast<int>(blockIdx.x);
  int const head = static_cast<int>(blockIdx.y) * head_size;
  int const lane = static_cast<int>(threadIdx.x);
  Place const place = places[token];
  float const* const mine = query + token * columns + head;
  float const* const keys = key + place.first_token * columns + head;
  float const* const values = value + place.first_token * columns + head;

  float largest = -INFINITY;
  for (int other = lane; other < place.token_count; other += 32) {
    float score = 0;
    for (int k = 0; k < head_size; ++k) score += mine[k] * keys[other * columns + k];
    score /= sqrtf(static_cast<float>(head_size));
    weights[other] = score;
    largest = fmaxf(largest, score);
  }
  for (int distance = 16; distance > 0; distance /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  float sum = 0;
  for (int other = lane; other < place.token_count; other += 32) {
    weights[other] = expf(weights[other] - largest);
    sum += weights[other];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  __syncwarp();
  float mixed = 0;
  for (int other = 0; other < place.token_count; ++other)
    mixed += weights[other] / sum * values[other * columns + lane];
  context[token * columns + head + lane] = mixed;
}

//! @brief The mean over a sentence's tokens, of length 1. A block per sentence.
static __global__ void pool_sentences(float const* hidden, Batch::Sentence const* sentences,
                                      float* embeddings) {
  auto const [first, count] = sentences[blockIdx.x];
  float mean[values_per_thread];
  float squares = 0;
  for (int k = 0; k < values_per_thread; ++k) {
    int const column = k * row_threads + static_cast<int>(threadIdx.x);
    float sum = 0;
    for (int token = first; token < first + count; ++token) sum += hidden[token * hidden_size + column];
    mean[k] = sum / static_cast<float>(count);
    squares += mean[k] * mean[k];
  }
  float const length = sqrtf(sum_over_block(squares));
  for (int k = 0; k < values_per_thread; ++k)
    embeddings[static_cast<int>(blockIdx.x) * hidden_size + k * row_threads + static_cast<int>(threadIdx.x)] =
        mean[k] / length;
}

}  // namespace tp2_encoder

#endif

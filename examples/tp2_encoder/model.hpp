// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_MODEL_HPP
#define TP2_ENCODER_MODEL_HPP

//! @file
//! all-MiniLM-L6-v2: its sizes, and its weights as views into memory that a tensor source owns.

#include <array>
#include <concepts>
#include <string>

#include "matrix.hpp"

namespace tp2_encoder {

inline constexpr int hidden_size = 384;
inline constexpr int head_count = 12;
inline constexpr int head_size = hidden_size / head_count;
inline constexpr int layer_count = 6;
inline constexpr int ffn_size = 1536;
inline constexpr int vocabulary_size = 30522;
inline constexpr int position_count = 512;
inline constexpr int max_tokens = 256;  // of one sentence, [CLS] and [SEP] included
inline constexpr float layer_norm_epsilon = 1e-12f;

//! y = x * weight^T + bias, as the file stores it: weight is [outputs, inputs].
struct Linear {
  MatrixView weight;
  RowVectorView bias;
};

struct LayerNorm {
  RowVectorView scale;
  RowVectorView bias;
};

struct Layer {
  Linear query, key, value, attention_output;
  LayerNorm attention_norm;
  Linear ffn_up, ffn_down;
  LayerNorm ffn_norm;
};

struct Model {
  MatrixView word_embeddings, position_embeddings, token_type_embeddings;
  LayerNorm embedding_norm;
  std::array<Layer, layer_count> layers;
};

//! Gives the floats of a tensor by its name in the published model, and checks that its shape is [rows,
//! columns] (a vector has one row). The floats live as long as the source.
template <class Source>
concept TensorSource = requires(Source& source, std::string const& name, int n) {
  { source.tensor(name, n, n) } -> std::same_as<float const*>;
};

//! @brief The whole model as views into `source`, which must outlive it.
template <TensorSource Source>
Model read_model(Source& source) {
  auto matrix = [&](std::string const& name, int rows, int columns) {
    return MatrixView(source.tensor(name, rows, columns), rows, columns, Eigen::OuterStride<>(columns));
  };
  auto vector = [&](std::string const& name, int size) {
    return RowVectorView(source.tensor(name, 1, size), size);
  };
  auto linear = [&](std::string const& name, int outputs, int inputs) {
    return Linear{matrix(name + ".weight", outputs, inputs), vector(name + ".bias", outputs)};
  };
  auto norm = [&](std::string const& name) {
    return LayerNorm{vector(name + ".weight", hidden_size), vector(name + ".bias", hidden_size)};
  };
  auto layer = [&](int index) {
    auto const name = "encoder.layer." + std::to_string(index);
    return Layer{.query = linear(name + ".attention.self.query", hidden_size, hidden_size),
                 .key = linear(name + ".attention.self.key", hidden_size, hidden_size),
                 .value = linear(name + ".attention.self.value", hidden_size, hidden_size),
                 .attention_output = linear(name + ".attention.output.dense", hidden_size, hidden_size),
                 .attention_norm = norm(name + ".attention.output.LayerNorm"),
                 .ffn_up = linear(name + ".intermediate.dense", ffn_size, hidden_size),
                 .ffn_down = linear(name + ".output.dense", hidden_size, ffn_size),
                 .ffn_norm = norm(name + ".output.LayerNorm")};
  };
  static_assert(layer_count == 6, "tp2_encoder: one initialiser per layer stands below");
  return {.word_embeddings = matrix("embeddings.word_embeddings.weight", vocabulary_size, hidden_size),
          .position_embeddings = matrix("embeddings.position_embeddings.weight", position_count, hidden_size),
          .token_type_embeddings = matrix("embeddings.token_type_embeddings.weight", 2, hidden_size),
          .embedding_norm = norm("embeddings.LayerNorm"),
          .layers = {layer(0), layer(1), layer(2), layer(3), layer(4), layer(5)}};
}

}  // namespace tp2_encoder

#endif

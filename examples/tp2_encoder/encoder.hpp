// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_ENCODER_HPP
#define TP2_ENCODER_ENCODER_HPP

//! @file
//! The BERT encoder as one rank runs it. Whole weights and an all-reduce that does nothing give the plain
//! encoder.

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

#include "batch.hpp"
#include "model.hpp"
#include "shard.hpp"

namespace tp2_encoder {

//! Replaces `count` floats at `data` by their sums over all ranks; returns when they are there; throws on
//! failure.
template <class F>
concept AllReduceInPlace = std::invocable<F&, float*, std::size_t>;

//! @brief Each row to mean 0 and variance 1, then scaled and shifted.
inline void normalise_rows(Matrix& rows, LayerNorm const& norm) {
  for (auto row : rows.rowwise()) {
    row.array() -= row.mean();
    auto const variance = row.squaredNorm() / static_cast<float>(row.size());
    row.array() *= norm.scale.array() / std::sqrt(variance + layer_norm_epsilon);
    row += norm.bias;
  }
}

//! @brief Word + position + token type, normalised: [tokens, hidden].
inline Matrix embed(Model const& model, Batch const& batch) {
  Matrix hidden(static_cast<Eigen::Index>(batch.ids.size()), hidden_size);
  for (auto const& [first, count] : batch.sentences) {
    for (int position = 0; position < count; ++position) {
      hidden.row(first + position) = model.word_embeddings.row(batch.ids[first + position]) +
                                     model.position_embeddings.row(position) +
                                     model.token_type_embeddings.row(0);
    }
  }
  normalise_rows(hidden, model.embedding_norm);
  return hidden;
}

//! @brief inputs * weight^T + bias.
inline Matrix apply(Linear const& linear, Matrix const& inputs) {
  Matrix outputs = inputs * linear.weight.transpose();
  outputs.rowwise() += linear.bias;
  return outputs;
}

//! @brief Self-attention of the heads that this rank has, within each sentence: [tokens, heads of this rank].
inline Matrix attend(Layer const& layer, Matrix const& hidden, Batch const& batch) {
  auto const query = apply(layer.query, hidden);
  auto const key = apply(layer.key, hidden);
  auto const value = apply(layer.value, hidden);
  Matrix context(query.rows(), query.cols());
  for (auto const& sentence : batch.sentences) {
    for (Eigen::Index head = 0; head < query.cols(); head += head_size) {
      auto of_head = [&](auto& all) {
        return all.block(sentence.first_token, head, sentence.token_count, head_size);
      };
      Matrix weights = of_head(query) * of_head(key).transpose() / std::sqrt(static_cast<float>(head_size));
      for (auto row : weights.rowwise()) {
        row = (row.array() - row.maxCoeff()).exp();
        row /= row.sum();
      }
      of_head(context) = weights * of_head(value);
    }
  }
  return context;
}

//! @brief GELU in its exact form, x * Phi(x).
inline Matrix gelu(Matrix values) {
  for (auto& x : values.reshaped()) x *= 0.5f * (1.0f + std::erf(x * std::sqrt(0.5f)));
  return values;
}

//! @brief The mean over each sentence's tokens, of length 1: [sentences, hidden].
inline Matrix pool(Matrix const& hidden, Batch const& batch) {
  Matrix embeddings(static_cast<Eigen::Index>(batch.sentences.size()), hidden_size);
  for (Eigen::Index index = 0; auto const& [first, count] : batch.sentences) {
    embeddings.row(index++) = hidden.middleRows(first, count).colwise().mean().normalized();
  }
  return embeddings;
}

//! @brief Sentence embeddings of a batch, the same on all ranks.
//! @param partial     [at least tokens * hidden] floats; what is all-reduced lives here, so let it be a
//! window.
//! @param all_reduce  is called twice per layer, for [tokens * hidden] floats at the start of `partial`.
template <AllReduceInPlace AllReduce>
Matrix encode(Model const& model, Shard shard, Batch const& batch, std::span<float> partial,
              AllReduce&& all_reduce) {
  auto hidden = embed(model, batch);
  Eigen::Map<Matrix> sum(partial.data(), hidden.rows(), hidden.cols());
  auto add_over_ranks = [&](Matrix const& mine, Linear const& linear, LayerNorm const& norm) {
    sum.noalias() = mine * linear.weight.transpose();
    all_reduce(sum.data(), static_cast<std::size_t>(sum.size()));
    hidden += sum;
    hidden.rowwise() += linear.bias;
    normalise_rows(hidden, norm);
  };
  for (auto const& whole : model.layers) {
    auto const layer = shard_of(whole, shard);
    add_over_ranks(attend(layer, hidden, batch), layer.attention_output, layer.attention_norm);
    add_over_ranks(gelu(apply(layer.ffn_up, hidden)), layer.ffn_down, layer.ffn_norm);
  }
  return pool(hidden, batch);
}

}  // namespace tp2_encoder

#endif

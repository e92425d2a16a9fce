// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_SHARD_HPP
#define TP2_ENCODER_SHARD_HPP

//! @file
//! Which part of each weight a rank works with (Megatron's tensor parallelism). Shards are views.
//!
//!   product            split along        each rank has                    then
//!   query, key, value  outputs (heads)    its heads, of all tokens         attention, head by head
//!   attention output   inputs (heads)     a partial sum of all outputs     all-reduce, bias
//!   FFN up             outputs            its columns, of all tokens       GELU
//!   FFN down           inputs             a partial sum of all outputs     all-reduce, bias
//!
//! Embeddings, norms, residuals and pooling are small: every rank does them whole.

#include "model.hpp"

namespace tp2_encoder {

//! The part of rank `rank` of `rank_count`; each split size must be a multiple of `rank_count`.
struct Shard {
  int rank;
  int rank_count;

  [[nodiscard]] static bool can_split(int rank_count) {
    return rank_count > 0 && head_count % rank_count == 0 && ffn_size % rank_count == 0;
  }
  [[nodiscard]] Eigen::Index count(Eigen::Index whole) const { return whole / rank_count; }
  [[nodiscard]] Eigen::Index first(Eigen::Index whole) const { return count(whole) * rank; }
};

//! @brief Some of the outputs: rows of the weight and their biases.
inline Linear split_outputs(Linear const& whole, Shard shard) {
  auto const outputs = whole.weight.rows();
  return {rows_of(whole.weight, shard.first(outputs), shard.count(outputs)),
          RowVectorView(whole.bias.data() + shard.first(outputs), shard.count(outputs))};
}

//! @brief Some of the inputs: columns of the weight. The bias stays whole, it is added once, after the sum.
inline Linear split_inputs(Linear const& whole, Shard shard) {
  auto const inputs = whole.weight.cols();
  return {columns_of(whole.weight, shard.first(inputs), shard.count(inputs)), whole.bias};
}

//! @brief The layer as one rank sees it.
inline Layer shard_of(Layer const& whole, Shard shard) {
  return {.query = split_outputs(whole.query, shard),
          .key = split_outputs(whole.key, shard),
          .value = split_outputs(whole.value, shard),
          .attention_output = split_inputs(whole.attention_output, shard),
          .attention_norm = whole.attention_norm,
          .ffn_up = split_outputs(whole.ffn_up, shard),
          .ffn_down = split_inputs(whole.ffn_down, shard),
          .ffn_norm = whole.ffn_norm};
}

}  // namespace tp2_encoder

#endif

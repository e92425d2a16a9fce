// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_BATCH_HPP
#define TP2_ENCODER_BATCH_HPP

//! @file
//! Sentences packed one behind the other, without padding, so that one product serves all their tokens.

#include <cstddef>
#include <vector>

#include "model.hpp"

namespace tp2_encoder {

inline constexpr int max_batch_tokens = max_tokens;  // any one sentence fits

struct Batch {
  struct Sentence {
    int first_token;
    int token_count;
  };
  std::vector<int> ids;
  std::vector<Sentence> sentences;
};

//! @brief Packs sentences, in order, into as few batches of `max_batch_tokens` as that order allows.
inline std::vector<Batch> pack(std::vector<std::vector<int>> const& sentences) {
  std::vector<Batch> batches;
  for (auto const& ids : sentences) {
    if (batches.empty() || batches.back().ids.size() + ids.size() > max_batch_tokens) batches.emplace_back();
    auto& batch = batches.back();
    batch.sentences.push_back({static_cast<int>(batch.ids.size()), static_cast<int>(ids.size())});
    batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
  }
  return batches;
}

}  // namespace tp2_encoder

#endif

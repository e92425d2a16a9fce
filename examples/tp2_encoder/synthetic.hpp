// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_SYNTHETIC_HPP
#define TP2_ENCODER_SYNTHETIC_HPP

//! @file
//! Seeded weights in the shapes of the real model, for machines that cannot get it.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"
#include "text.hpp"

namespace tp2_encoder {

//! @brief FNV-1a, the same on every machine.
inline std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

//! A `TensorSource` that makes each tensor up on first use. A tensor depends on the seed and its name only.
class SyntheticTensors {
 public:
  explicit SyntheticTensors(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] float const* tensor(std::string const& name, int rows, int columns) {
    auto& values = tensors_[name];
    if (!values.empty()) return values.data();
    values.resize(static_cast<std::size_t>(rows) * columns);
    std::mt19937_64 bits(seed_ ^ hash_of(name));
    // Biases must not vanish: a bias that each rank adds before the all-reduce has to show up as a
    // difference. Products keep the size of what they multiply, so that attention and GELU work in their
    // curved parts.
    auto const width = name.ends_with("LayerNorm.weight") || rows == 1
                           ? 0.1f
                           : std::sqrt(3.0f / static_cast<float>(columns));
    auto const centre = name.ends_with("LayerNorm.weight") ? 1.0f : 0.0f;
    std::uniform_real_distribution<float> around(centre - width, centre + width);
    for (auto& value : values) value = around(bits);
    return values.data();
  }

 private:
  std::uint64_t seed_;
  std::map<std::string, std::vector<float>> tensors_;
};

//! A tokenizer without a vocabulary: each word is one token, its id a hash of its letters.
class HashedWords {
 public:
  static constexpr int cls = 101, sep = 102, first_word = 1000;  // as in the real vocabulary

  [[nodiscard]] std::vector<int> encode(std::string_view text, std::size_t longest) const {
    std::vector<int> ids{cls};
    for (auto const& word : split_words(text)) {
      if (ids.size() + 1 == longest) break;
      ids.push_back(first_word + static_cast<int>(hash_of(word) % (vocabulary_size - first_word)));
    }
    ids.push_back(sep);
    return ids;
  }
};

}  // namespace tp2_encoder

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_REFERENCE_HPP
#define TP2_ENCODER_REFERENCE_HPP

//! @file
//! Token ids and embeddings from an independent implementation, as reference.py writes them.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "model.hpp"

namespace tp2_encoder {

struct Reference {
  std::string made_by;
  std::vector<std::vector<int>> ids;
  Matrix embeddings;
};

//! @brief The reference of exactly these sentences, in this order; throws where the file lacks one.
inline Reference read_reference(std::filesystem::path const& path,
                                std::vector<std::string> const& sentences) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  auto const json = nlohmann::json::parse(file);
  std::map<std::string, nlohmann::json const*> by_text;
  for (auto const& entry : json.at("sentences")) by_text[entry.at("text").get<std::string>()] = &entry;

  Reference reference{.made_by = json.at("made_by"),
                      .ids = {},
                      .embeddings = Matrix(static_cast<Eigen::Index>(sentences.size()), hidden_size)};
  for (Eigen::Index row = 0; auto const& sentence : sentences) {
    auto const found = by_text.find(sentence);
    if (found == by_text.end()) throw std::runtime_error(path.string() + " lacks the sentence: " + sentence);
    reference.ids.push_back(found->second->at("ids"));
    auto const embedding = found->second->at("embedding").get<std::vector<float>>();
    if (embedding.size() != hidden_size)
      throw std::runtime_error(path.string() + " has a wrong embedding size");
    reference.embeddings.row(row++) = RowVectorView(embedding.data(), hidden_size);
  }
  return reference;
}

}  // namespace tp2_encoder

#endif

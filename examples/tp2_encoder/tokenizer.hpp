// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_TOKENIZER_HPP
#define TP2_ENCODER_TOKENIZER_HPP

//! @file
//! WordPiece: each word becomes the longest pieces of the vocabulary, from left to right.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text.hpp"

namespace tp2_encoder {

//! Token ids of a sentence. Text never turns into a special token: a literal "[SEP]" is three words here.
class WordPiece {
 public:
  //! @param vocabulary  a file with one piece per line; the line number is the id.
  explicit WordPiece(std::filesystem::path const& vocabulary) {
    std::ifstream lines(vocabulary);
    for (std::string piece; std::getline(lines, piece);) ids_.emplace(piece, static_cast<int>(ids_.size()));
    for (auto const* special : {"[CLS]", "[SEP]", "[UNK]"}) {
      if (!ids_.contains(special)) throw std::runtime_error(vocabulary.string() + " has no " + special);
    }
  }

  //! @brief [CLS], the pieces of the text, [SEP]: `longest` ids at most, cut at the end.
  [[nodiscard]] std::vector<int> encode(std::string_view text, std::size_t longest) const {
    std::vector<int> ids{ids_.at("[CLS]")};
    for (auto const& word : split_words(text)) append_pieces(ids, word);
    if (ids.size() >= longest) ids.resize(longest - 1);
    ids.push_back(ids_.at("[SEP]"));
    return ids;
  }

 private:
  static constexpr int longest_word = 100;  // in characters; longer ones are unknown as a whole

  void append_pieces(std::vector<int>& ids, std::string const& word) const {
    auto const before = ids.size();
    auto unknown = length_of(word) > longest_word;
    for (std::size_t begin = 0; begin < word.size() && !unknown;) {
      auto const piece = longest_piece(word, begin);
      unknown = piece.end == begin;
      ids.push_back(piece.id);
      begin = piece.end;
    }
    if (!unknown) return;
    ids.resize(before);
    ids.push_back(ids_.at("[UNK]"));
  }

  struct Piece {
    int id;
    std::size_t end;
  };

  //! @brief The longest piece that starts at `begin`; it ends there where there is none.
  [[nodiscard]] Piece longest_piece(std::string const& word, std::size_t begin) const {
    for (auto end = word.size(); end > begin; --end) {
      if (end < word.size() && continues_character(word[end])) continue;
      auto const match = ids_.find((begin > 0 ? "##" : "") + word.substr(begin, end - begin));
      if (match != ids_.end()) return {match->second, end};
    }
    return {0, begin};
  }

  static bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

  static std::ptrdiff_t length_of(std::string const& word) {
    return std::ranges::count_if(word, [](char byte) { return !continues_character(byte); });
  }

  std::unordered_map<std::string, int> ids_;
};

}  // namespace tp2_encoder

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_TEXT_HPP
#define TP2_ENCODER_TEXT_HPP

//! @file
//! From text to words, as uncased BERT does it: clean, decompose, drop accents, lower-case, split.
//! ICU knows the Unicode properties.

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tp2_encoder {

//! @brief Control, format and private-use characters, which are dropped; blanks are not among them.
inline bool is_control(UChar32 c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return (U_GET_GC_MASK(c) & (U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK)) != 0;
}

//! @brief Punctuation in Unicode's sense, plus all ASCII that is no letter, digit or blank ("$", "^", ...).
inline bool is_punctuation(UChar32 c) { return (c < 0x80 && u_isgraph(c) && !u_isalnum(c)) || u_ispunct(c); }

//! @brief The CJK ideographs that BERT makes words of their own: its own list, kana and hangul not included.
inline bool is_ideograph(UChar32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

//! @brief The words of a UTF-8 text, normalised, in UTF-8. Punctuation and ideographs are words of their own.
inline std::vector<std::string> split_words(std::string_view text) {
  auto each = [](icu::UnicodeString const& string, auto&& visit) {
    for (int32_t at = 0; at < string.length(); at = string.moveIndex32(at, 1)) visit(string.char32At(at));
  };
  // Bytes that are no UTF-8 become U+FFFD, which goes the way of the control characters.
  auto const raw = icu::UnicodeString::fromUTF8({text.data(), static_cast<int32_t>(text.size())});
  icu::UnicodeString cleaned;
  each(raw, [&](UChar32 c) {
    if (c == 0 || c == 0xFFFD || is_control(c)) return;
    if (is_ideograph(c)) {
      cleaned.append(UChar32{' '}).append(c).append(UChar32{' '});
    } else {
      cleaned.append(c);
    }
  });

  UErrorCode status = U_ZERO_ERROR;
  auto const decomposed = icu::Normalizer2::getNFDInstance(status)->normalize(cleaned, status);
  if (U_FAILURE(status)) throw std::runtime_error(std::string("ICU: ") + u_errorName(status));

  std::vector<std::string> words;
  icu::UnicodeString word;
  auto finish_word = [&] {
    if (!word.isEmpty()) word.toUTF8String(words.emplace_back());
    word.remove();
  };
  each(decomposed, [&](UChar32 c) {
    if (u_charType(c) == U_NON_SPACING_MARK) return;
    if (u_isUWhiteSpace(c)) return finish_word();
    if (is_punctuation(c)) finish_word();
    word.append(u_tolower(c));
    if (is_punctuation(c)) finish_word();
  });
  finish_word();
  return words;
}

}  // namespace tp2_encoder

#endif

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TP2_ENCODER_SENTENCES_HPP
#define TP2_ENCODER_SENTENCES_HPP

//! @file
//! What is encoded where no sentences are given. `reference.json` holds the expected ids and embeddings of
//! these.

#include <array>

namespace tp2_encoder {

inline constexpr std::array built_in_sentences = {
    "A chevron on the sleeve shows a soldier's rank.",
    "The insignia on a uniform tells who is in command.",
    "The cat sleeps on the warm windowsill.",
    "A kitten naps where the sun shines in.",
    "How do I add up vectors that live on several GPUs?",
    "All-reduce sums a tensor over all ranks, and every rank gets the result.",
    "Café crème & naïve façades: très agréable, n'est-ce pas?",
    "東京は日本の首都です。Tokyo is the capital of Japan!",
    "It costs $9.99 (or 8,50 €) -- a bargain 😀",
    "Pneumonoultramicroscopicsilicovolcanoconiosis is a lung disease.",
};

}  // namespace tp2_encoder

#endif

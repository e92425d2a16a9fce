#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the token ids of tp2_encoder with those of Hugging Face's `tokenizers`, for any sentences.

    pip install tokenizers
    tp2_encoder --weights DIR --file SENTENCES --tokens | check_tokenizer.py DIR/vocab.txt
"""

import json
import sys

import tokenizers


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    theirs = tokenizers.BertWordPieceTokenizer(sys.argv[1], lowercase=True)
    theirs.enable_truncation(256)
    different = total = 0
    for line in sys.stdin:
        ours = json.loads(line)
        expected = theirs.encode(ours["text"]).ids
        total += 1
        if ours["ids"] != expected:
            different += 1
            if different <= 20:
                print(f"{ours['text']!r}\n  ours     {ours['ids']}\n  expected {expected}")
    print(f"{total} sentences, {different} with other token ids than expected")
    sys.exit(1 if different or not total else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reference embeddings of all-MiniLM-L6-v2 by another implementation, in float64.

The encoder is FlaxBertModel of Hugging Face's transformers on JAX, the tokenizer their `tokenizers`; nothing
is shared with the C++ program but the weights file.

    python3 -m venv venv && venv/bin/pip install 'transformers<5' jax flax
    tp2_encoder --list-sentences > sentences.txt
    venv/bin/python reference.py --weights build/weights/all-MiniLM-L6-v2 --file sentences.txt > reference.json
"""

import argparse
import json
import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import jax
import jax.numpy as jnp
import numpy as np
import transformers

MAX_TOKENS = 256


def load(weights: pathlib.Path):
    """The tokenizer and the model, with its float32 weights widened to float64."""
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(weights / "vocab.txt"), do_lower_case=True)
    model = transformers.FlaxBertModel.from_pretrained(weights, dtype=jnp.float64)
    model.params = jax.tree_util.tree_map(lambda leaf: leaf.astype(jnp.float64), model.params)
    return tokenizer, model


def embed(tokenizer, model, text: str):
    """Token ids, and the normalised mean of the last hidden states."""
    inputs = tokenizer(text, truncation=True, max_length=MAX_TOKENS, return_tensors="np")
    mean = np.asarray(model(**inputs).last_hidden_state)[0].mean(axis=0)
    return inputs["input_ids"][0].tolist(), mean / np.linalg.norm(mean)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=pathlib.Path, required=True, help="the folder that get_weights.sh filled")
    parser.add_argument("--file", type=pathlib.Path, required=True, help="one sentence per line")
    arguments = parser.parse_args()

    tokenizer, model = load(arguments.weights)
    sentences = []
    for text in arguments.file.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        ids, embedding = embed(tokenizer, model, text)
        rounded = [float(f"{value:.7g}") for value in embedding]
        sentences.append({"text": text, "ids": ids, "embedding": rounded})
    made_by = f"FlaxBertModel in float64, transformers {transformers.__version__}, jax {jax.__version__}"
    rows = ",\n".join(json.dumps(sentence, ensure_ascii=False) for sentence in sentences)
    print(f'{{"made_by": {json.dumps(made_by)},\n'
          f'"model": "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)",\n'
          f'"sentences": [\n{rows}\n]}}')


if __name__ == "__main__":
    main()

"""Pretrained models of several families as others publish them, but tiny and untrained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

LETTERS = "LAGVSERTIDPKQNFYMHWCXBUZO"
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LETTERS)
ESM = ("<cls>", "<pad>", "<eos>", "<unk>", *LETTERS, ".", "-", "<null_1>", "<mask>")
SPELLINGS = [
    "CCO",
    "c1ccccc1",
    "CC(=O)O",
    "CCN(CC)CC",
    "C[C@@H](N)C(=O)O",
    "ClC1CCCCC1",
    "O=C=O",
    "CCCCCCCC",
] * 8
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}


def write_base(folder: Path, family: str, **changes: Any) -> None:
    """A pretrained model as others publish it: config.json, weights and vocabulary, untrained and tiny."""
    import torch
    from transformers import AutoConfig, AutoModel

    places = {"max_position_embeddings": 64}
    own: dict[str, dict[str, Any]] = {
        "bert": {"vocab_size": len(BERT), "pad_token_id": 0, **SIZES, **places},
        "esm": {
            "vocab_size": len(ESM),
            "pad_token_id": 1,
            "mask_token_id": ESM.index("<mask>"),
            "position_embedding_type": "rotary",
            **SIZES,
            **places,
        },
        "roberta": {"vocab_size": 290, "pad_token_id": 1, **SIZES, **places},
        "gpt2": {"vocab_size": len(ESM), "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64},
        "llama": {"vocab_size": len(ESM), "num_key_value_heads": 2, **SIZES, **places},
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModel.from_config(AutoConfig.for_model(family, **{**own[family], **changes}))
    model.save_pretrained(folder)
    if family in ("bert", "esm"):
        (folder / "vocab.txt").write_text("\n".join(BERT if family == "bert" else ESM))
    elif family == "roberta":
        _write_merges(folder)
    else:
        (folder / "tokenizer.json").write_text(_letters_json(ESM))


def _write_merges(folder: Path) -> None:
    from tokenizers.implementations import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(SPELLINGS, vocab_size=290, special_tokens=special, show_progress=False)
    trained.save_model(str(folder))


def _letters_json(tokens: Sequence[str]) -> str:
    """A tokenizer.json of single letters, nothing around a text, that would cut texts and fill them up."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Split

    tokenizer = Tokenizer(WordLevel({token: place for place, token in enumerate(tokens)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = Split(Regex("."), "isolated")
    tokenizer.add_special_tokens(["<cls>", "<pad>", "<eos>", "<unk>", "<mask>"])
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8, pad_id=1, pad_token="<pad>")
    return tokenizer.to_str()

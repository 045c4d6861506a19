"""The hash that names a base model."""

from __future__ import annotations

import torch
from transformers import BertConfig, BertForMaskedLM, BertModel

from gia_science.adapters import LoRAConfig, SparseGINConfig, attach, weights_sha256

CONFIG = {"vocab_size": 24, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4}


def test_heads_and_poolers_do_not_count() -> None:
    """A checkpoint without them gets them anew, at random, each time it is loaded."""
    full = BertModel(BertConfig(**CONFIG, intermediate_size=16))
    masked = BertForMaskedLM(BertConfig(**CONFIG, intermediate_size=16))
    masked.bert.load_state_dict(full.state_dict(), strict=False)
    assert weights_sha256(full) == weights_sha256(masked)
    assert len(weights_sha256(full)) == 64


def test_every_weight_counts(base) -> None:
    model = base.build()
    digest = weights_sha256(model)
    assert weights_sha256(base.build()) == digest
    for parameter in model.parameters():
        with torch.no_grad():
            kept = parameter.clone()
            parameter.view(-1)[0] += 1e-3
            assert weights_sha256(model) != digest
            parameter.copy_(kept)
    assert weights_sha256(model) == digest


def test_adapters_do_not_count(base) -> None:
    model = base.build()
    digest = weights_sha256(model)
    for config in (SparseGINConfig(), LoRAConfig()):
        attached = attach(model, config)
        assert weights_sha256(model) == digest
        attached.remove()

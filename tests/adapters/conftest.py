"""Base models of width 16 with random weights, one per family, and this package's own network."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    EsmConfig,
    EsmModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
    RobertaConfig,
    RobertaModel,
)

from gia_science.attention import AttentionConfig
from gia_science.data.batching import Batch
from gia_science.model.backbone import GIATransformer
from gia_science.model.config import BackboneConfig

VOCABULARY, WIDTH, LAYERS, HEADS = 24, 16, 3, 4
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
ROWS = ((7, 9, 11, 5, 6), (8, 12, 5, 13, 14, 6, 9, 20, 21), (10, 23))


def _bert() -> nn.Module:
    return BertModel(BertConfig(**SIZES), add_pooling_layer=False)


def _roberta() -> nn.Module:
    return RobertaModel(RobertaConfig(**SIZES, **SPECIAL), add_pooling_layer=False)


def _esm() -> nn.Module:
    config = EsmConfig(**SIZES, pad_token_id=0, mask_token_id=4, position_embedding_type="rotary")
    return EsmModel(config, add_pooling_layer=False)


def _gpt2() -> nn.Module:
    sizes = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 40}
    return GPT2Model(GPT2Config(vocab_size=VOCABULARY, **sizes, **SPECIAL))


def _llama() -> nn.Module:
    return LlamaModel(LlamaConfig(**SIZES, **SPECIAL, num_key_value_heads=2))


def _own() -> nn.Module:
    attention = AttentionConfig(kind="gin", heads=HEADS)
    return GIATransformer(
        BackboneConfig(
            vocabulary=VOCABULARY,
            values=False,
            features=0,
            context_buckets=(),
            width=WIDTH,
            layers=LAYERS,
            attention=attention,
        )
    )


@dataclass(frozen=True)
class Base:
    """A family: how to build a model of it, and how to call it on rows of token ids."""

    name: str
    make: Callable[[], nn.Module]
    causal: bool = False

    def build(self) -> nn.Module:
        return copy.deepcopy(_built(self))

    def _build(self) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(3)
            model = self.make().eval()
            with torch.no_grad():
                for parameter in model.parameters():
                    # Fresh models attend evenly and have biases of zero; these do not.
                    parameter.add_(0.4 * torch.randn_like(parameter))
        return model

    def __call__(
        self, model: nn.Module, rows: Sequence[Sequence[int]], *, left: bool = False, fill: int = 3
    ) -> list[Tensor]:
        """Hidden states of each row, without those of padding."""
        ids, mask, positions = pad(rows, left=left, fill=fill)
        if self.name == "own":
            hidden, _ = model(_batch(ids, mask, positions))
        else:
            hidden = model(
                input_ids=ids, attention_mask=mask.long(), position_ids=positions
            ).last_hidden_state
        return [states[real] for states, real in zip(hidden, mask, strict=True)]


@cache
def _built(base: Base) -> nn.Module:
    return base._build()


def pad(rows: Sequence[Sequence[int]], *, left: bool, fill: int) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and positions, each (B, N)."""
    longest = max(len(row) for row in rows)
    ids = torch.full((len(rows), longest), fill)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    positions = torch.full((len(rows), longest), 2)
    for place, row in enumerate(rows):
        real = slice(longest - len(row), longest) if left else slice(0, len(row))
        ids[place, real] = torch.tensor(row)
        mask[place, real] = True
        positions[place, real] = torch.arange(len(row)) + 2
    return ids, mask, positions


def _batch(ids: Tensor, mask: Tensor, positions: Tensor) -> Batch:
    B, N = ids.shape
    return Batch(
        ids=ids,
        values=torch.zeros(B, N),
        positions=positions,
        features=torch.zeros(B, N, 0),
        contexts=torch.zeros(B, N, 0, dtype=torch.long),
        units=torch.zeros(B, N, dtype=torch.long),
        mask=mask,
        descriptors=torch.zeros(B, 0),
        edges=torch.zeros(B, 0, 2, dtype=torch.long),
        edge_kinds=torch.zeros(B, 0, dtype=torch.long),
    )


BASES = (
    Base("bert", _bert),
    Base("roberta", _roberta),
    Base("esm", _esm),
    Base("gpt2", _gpt2, causal=True),
    Base("llama", _llama, causal=True),
    Base("own", _own),
)


@pytest.fixture(params=BASES, ids=lambda base: base.name)
def base(request: pytest.FixtureRequest) -> Base:
    found: Base = request.param
    return found


@pytest.fixture
def bert() -> Base:
    return BASES[0]


@pytest.fixture(params=[base for base in BASES if base.name != "own"], ids=lambda base: base.name)
def hf_base(request: pytest.FixtureRequest) -> Base:
    found: Base = request.param
    return found


@pytest.fixture
def rows() -> tuple[tuple[int, ...], ...]:
    return ROWS

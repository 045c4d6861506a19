"""Untrained networks of width 16 on real tokenizers and descriptors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
import torch

from gia_science.attention import AttentionConfig
from gia_science.data.source import DataSource
from gia_science.data.targets import Targets
from gia_science.model.config import BlockConfig, NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.folder import SavedModel
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer

TEXTS = {
    "smiles": ("CCO", "c1ccccc1C(=O)O", "C[C@@H](N)C(=O)O", "CC(=O)Nc1ccc(O)cc1"),
    "protein": ("MKTAYIAKQR", "GLWSKIKEVG", "MKXLLUWPFY", "AAAACDEF"),
    "composition": ("Fe2O3", "NaCl", "Hg0.7Cd0.3Te", "H2O"),
}
PROVIDERS = {"smiles": ("rdkit2d",), "protein": ("protparam",), "composition": ("element_stats",)}


def make_featurizer(
    domain: str, *, columns: tuple[str, ...], providers: tuple[str, ...] | None
) -> Featurizer:
    tokenizer = make_tokenizer(domain)
    source = DescriptorSource(
        providers=PROVIDERS[domain] if providers is None else providers, columns=columns
    )
    raw = [
        source.compute(tokenizer.read(text), [10.0 * row + place for place in range(len(columns))])
        for row, text in enumerate(TEXTS[domain])
    ]
    return Featurizer.fit(tokenizer, source=source, raw=raw, max_length=200)


def make_targets(kind: str, *, names: tuple[str, ...], labels: Sequence[str]) -> Targets:
    if kind == "regression":
        return Targets(names=names, kind=kind, mean=(5.0,) * len(names), scale=(2.0,) * len(names))
    return Targets.model_validate({"names": names, "kind": kind, "labels": tuple(labels)})


def make_saved(
    domain: str = "smiles",
    *,
    kind: str = "regression",
    names: tuple[str, ...] = ("y",),
    labels: Sequence[str] = ("no", "yes"),
    columns: tuple[str, ...] = (),
    providers: tuple[str, ...] | None = None,
    attention: dict[str, Any] | None = None,
    seed: int = 0,
    **options: Any,
) -> SavedModel:
    """A saved model as training would make it, with random weights."""
    featurizer = make_featurizer(domain, columns=columns, providers=providers)
    targets = make_targets(kind, names=names, labels=labels)
    tokenizer = featurizer.tokenizer
    config = NetworkConfig(
        vocabulary=len(tokenizer.vocabulary),
        values=domain == "composition",
        features=len(tokenizer.feature_names),
        context_buckets=tokenizer.context_buckets,
        blocks=tuple(
            BlockConfig(name=block.name, size=block.size, tokens=block.size if block.size <= 16 else 3)
            for block in featurizer.blocks
        ),
        kind=targets.kind,
        outputs=targets.outputs,
        attention=AttentionConfig(heads=2, **(attention or {})),
        **{"width": 16, "layers": 2, **options},
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = PropertyEnsemble(config).eval()
        with torch.no_grad():
            for parameter in network.parameters():
                # Away from the special values that parameters start from, such as zero biases.
                parameter.add_(0.05 * torch.randn_like(parameter))
    return SavedModel(
        network=network,
        targets=targets,
        featurizer=featurizer,
        data=DataSource(input="sequence", domain=domain),
        recipe="name: tiny\n",
        split={"lines": {"train": [2, 3]}},
        metrics={"parameters": 1},
        card="# tiny\n",
    )


@pytest.fixture(scope="session", name="make_saved")
def _make_saved():
    return make_saved


@pytest.fixture(scope="session")
def of_kind():
    """A network of a domain and a kind of attention, made once."""
    return cache(lambda domain, attention: make_saved(domain, attention={"kind": attention}))

"""What adapters are compared on: hidden residues of peptides, and properties, on a base or a random one like it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from gia_science.adapters import AdapterConfig
from gia_science.benchmark.experiment import LANGUAGE, Experiment, Network, Part, pairs_perplexity, task_score
from gia_science.benchmark.protocol import protocol_of
from gia_science.data.batching import Batch
from gia_science.data.record import LoadedTable
from gia_science.data.source import dataset_table
from gia_science.data.splits.base import PARTS, Split
from gia_science.data.splits.base import Part as SplitPart
from gia_science.model.base_weights import build_base, load_base
from gia_science.model.config import BaseConfig, NetworkConfig
from gia_science.model.heads import PropertyNetwork
from gia_science.model.huggingface import HuggingFaceBackbone
from gia_science.model.language import LanguageModel
from gia_science.settings import Strict
from gia_science.tokens.stream import IntArray
from gia_science.training.api import start_recipe
from gia_science.training.architecture import network_config
from gia_science.training.base import Base
from gia_science.training.datamodule import BatchedData, Examples
from gia_science.training.encode import Encoded, encode
from gia_science.training.language import MaskedRows, collate_tokens
from gia_science.training.members import member_data
from gia_science.training.prepare import Prepared, prepare

Start = Literal["pretrained", "random"]
STARTS: tuple[Start, ...] = ("pretrained", "random")
TASKS = (LANGUAGE, "amp", "gb1_two_vs_rest")
MASK_SHARE = 0.15
GB1_DOMAIN = 56
"""Residues from the start that hold the domain B1 with the four places that vary; the rest is the same in all rows."""
_CLUSTERED = {"split.method": "cluster", "split.clusters": "kmers", "split.fractions": (0.7, 0.1, 0.2)}


class Rows(Strict):
    """How many rows are used; those of a part are drawn at random.

    Parameters
    ----------
    train, validation, test, watched : int
        The last are training rows that the training loss is measured on.
    longest : int
        Most residues of a peptide.
    """

    train: int = Field(ge=1)
    validation: int = Field(ge=1)
    test: int = Field(ge=1)
    watched: int = Field(ge=1)
    longest: int = Field(default=1000, ge=1)


class MaskedConfig(Strict):
    """Architecture of `MaskedNetwork`."""

    base: BaseConfig
    adapter: AdapterConfig


class MaskedNetwork(LanguageModel):
    """A transformers model with an adapter, and its own head that predicts hidden tokens, which is trained.

    Parameters
    ----------
    config : MaskedConfig
    model : torch.nn.Module
        With the head.
    """

    def __init__(self, config: MaskedConfig, *, model: nn.Module) -> None:
        super().__init__()
        self.config = config
        base: Any = model.base_model
        self.backbone = HuggingFaceBackbone(config.base, model=base)
        self.head = next(part for part in model.children() if part is not base)
        self.backbone.adapt(config.adapter)
        self.backbone.freeze_unused()

    def forward(self, batch: Batch) -> Tensor:
        """Logits ``(B, N, V)``."""
        logits: Tensor = self.head(self.backbone(batch)[0])
        return logits


@dataclass(frozen=True)
class Adapted:
    """An experiment on a base.

    Parameters
    ----------
    item : Experiment
    config : NetworkConfig or MaskedConfig
        Of all its networks, whose adapters differ.
    model : torch.nn.Module
        The base that each network has a copy of; with its head for hidden tokens where these are predicted.
    """

    item: Experiment
    config: NetworkConfig | MaskedConfig
    model: nn.Module

    @property
    def base(self) -> nn.Module:
        """The base without its head."""
        if isinstance(self.config, NetworkConfig):
            return self.model
        base: nn.Module = self.model.base_model  # type: ignore[assignment]  # an attribute of transformers' models
        return base

    def network(self, adapter: AdapterConfig) -> Network:
        """A network that is not trained yet."""
        config, model = self.config.model_copy(update={"adapter": adapter}), copy.deepcopy(self.model)
        if isinstance(config, MaskedConfig):
            return MaskedNetwork(config, model=model)
        network = PropertyNetwork(config, base=model)
        network.adapt()
        assert isinstance(network.backbone, HuggingFaceBackbone)
        network.backbone.freeze_unused()
        return network


def prepare_rows(
    task: str, *, base: str, seed: int, settings: Mapping[str, Any], rows: Rows
) -> tuple[Prepared, Encoded]:
    """Rows of a task, split, cut down and encoded.

    Parameters
    ----------
    task : str
        One of `TASKS`.
    base : str
        Folder or id of the pretrained model, whose vocabulary is used.
    seed : int
        Draws the split, and the rows of each part.
    settings : mapping
        Settings of the recipe under dotted keys.
    rows : Rows

    Raises
    ------
    GiaError
        As `prepare` and `encode`.
    """
    peptides = task in (LANGUAGE, "amp")
    changes = {
        **(_CLUSTERED if peptides else {}),
        # An average over a whole curve needs the whole curve.
        "training.patience": 1.0,
        "training.min_steps": 1,
        **settings,
        "backbone": {"pretrained": base},
        "network.members": 1,
        "descriptors": [],
        "data.duplicates": "first",
        "seed": seed,
        **({"split.seed": seed} if peptides else {}),
    }
    recipe = start_recipe("amp" if peptides else task, changes=changes)
    prepared = prepare(recipe, table=None if peptides else gb1_domain())
    rows = rows if peptides else rows.model_copy(update={"longest": GB1_DOMAIN})
    prepared = _cut_down(prepared, rows, seed=seed)
    return prepared, encode(prepared)


def gb1_domain() -> LoadedTable:
    """The variants of GB1, cut to the domain."""
    table = dataset_table("gb1")
    place = table.position("sequence")
    records = []
    for record in table.records:
        cells = list(record.cells)
        cells[place] = cells[place][:GB1_DOMAIN]
        records.append(replace(record, cells=type(record.cells)(cells)))
    return replace(table, records=tuple(records))


def _cut_down(prepared: Prepared, rows: Rows, *, seed: int) -> Prepared:
    rng = np.random.default_rng(seed)
    lengths = np.array([row.reading.length for row in prepared.rows])

    def drawn(part: SplitPart) -> IntArray:
        whole: IntArray = getattr(prepared.split, part)
        return np.sort(rng.permutation(whole[lengths[whole] <= rows.longest])[: getattr(rows, part)])

    train, validation, test = map(drawn, PARTS)
    describe = f"{prepared.split.describe}; rows drawn at random"
    return replace(prepared, split=Split(train, validation, test, describe=describe))


def adapted(task: str, prepared: Prepared, encoded: Encoded, *, start: Start) -> Adapted:
    """The experiment of a task on the pretrained base, or on a random one of its architecture.

    Raises
    ------
    BaseModelError
        When the base cannot be read, or lacks the head that predicts hidden tokens.
    """
    assert prepared.base is not None
    masked = task == LANGUAGE
    seed = prepared.recipe.seed
    config: NetworkConfig | MaskedConfig = network_config(prepared, encoded)
    assert isinstance(config, NetworkConfig)
    if masked:
        assert config.base is not None
        assert config.adapter is not None
        config = MaskedConfig(base=config.base, adapter=config.adapter)
    item = _language(prepared, encoded) if masked else _property(task, prepared, encoded)
    name = task if start == "pretrained" else f"{task}, random base"
    model = _base(prepared.base, start=start, masked=masked, seed=seed)
    return Adapted(replace(item, name=name), config, model)


def _base(base: Base, *, start: Start, masked: bool, seed: int) -> nn.Module:
    if start == "pretrained":
        return load_base(base.files, masked=masked)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_base(base.files.architecture, masked=masked)


def _language(prepared: Prepared, encoded: Encoded) -> Experiment:
    recipe = prepared.recipe

    def shown(part: SplitPart, *, fresh: bool) -> Examples:
        chosen: Sequence[int] = getattr(prepared.split, part)
        whole = Examples([encoded.examples[row] for row in chosen], targets=[np.zeros(0)] * len(chosen))
        vocabulary = encoded.featurizer.tokenizer.vocabulary
        return MaskedRows(whole, vocabulary=vocabulary, share=MASK_SHARE, seed=recipe.seed, fresh=fresh)

    def score(network: LanguageModel, part: Part) -> float:
        rows = shown(part, fresh=False)
        pairs = [rows[index] for index in range(len(rows))]
        return pairs_perplexity(network, pairs, tokens=recipe.training.batch_tokens)

    return Experiment(
        name=LANGUAGE,
        seed=recipe.seed,
        metric="perplexity",
        greater_is_better=False,
        optimizer=recipe.training,
        data=lambda: BatchedData(
            train=shown("train", fresh=True),
            validation=shown("validation", fresh=False),
            optimizer=recipe.training,
            collate=collate_tokens,
            seed=recipe.seed,
        ),
        score=score,
    )


def _property(task: str, prepared: Prepared, encoded: Encoded) -> Experiment:
    recipe, metric = prepared.recipe, protocol_of(task).metric
    return Experiment(
        name=task,
        seed=recipe.seed,
        metric=metric.title,
        greater_is_better=metric.greater_is_better,
        optimizer=recipe.training,
        data=partial(member_data, prepared, encoded, prepared.member_rows[0], seed=recipe.seed),
        score=partial(task_score, prepared, encoded, metric.name),
    )

"""A small training that notes which rows a process was given: ``python recorded.py 2 FOLDER`` runs it in two."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from gia_science.attention import AttentionConfig
from gia_science.data.batching import Batch
from gia_science.model.config import NetworkConfig
from gia_science.model.heads import PropertyNetwork
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer
from gia_science.training.datamodule import BatchedData, Examples, Pair, collate_pairs
from gia_science.training.devices import Devices, choose_devices
from gia_science.training.fit import Fitted, fit_network
from gia_science.training.optimizer_recipe import OptimizerRecipe

ROWS, CHECKED, EPOCHS = 13, 7, 4
OPTIMIZER = OptimizerRecipe(
    epochs=EPOCHS, min_steps=1, patience=1.0, batch_rows=4, ema=0.5, learning_rate=1e-2
)


def recorded(devices: Devices) -> tuple[Fitted[PropertyNetwork], list[float]]:
    """Trains on 13 rows in batches of 4, the last of one; the targets that this process has seen come with it.

    Training rows have the targets 1 to 13, validation rows -1 to -7. Every third has a second target.
    """
    featurizer = Featurizer(
        make_tokenizer("protein"),
        source=DescriptorSource(providers=[], columns=[]),
        scalings=[],
        max_length=64,
    )
    seen: list[float] = []

    def collate(pairs: Sequence[Pair]) -> tuple[Batch, Tensor]:
        seen.extend(float(target[0]) for _, target in pairs if not np.isnan(target[0]))
        return collate_pairs(pairs, per_token=False)

    def rows(targets: Sequence[float]) -> Examples:
        texts = ["ACDEFGHIKLMNP"[: 2 + int(abs(5 * target)) % 11] for target in targets]
        return Examples(
            [featurizer.example(featurizer.read(text)) for text in texts],
            targets=[np.array([target, 0.5 if target % 3 == 0 else np.nan]) for target in targets],
        )

    tokenizer = featurizer.tokenizer
    config = NetworkConfig(
        vocabulary=len(tokenizer.vocabulary),
        values=False,
        features=len(tokenizer.feature_names),
        context_buckets=tokenizer.context_buckets,
        kind="regression",
        outputs=2,
        width=16,
        layers=1,
        attention=AttentionConfig(heads=2),
        dropout=0.0,
        token_dropout=0.0,
        context_dropout=0.0,
        descriptor_dropout=0.0,
    )
    data = BatchedData(
        train=rows([float(row) for row in range(1, ROWS + 1)]),
        validation=rows([-float(row) for row in range(1, CHECKED + 1)]),
        optimizer=OPTIMIZER,
        collate=collate,
        seed=3,
    )
    fitted = fit_network(
        partial(PropertyNetwork, config),
        data=data,
        optimizer=OPTIMIZER,
        validate=True,
        seed=0,
        devices=devices,
        progress=False,
    )
    return fitted, seen


if __name__ == "__main__":
    torch.set_num_threads(1)
    fitted, seen = recorded(choose_devices("cpu", devices=int(sys.argv[1])))
    place = Path(sys.argv[2]) / str(torch.distributed.get_rank())
    place.with_suffix(".json").write_text(json.dumps({"seen": seen, **fitted.to_json()}))
    safetensors.torch.save_file(fitted.network.state_dict(), place.with_suffix(".safetensors"))

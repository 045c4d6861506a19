"""From prepared rows to what the network is trained on; all that is learnt here is learnt from training rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from gia_science.data.targets import Targets, fit_scaling
from gia_science.tokens.featurizer import DescriptorSource, Example, Featurizer
from gia_science.training.prepare import Prepared

logger = logging.getLogger("gia_science")


@dataclass(frozen=True)
class Encoded:
    """The rows of an experiment as the network sees them.

    Parameters
    ----------
    featurizer : Featurizer
        With the scaling of descriptors.
    examples : list of Example
        One per prepared row.
    targets : Targets
        With the scaling of targets.
    """

    featurizer: Featurizer
    examples: list[Example]
    targets: Targets


def encode(prepared: Prepared, *, featurizer: Featurizer | None = None) -> Encoded:
    """Tokens and scaled descriptors of every row, and the targets with their scaling.

    Parameters
    ----------
    prepared : Prepared
    featurizer : Featurizer, optional
        That of a trained model, whose scaling of descriptors is kept; by default it is learnt.
    """
    recipe = prepared.recipe
    if featurizer is not None:
        known = [featurizer.example(row.reading, numbers=row.numbers.tolist()) for row in prepared.rows]
        return Encoded(featurizer, known, _scaled_targets(prepared))
    source = DescriptorSource(providers=recipe.descriptors or (), columns=recipe.data.columns)
    raw = [source.compute(row.reading, row.numbers.tolist()) for row in prepared.rows]
    featurizer = Featurizer.fit(
        prepared.tokenizer,
        source=source,
        raw=[raw[index] for index in prepared.split.train],
        max_length=recipe.network.max_length,
    )
    examples = [
        featurizer.example(row.reading, raw=numbers) for row, numbers in zip(prepared.rows, raw, strict=True)
    ]
    return Encoded(featurizer, examples, _scaled_targets(prepared))


def _scaled_targets(prepared: Prepared) -> Targets:
    targets = prepared.targets
    if targets.kind != "regression":
        return targets
    mean, scale = fit_scaling(np.stack([prepared.rows[index].target for index in prepared.split.train]))
    for name, spread in zip(targets.names, scale, strict=True):
        if spread == 0:
            logger.warning("the target %s is constant in the training rows: so is its prediction", name)
    return targets.model_copy(update={"mean": mean, "scale": scale})

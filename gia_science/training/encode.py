"""From prepared rows to what the network is trained on; all that is learnt here is learnt from training rows."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gia_science.data.forms import choose_form, describe_form
from gia_science.data.targets import Targets, fit_scaling
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.featurizer import DescriptorSource, Example, Featurizer
from gia_science.training.base import require_vocabulary
from gia_science.training.prepare import Prepared
from gia_science.training.target_recipe import QUANTILES

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
        raw=[raw[index] for index in prepared.learnt],
        max_length=recipe.network.max_length,
    )
    examples = [
        featurizer.example(row.reading, raw=numbers) for row, numbers in zip(prepared.rows, raw, strict=True)
    ]
    if isinstance(prepared.tokenizer, BaseTokenizer) and prepared.base is not None:
        require_vocabulary(prepared.tokenizer, examples, source=prepared.base.files.source)
    return Encoded(featurizer, examples, _scaled_targets(prepared))


def _scaled_targets(prepared: Prepared) -> Targets:
    targets, recipe = prepared.targets, prepared.recipe.target
    if targets.kind == "per_token":
        return targets
    values = np.stack([prepared.rows[index].target for index in prepared.learnt])
    if targets.kind != "regression":
        return _decided(targets, values) if recipe.decision == "balanced" else targets
    quantile = recipe.loss == "quantile"
    chosen = [choose_form(column, choice=recipe.form, gate=not quantile) for column in values.T]
    for name, choice in zip(targets.names, chosen, strict=True):
        if choice.reason:
            logger.info("target %s: %s (%s)", name, describe_form(choice.form), choice.reason)
    forms = tuple(choice.form for choice in chosen)
    bent = [form.transform(column) for form, column in zip(forms, values.T, strict=True)]
    # Where zeros have a gate, the values are those of the other rows.
    learnt = [
        np.where(column == 0, np.nan, column) if form.gated else column
        for form, column in zip(forms, bent, strict=True)
    ]
    mean, scale = fit_scaling(np.stack(learnt, axis=1))
    for name, spread in zip(targets.names, scale, strict=True):
        if spread == 0:
            logger.warning("the target %s is constant in the training rows: so is its prediction", name)
    described = {
        "mean": mean,
        "scale": scale,
        "forms": forms,
        # By the validation rows of band gaps the absolute error is the same either way, the squared error is not.
        "zeros": "median" if recipe.loss == "absolute" else "mean",
        "quantiles": (recipe.quantiles or QUANTILES) if quantile else (),
    }
    return targets.model_copy(update=described)


def _decided(targets: Targets, values: npt.NDArray[np.float64]) -> Targets:
    """Targets whose labels are chosen for balanced accuracy: with the shares of the classes in training."""
    if targets.kind == "multiclass":
        counts = np.array([np.sum(values == label) for label in range(len(targets.labels))], dtype=np.float64)
        found = counts
        known = np.full(len(counts), counts.sum())
    else:
        found, known = np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0).astype(np.float64)
    # As if each class had been seen half a time more: no share is 0 or 1.
    shares = (found + 0.5) / (known + (len(targets.labels) / 2 if targets.kind == "multiclass" else 1.0))
    told = ", ".join(f"{share:.3g}" for share in shares)
    logger.info("labels are chosen for balanced accuracy; shares of the classes in training: %s", told)
    return targets.model_copy(update={"priors": tuple(shares.tolist())})

"""A forest on the descriptors beside the networks, and how much of the prediction is its own."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from gia_science.data.targets import Targets
from gia_science.errors import RecipeError
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.forest import Forest
from gia_science.model.heads import PropertyNetwork
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.training.encode import Encoded
from gia_science.training.fit import Fitted
from gia_science.training.prepare import Prepared

logger = logging.getLogger("gia_science")
FloatArray = npt.NDArray[np.float64]

TREES = 200
FEWEST_ROWS = 50
"""Rows left out by the networks, below which a share cannot be told: it is then a half."""
SHARES = np.linspace(0.0, 1.0, 21)
FEATURE_SHARE = 1 / 3
"""Descriptors that a regression tree of a random forest tries at a split, as of the baseline."""


@dataclass(frozen=True)
class Blend:
    """A fitted forest and its share.

    Parameters
    ----------
    forest : Forest
    name : str
        ``"random forest"`` or ``"extra trees"``.
    share : float
        Part of the prediction that is the forest's, 0 to 1; the rest is the networks'.
    rows : int
        Rows that neither had seen, by which the share was chosen.
    """

    forest: Forest
    name: str
    share: float
    rows: int

    def __str__(self) -> str:
        chosen = (
            f"chosen by {self.rows} rows that neither had seen"
            if self.rows
            else "too few rows to choose it by"
        )
        return (
            f"{self.share:.0%} {self.name} on the same descriptors, {1 - self.share:.0%} networks ({chosen})"
        )


def fit_blend(
    prepared: Prepared, encoded: Encoded, members: Sequence[Fitted[PropertyNetwork]], *, jobs: int = 1
) -> Blend | None:
    """Fit a forest and choose its share.

    Of a random forest and extremely randomised trees, both on bootstrap samples, the one with the smaller error on rows
    out of its bags is kept. Its share is the one of `SHARES` at which the blend of its predictions out of the bags
    with those of the networks errs least, on the rows that a network was stopped by and has not learnt from. A linear
    stack of two (Wolpert, Neural Networks 1992, 5, 241), whose weights sum to one. As a single network stands here
    for all of them, the networks' share comes out rather too small.

    Parameters
    ----------
    prepared : Prepared
    encoded : Encoded
    members : sequence of Fitted
    jobs : int, default 1
        Threads of the forests.

    Returns
    -------
    Blend or None
        None where the forest does not help.

    Raises
    ------
    RecipeError
        Where there are no descriptors, or the task is one for which there is no forest.
    """
    targets = encoded.targets
    _require_possible(encoded)
    values = np.stack([row.target for row in prepared.rows])
    known = np.array([row for row in prepared.learnt if not np.isnan(values[row]).any()], dtype=np.int64)
    x = np.nan_to_num(np.stack([encoded.examples[row].descriptors for row in known]))
    weights = None if prepared.weights is None else prepared.weights[known]
    name, fitted, out_of_bag = _best_forest(
        x, values[known], targets, weights=weights, seed=prepared.recipe.seed, jobs=jobs
    )
    rows, by_networks = _left_out(prepared, encoded, members)
    place = {int(row): number for number, row in enumerate(known)}
    seen = np.array([int(row) in place for row in rows], dtype=bool)
    rows, by_networks = rows[seen], by_networks[seen]
    by_forest = out_of_bag[[place[int(row)] for row in rows]] if len(rows) else by_networks
    there = np.isfinite(by_forest).all(axis=1)
    truth, by_networks, by_forest = values[rows[there]], by_networks[there], by_forest[there]
    forest = Forest.of(fitted, features=x.shape[1], classes=len(targets.labels) or None)
    if len(truth) < FEWEST_ROWS:
        return Blend(forest, name, 0.5, 0)
    errors = [_error(share * by_forest + (1 - share) * by_networks, truth, targets) for share in SHARES]
    share = float(SHARES[int(np.argmin(errors))])
    return Blend(forest, name, share, len(truth)) if share > 0 else None


def blended(
    prepared: Prepared, encoded: Encoded, members: Sequence[Fitted[PropertyNetwork]], *, jobs: int = 1
) -> tuple[PropertyEnsemble, Targets]:
    """The model of trained members, with a forest where the recipe asks for one, and how its outputs are read."""
    networks = [member.network for member in members]
    blend = fit_blend(prepared, encoded, members, jobs=jobs) if prepared.recipe.network.blend else None
    if blend is None:
        if prepared.recipe.network.blend:
            logger.info("blend: a forest beside the networks does not help, there is none")
        return PropertyEnsemble.of(networks), encoded.targets
    logger.info("blend: %s", blend)
    ensemble = PropertyEnsemble.of(networks, forest=blend.forest)
    return ensemble, encoded.targets.model_copy(update={"blend": blend.share, "blended_with": str(blend)})


def _require_possible(encoded: Encoded) -> None:
    targets = encoded.targets
    if (
        targets.kind == "per_token"
        or targets.quantiles
        or (targets.kind == "multilabel" and targets.outputs > 1)
    ):
        what = "quantiles" if targets.quantiles else f"{targets.kind} targets"
        raise RecipeError(f"there is no forest to blend with for {what}", hint="leave out network.blend")
    if not len(encoded.examples[0].descriptors):
        raise RecipeError(
            "a forest needs descriptors to blend with", hint="leave out network.blend, or name descriptors"
        )


def _best_forest(
    x: FloatArray,
    y: FloatArray,
    targets: Targets,
    *,
    weights: FloatArray | None,
    seed: int,
    jobs: int,
) -> tuple[str, Any, FloatArray]:
    """Name, fitted forest and its predictions out of the bags ``(n, outputs)`` of the better of two."""
    fitted = []
    for name, maker in _makers(targets).items():
        forest = maker(TREES, bootstrap=True, oob_score=_no_score, random_state=seed, n_jobs=jobs)
        forest.fit(
            x, y if targets.kind == "regression" and y.shape[1] > 1 else y[:, 0], sample_weight=weights
        )
        found = _out_of_bag(forest, targets)
        there = np.isfinite(found).all(axis=1)
        fitted.append((_error(found[there], y[there], targets) if there.any() else 0.0, name, forest, found))
    _, name, forest, found = min(fitted, key=lambda one: one[0])
    return name, forest, found


def _makers(targets: Targets) -> dict[str, Any]:
    if targets.kind == "regression":
        return {
            "random forest": partial(RandomForestRegressor, max_features=FEATURE_SHARE),
            "extra trees": ExtraTreesRegressor,
        }
    return {"random forest": RandomForestClassifier, "extra trees": ExtraTreesClassifier}


def _no_score(*_: Any) -> float:
    """What scikit-learn would say of the predictions out of the bags, which are all that is asked for."""
    return 0.0


def _out_of_bag(forest: Any, targets: Targets) -> FloatArray:
    """Predictions ``(n, outputs)`` by the trees that have not seen the row; NaN where all have."""
    if targets.kind == "regression":
        found: FloatArray = forest.oob_prediction_.reshape(-1, targets.outputs)
        return found
    shares = forest.oob_decision_function_
    probabilities: FloatArray = np.zeros((len(shares), len(targets.labels)))
    probabilities[:, forest.classes_.astype(np.int64)] = shares
    return probabilities[:, 1:] if targets.kind == "binary" else probabilities


def _left_out(
    prepared: Prepared, encoded: Encoded, members: Sequence[Fitted[PropertyNetwork]]
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Rows that stopped a network, and what that network predicts of them ``(n, outputs)``."""
    rows, found = [], []
    for member, drawn in zip(members, prepared.member_rows, strict=True):
        if not len(drawn.validation):
            continue
        alone = PropertyEnsemble.of([member.network])
        examples = [encoded.examples[row] for row in drawn.validation]
        outputs = all_computed(predict_examples(alone, examples, kind=encoded.targets.kind))
        rows.append(drawn.validation)
        found.append(encoded.targets.decode(np.stack(outputs)))
    if not rows:
        return np.zeros(0, dtype=np.int64), np.zeros((0, encoded.targets.outputs))
    return np.concatenate(rows), np.concatenate(found)


def _error(prediction: FloatArray, truth: FloatArray, targets: Targets) -> float:
    """Mean absolute plus root mean squared error, in standard deviations; or the log loss."""
    if targets.kind == "regression":
        scale = np.where(truth.std(axis=0) > 0, truth.std(axis=0), 1.0)
        error = (prediction - truth) / scale
        return float(np.abs(error).mean() + np.sqrt((error**2).mean()))
    clipped = np.clip(prediction, 1e-3, 1 - 1e-3)
    if targets.kind == "multiclass":
        return float(-np.log(np.take_along_axis(clipped, truth.astype(np.int64), axis=1)).mean())
    return float(-np.where(truth == 1, np.log(clipped), np.log(1 - clipped)).mean())

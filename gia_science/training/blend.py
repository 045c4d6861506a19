"""A forest on the descriptors beside the networks, and how much of the prediction is its own."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from gia_science.data.targets import Targets, every_class
from gia_science.errors import RecipeError
from gia_science.model.config import Loss
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.forest import Forest
from gia_science.model.heads import PropertyNetwork
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.tokens.stream import IntArray
from gia_science.training.encode import Encoded
from gia_science.training.fit import Fitted
from gia_science.training.left_out import by_others
from gia_science.training.members import FEW_ROWS
from gia_science.training.prepare import Prepared

logger = logging.getLogger("gia_science")
FloatArray = npt.NDArray[np.float64]

TREES = 100
FOLD_TREES = 30
"""Trees of the forests that predict rows left out, enough to know how well such a forest does. Of few rows it has as
many as the model's: there its weakness would be taken for that of trees, and time is no matter."""
TRIED_OF_NUMBERS = 1.0
"""Share of the descriptors that a split of a regression tries."""
TRIED_OF_CLASSES: Mapping[str, float | str] = {"protein": "sqrt", "smiles": "sqrt", "composition": 0.5}
"""The same of classes, by domain, or the square root of their number. On rows left out of glasses and metals a half is
better than the root; on those of BACE and BBBP, where most descriptors count environments that few molecules have, the
root is; on those of peptides neither."""
MOST_LEAVES = 5000
"""Beyond so many rows leaves hold several of them, so that the stored trees stay of one size."""
FEWEST_ROWS = 10
"""Rows left out, below which a share cannot be told: it is then a half."""
SHARES = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True)
class Blend:
    """A fitted forest and its share.

    Parameters
    ----------
    forest : Forest
    share : float
        Part of the prediction that is the forest's, 0 to 1; the rest is the networks'.
    rows : int
        Rows that neither had seen, by which the share was chosen; 0 where there were too few.
    """

    forest: Forest
    share: float
    rows: int

    def __str__(self) -> str:
        chosen = "too few rows to choose it by"
        if self.rows:
            chosen = f"chosen by {self.rows} rows that neither had seen"
        return (
            f"{self.share:.0%} extra trees on the same descriptors, {1 - self.share:.0%} networks ({chosen})"
        )


def fit_blend(
    prepared: Prepared, encoded: Encoded, members: Sequence[Fitted[PropertyNetwork]], *, jobs: int = 1
) -> Blend | None:
    """Fit extremely randomised trees (Geurts et al., Mach. Learn. 2006, 63, 3) and choose their share.

    The share is the one of `SHARES` at which the blend errs least, by what the recipe's loss asks for, on the rows that
    a network was stopped by: that network, and a forest fitted on what the network has learnt from, predict them. A
    linear stack of two (Wolpert, Neural Networks 1992, 5, 241), whose weights sum to one. Of few rows the network
    predicts them as it was at the epochs that are best for the others, as its own was chosen by these rows. As a single
    network stands here for all of them, the networks' share comes out rather too small. The forest of the model is then
    fitted on all rows not held out.

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
    _require_possible(encoded)
    table, targets = _Table(prepared, encoded, jobs), encoded.targets
    truth, by_networks, by_forests = table.left_out(members)
    if len(truth) < FEWEST_ROWS:
        share, rows = 0.5, 0
    else:
        loss = prepared.recipe.target.loss
        errors = [
            _error(share * by_forests + (1 - share) * by_networks, truth, targets, loss=loss)
            for share in SHARES
        ]
        share, rows = float(SHARES[int(np.argmin(errors))]), len(truth)
    if not share:
        return None
    forest = Forest.of(
        table.fit(prepared.learnt, trees=TREES),
        features=table.x.shape[1],
        classes=len(targets.labels) or None,
        binary=targets.kind == "binary",
    )
    return Blend(forest, share, rows)


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
    if not targets.can_blend:
        what = "quantiles" if targets.quantiles else f"{targets.kind} targets"
        raise RecipeError(f"there is no forest to blend with for {what}", hint="leave out network.blend")
    if not len(encoded.examples[0].descriptors):
        raise RecipeError(
            "a forest needs descriptors to blend with", hint="leave out network.blend, or name descriptors"
        )


class _Table:
    """What the forests see of the rows."""

    def __init__(self, prepared: Prepared, encoded: Encoded, jobs: int) -> None:
        self.prepared, self.encoded, self.jobs = prepared, encoded, jobs
        self.x = np.nan_to_num(np.stack([example.descriptors for example in encoded.examples]))
        self.y = np.stack([row.target for row in prepared.rows])
        self.known = np.asarray(~np.isnan(self.y).any(axis=1))

    def fit(self, rows: IntArray, *, trees: int) -> Any:
        """A forest of scikit-learn, fitted on those of the rows whose targets are known."""
        targets, weights = self.encoded.targets, self.prepared.weights
        rows = rows[self.known[rows]]
        numbers = targets.kind == "regression"
        make = ExtraTreesRegressor if numbers else ExtraTreesClassifier
        forest = make(
            trees,
            max_features=TRIED_OF_NUMBERS if numbers else TRIED_OF_CLASSES[self.prepared.tokenizer.domain],
            min_samples_leaf=1 + len(rows) // MOST_LEAVES,
            random_state=self.prepared.recipe.seed,
            n_jobs=self.jobs,
        )
        y = self.y[rows] if self.y.shape[1] > 1 else self.y[rows, 0]
        return forest.fit(self.x[rows], y, sample_weight=None if weights is None else weights[rows])

    def left_out(
        self, members: Sequence[Fitted[PropertyNetwork]]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of the rows that stopped a network: measured, predicted by that network, and by such a forest."""
        targets = self.encoded.targets
        parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        drawn = self.prepared.member_rows if self.prepared.rotated else self.prepared.member_rows[:1]
        best = [member.best_epoch for member in members[: len(drawn)]]
        for number, (member, rows) in enumerate(zip(members, drawn, strict=False)):
            known = self.known[rows.validation]
            asked = rows.validation[known]
            if not len(asked):
                continue
            if member.left_out:
                outputs = by_others(member.left_out, best, number=number)[known]
            else:
                outputs = self._outputs(member.network, asked)
            few = len(rows.train) <= FEW_ROWS
            forest = self.fit(rows.train, trees=TREES if few else FOLD_TREES)
            parts.append(
                (
                    self.y[asked],
                    targets.decode(outputs),
                    self._predict(forest, asked),
                )
            )
        if not parts:
            none = np.zeros((0, targets.outputs))
            return none, none, none
        truth, networks, forests = (np.concatenate(one) for one in zip(*parts, strict=True))
        return truth, networks, forests

    def _outputs(self, network: PropertyNetwork, rows: IntArray) -> FloatArray:
        """What a network says of rows ``(n, C)``, scaled as it has learnt it."""
        examples = [self.encoded.examples[row] for row in rows]
        found = predict_examples(PropertyEnsemble.of([network]), examples, kind=self.encoded.targets.kind)
        return np.stack(all_computed(found))

    def _predict(self, forest: Any, rows: IntArray) -> FloatArray:
        targets = self.encoded.targets
        if targets.kind == "regression":
            values: FloatArray = forest.predict(self.x[rows]).reshape(len(rows), targets.outputs)
            return values
        found = forest.predict_proba(self.x[rows])
        probabilities: FloatArray = every_class(found, seen=forest.classes_, classes=len(targets.labels))
        return probabilities[:, 1:] if targets.kind == "binary" else probabilities


def _error(prediction: FloatArray, truth: FloatArray, targets: Targets, *, loss: Loss) -> float:
    """What is asked of numbers, in standard deviations: absolute, squared, or both together; else the log loss."""
    if targets.kind == "regression":
        scale = np.where(truth.std(axis=0) > 0, truth.std(axis=0), 1.0)
        error = (prediction - truth) / scale
        absolute, squared = float(np.abs(error).mean()), float(np.sqrt((error**2).mean()))
        return {"absolute": absolute, "squared": squared}.get(loss, absolute + squared)
    clipped = np.clip(prediction, 1e-3, 1 - 1e-3)
    if targets.kind == "multiclass":
        return float(-np.log(np.take_along_axis(clipped, truth.astype(np.int64), axis=1)).mean())
    return float(-np.where(truth == 1, np.log(clipped), np.log(1 - clipped)).mean())

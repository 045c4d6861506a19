"""How each shipped task is judged: its official splits, its metric, and the recipe that is trained on them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gia_science import catalog
from gia_science.data.cards import DatasetCard, fetch_files, load_card, whereabouts
from gia_science.errors import RecipeError, TableError
from gia_science.evaluation.baselines import NAMES
from gia_science.evaluation.metrics import METRICS, Metric, ScoreKind, primary_metric
from gia_science.training.recipe import Recipe

FIXED = ("data", "target", "split", "baselines", "seed")
"""Settings that a protocol decides."""
DIGITS = 12


@dataclass(frozen=True)
class Protocol:
    """How one task is judged.

    Parameters
    ----------
    task : str
        Name of a shipped task.
    recipe : Recipe
        The task's own with the settings asked for, and all baselines beside.
    card : DatasetCard
        Card of its data.
    folds : tuple of int or None
        Test folds of a cross-validation; (None,) where there is one prescribed split.
    """

    task: str
    recipe: Recipe
    card: DatasetCard
    folds: tuple[int | None, ...]

    @property
    def recipe_hash(self) -> str:
        """First digits of the SHA-256 of the whole recipe, defaults included; the same for all folds and seeds."""
        return hashlib.sha256(self.recipe.to_yaml().encode()).hexdigest()[:DIGITS]

    def recipe_of(self, *, fold: int | None, seed: int) -> Recipe:
        """The recipe of one trial; the seed draws the weights, never the split."""
        return self.recipe.updated({"seed": seed} | ({} if fold is None else {"split.fold": fold}))

    @property
    def metric(self) -> Metric:
        """The metric on the card; where the task is of another kind than the card's, the usual one of its kind."""
        kind = score_kind_of(self.recipe)
        named = [metric for metric in METRICS[kind] if metric.name == self.card.evaluation.metric]
        return named[0] if named else primary_metric(kind)

    @property
    def metric_title(self) -> str:
        """Its title, with the unit where it has that of the target."""
        units = [target.unit for target in self.card.targets if target.column in self.recipe.target.names]
        has_unit = self.metric.name in ("rmse", "mae") and len(units) == 1 and units[0]
        return f"{self.metric.title}, {units[0]}" if has_unit else self.metric.title


def score_kind_of(recipe: Recipe) -> ScoreKind:
    """Kind of metric that a shipped task is judged by; each of them says its kind."""
    kind = recipe.target.kind
    if kind == "regression":
        return "regression"
    return "binary" if kind in ("binary", "multilabel") else "multiclass"


def protocol_of(
    task: str, *, settings: Mapping[str, Any] | None = None, baselines: Sequence[str] | None = None
) -> Protocol:
    """Protocol of a shipped task.

    Parameters
    ----------
    task : str
    settings : mapping, optional
        Settings of the recipe under dotted keys, but for those that the protocol decides.
    baselines : sequence of str, optional
        Baselines to fit beside; by default all.

    Raises
    ------
    DefinitionError
        When there is no such task.
    RecipeError
        When a setting is not valid, or is not free.
    """
    for key in settings or {}:
        if key.split(".")[0] in FIXED:
            hint = f"{', '.join(FIXED[:-1])} and {FIXED[-1]} are not free here; gia train changes them"
            raise RecipeError("the protocol of a task decides this setting", got=repr(key), hint=hint)
    beside = list(NAMES if baselines is None else baselines)
    recipe = Recipe.load(catalog.find("tasks", task)).updated({**(settings or {}), "baselines": beside})
    card = load_card(str(recipe.data.dataset))
    split = recipe.split
    return Protocol(task, recipe, card, tuple(range(split.folds)) if split.method == "folds" else (None,))


def bundled_tasks() -> tuple[str, ...]:
    """The tasks whose data come with the package."""
    return tuple(task for task in catalog.names("tasks") if whereabouts(protocol_of(task).card) == "bundled")


def missing_data(protocols: Sequence[Protocol]) -> dict[str, str]:
    """Why the data of some tasks cannot be had, by task; what can be downloaded is downloaded."""
    reasons: dict[str, str | None] = {}
    for protocol in protocols:
        if protocol.card.name not in reasons:
            try:
                fetch_files(protocol.card)
            except TableError as error:
                reasons[protocol.card.name] = str(error)
            else:
                reasons[protocol.card.name] = None
    return {
        protocol.task: reason for protocol in protocols if (reason := reasons[protocol.card.name]) is not None
    }

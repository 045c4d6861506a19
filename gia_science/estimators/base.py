"""What the regressor and the classifier share: parameters, training, and outputs of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from gia_science.data.record import LoadedTable
from gia_science.data.rows import Columns, Row, read_rows, training_reader
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError, TrainingError, listed
from gia_science.estimators.given import (
    Given,
    as_records,
    bad_rows_error,
    choose_columns,
    require_column,
)
from gia_science.estimators.options import (
    check_choices,
    recipe_settings,
    recognise_domain,
    seed_of,
    threads,
)
from gia_science.estimators.precise import precise
from gia_science.estimators.rows import compute_rows
from gia_science.estimators.stored import StoredInFiles, load_saved
from gia_science.model.folder import SavedModel
from gia_science.prediction.model import Model
from gia_science.prediction.outcomes import Outcome, outcomes
from gia_science.training.arrays import Measured, Settled, fit_arrays, settle_arrays

FloatArray = npt.NDArray[np.float64]
FEWEST_ROWS = 2


class SequencePredictor(StoredInFiles, BaseEstimator):
    """A network that is trained by `fit`; `SequenceRegressor` has the parameters."""

    def __init__(
        self,
        init: str | Path | None = None,
        *,
        domain: str | None = None,
        input: str | None = None,
        columns: Sequence[str] | None = None,
        width: int | None = None,
        layers: int | None = None,
        members: int | None = None,
        epochs: int | None = None,
        min_steps: int | None = None,
        learning_rate: float | None = None,
        validation_fraction: float = 0.1,
        settings: Mapping[str, Any] | None = None,
        on_error: str = "raise",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.init = init
        self.domain = domain
        self.input = input
        self.columns = columns
        self.width = width
        self.layers = layers
        self.members = members
        self.epochs = epochs
        self.min_steps = min_steps
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.settings = settings
        self.on_error = on_error
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def model_(self) -> Model:
        """The fitted model, as `gia_science.load` gives it; ``model_.save(folder)`` writes its folder."""
        if "saved_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no model before it is fitted")
        return Model(self.saved_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.input_tags.allow_nan = self.on_error == "nan"
        return tags

    def _fit(
        self, given: Given, values: FloatArray, targets: Targets, *, sample_weight: Any, groups: Any
    ) -> Self:
        """Train on targets in the user's units or indices of labels, ``(n, T)``."""
        check_choices(on_error=self.on_error, validation_fraction=self.validation_fraction)
        check_consistent_length(*(given.columns.values()), values, sample_weight, groups)
        if len(given) < FEWEST_ROWS:
            raise TableError(f"too few rows to train on: n_samples = {len(given)}", expected="two or more")
        weights = _check_sample_weight(sample_weight, values, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise TrainingError("all sample weights are zero", expected="at least one above 0")
        start = self._start()
        column, numbers = self._columns(given, start)
        table = as_records(given, input=column, numbers=numbers, names=(column, *numbers))
        settled = settle_arrays(
            self._settings(table, targets, numbers=numbers, start=start),
            table,
            start=start if isinstance(start, SavedModel) else None,
        )
        rows = _read(settled, table, given, values)
        if targets.kind == "regression":
            _refuse_targets(rows, numbers, values)
        measured = Measured(rows, weights, None if groups is None else [str(group) for group in groups])
        with threads(self.n_jobs):
            self.saved_ = fit_arrays(
                settled,
                measured,
                targets=targets,
                validation=self.validation_fraction,
                progress=bool(self.verbose),
            )
        # MAPIE takes an estimator without n_features_in_ for fitted by this.
        self.fitted_ = True
        return self

    def _start(self) -> Any:
        return None if self.init is None else load_saved(self.init)

    def _columns(self, given: Given, start: Any) -> tuple[str, tuple[str, ...]]:
        """Input and numeric columns: a model to start from has numeric columns of its own."""
        if not isinstance(start, SavedModel):
            return choose_columns(given, input=self.input, columns=self.columns)
        numbers = start.featurizer.source.columns
        if self.columns is not None and tuple(self.columns) != numbers:
            raise RecipeError(
                "columns are not those of init", got=listed(self.columns), expected=listed(numbers) or "none"
            )
        for name in numbers:
            require_column(given, name)
        return choose_columns(given, input=self.input, columns=numbers)[0], numbers

    def _settings(
        self, table: LoadedTable, targets: Targets, *, numbers: Sequence[str], start: Any
    ) -> dict[str, Any]:
        if start is None:
            domain = recognise_domain(table, domain=self.domain)
        else:
            domain = start.featurizer.tokenizer.domain
            if self.domain not in (None, domain):
                raise RecipeError("domain is not that of init", got=str(self.domain), expected=domain)
        pretrained = start is not None and not isinstance(start, SavedModel)
        named = {
            "data.input": table.columns[0],
            "data.domain": domain,
            "data.columns": list(numbers),
            "target.names": list(targets.names),
            "target.kind": targets.kind,
            "target.labels": list(targets.labels),
            "pretrained.folder": str(self.init) if pretrained else None,
            "network.width": self.width,
            "network.layers": self.layers,
            "network.members": self.members,
            "training.epochs": self.epochs,
            "training.min_steps": self.min_steps,
            "training.learning_rate": self.learning_rate,
            "split.fractions": (1 - self.validation_fraction, self.validation_fraction, 0.0),
            "baselines": [],
        }
        return recipe_settings(named=named, settings=self.settings, seed=seed_of(self.random_state))

    def _outputs(self, X: Any) -> FloatArray:
        """Predictions in the user's units or probabilities, ``(n, outputs)``; NaN for rows that cannot be used."""
        check_is_fitted(self)
        check_choices(on_error=self.on_error, validation_fraction=self.validation_fraction)
        saved = self.saved_
        column, numbers = str(saved.data.input), saved.featurizer.source.columns

        def computed(table: LoadedTable) -> Iterator[Outcome]:
            columns = Columns.find(table, input=column, numbers=numbers)
            compute = precise(saved.network, lambda network, batch: network.each(batch))
            return outcomes(
                table.records, columns=columns, featurizer=saved.featurizer, compute=compute, units=False
            )

        with threads(self.n_jobs):
            outputs = compute_rows(
                X,
                input=column,
                numbers=numbers,
                width=saved.network.numbers,
                outcomes=computed,
                on_error=self.on_error,
            )
        return saved.targets.decode(outputs.astype(np.float64, copy=False))


def _read(settled: Settled, table: LoadedTable, given: Given, values: FloatArray) -> list[Row]:
    """The rows with their targets; raises one `UnreadableInputError` for those that cannot be used."""
    recipe = settled.recipe
    limit = recipe.network.max_length
    columns = Columns.find(table, input=table.columns[0], numbers=recipe.data.columns)
    reader = training_reader(settled.tokenizer, max_length=limit)
    rows, bad = read_rows(table.records, columns=columns, read=reader)
    if bad:
        # Records of X are numbered by position.
        raise bad_rows_error(given, [(row.line, row.reason) for row in bad], input=table.columns[0])
    return [replace(row, target=target) for row, target in zip(rows, values, strict=True)]


def _refuse_targets(rows: Sequence[Row], names: Sequence[str], values: FloatArray) -> None:
    """Raise `TableError` where a numeric column of X is y itself: nothing else would be learnt."""
    for place, name in enumerate(names):
        column = np.array([row.numbers[place] for row in rows])
        known = ~np.isnan(column)
        if any(
            len(np.unique(target)) > 2 and known.any() and np.array_equal(column[known], target[known])
            for target in values.T
        ):
            raise TableError(
                "a column of X is y itself",
                got=repr(name),
                hint="leave it out of X, or name others as columns=",
            )

"""Targets between the user's cells and the network's numbers: scaling, label names, missing values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, FiniteFloat, model_validator

from gia_science.data.forms import PLAIN, TargetForm
from gia_science.errors import RecipeError, UnreadableInputError, Where
from gia_science.settings import Strict
from gia_science.tokens.descriptors import numeric_cell

FloatArray = npt.NDArray[np.float64]
TaskKind = Literal["regression", "binary", "multilabel", "multiclass", "per_token"]
"""What is predicted: numbers, one or several yes/no answers, one class of many, or a class per residue."""

ROUNDING = 1e-12
"""Spread, as a share of the largest magnitude, below which a target counts as constant."""
MISSING = frozenset({"", "na", "n/a", "nan", "none", "null"})
"""Cells, in lower case, that stand for a target that was not measured."""


def is_missing(cell: str) -> bool:
    """Whether a target cell is empty or says that there is no value."""
    return cell.strip().lower() in MISSING


class Targets(Strict):
    """What is predicted, in the user's words.

    Parameters
    ----------
    names : tuple of str
        Column names of the targets.
    kind : TaskKind
        Regression; binary, or several binary targets (multilabel); multiclass; a class per residue.
    labels : tuple of str
        Class labels as the user wrote them, in the order of the outputs; the second of two is the positive class.
        Empty for regression.
    mean, scale : tuple of float
        Per target, in its units; learnt from training rows. A constant target has scale 0, so that its prediction
        is that constant. Empty for classes.
    units : tuple of str
        Units of the targets, ``""`` where not known.
    forms : tuple of TargetForm
        What the network learns of each target; empty where each is learnt as it is. `mean` and `scale` are those of
        transformed values, and of the values other than 0 where zeros have a gate.
    zeros : {"median", "mean"}, default "median"
        What is predicted of a value v that is not 0 with probability p: v where p is at least a half and 0 elsewhere,
        or p v. The first is what the absolute error asks for, the second what the squared error asks for.
    quantiles : tuple of float
        Levels of the quantiles that are predicted, 0.5 among them; empty for a single value.
    priors : tuple of float
        Shares of the classes among the training rows (of each target the positive class), where hard labels are chosen
        for balanced accuracy; empty where the likeliest class is the label.
    blend : float, default 0
        Share of a forest in the predictions. Outputs then end with what it predicts, in the units of the targets.
    blended_with : str
        What the forest is and how its share was chosen, in words.
    """

    names: tuple[str, ...] = Field(min_length=1)
    kind: TaskKind
    labels: tuple[str, ...] = ()
    mean: tuple[FiniteFloat, ...] = ()
    scale: tuple[Annotated[FiniteFloat, Field(ge=0)], ...] = ()
    units: tuple[str, ...] = ()
    forms: tuple[TargetForm, ...] = ()
    zeros: Literal["median", "mean"] = "median"
    quantiles: tuple[Annotated[FiniteFloat, Field(gt=0, lt=1)], ...] = ()
    priors: tuple[Annotated[FiniteFloat, Field(gt=0, lt=1)], ...] = ()
    blend: FiniteFloat = Field(default=0.0, ge=0, le=1)
    blended_with: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        count = len(self.names)
        if len(set(self.names)) < count:
            raise ValueError("a target is named twice")
        if self.units and len(self.units) != count:
            raise ValueError("targets need one unit each, or none at all")
        if self.kind == "regression":
            if len(self.mean) != count or len(self.scale) != count:
                raise ValueError("regression targets need one mean and one scale each")
        elif len(self.labels) < 2:
            raise ValueError("classes need at least two labels")
        if len(set(map(canonical_label, self.labels))) < len(self.labels):
            raise ValueError("a label stands twice")
        if self.kind == "per_token" and any(len(label) != 1 for label in self.labels):
            raise ValueError("labels of residues are single letters")
        if self.kind in ("binary", "multilabel") and len(self.labels) != 2:
            raise ValueError("binary targets have two labels")
        if self.kind in ("binary", "multiclass", "per_token") and count != 1:
            raise ValueError(f"a {self.kind} task has one target")
        self._check_forms()
        return self

    def _check_forms(self) -> None:
        if self.forms and (self.kind != "regression" or len(self.forms) != len(self.names)):
            raise ValueError("numeric targets need one form each, or none at all")
        if self.quantiles and (self.kind != "regression" or self.gates):
            raise ValueError("quantiles are those of numeric targets without gates")
        if self.quantiles and (
            0.5 not in self.quantiles or list(self.quantiles) != sorted(set(self.quantiles))
        ):
            raise ValueError("quantiles must rise, with 0.5 among them")
        if self.priors and (self.kind in ("regression", "per_token") or len(self.priors) != self.outputs):
            raise ValueError("shares of classes need one for each output")
        if self.blend and not self.can_blend:
            raise ValueError("a forest predicts no classes of residues, no quantiles and no several labels")

    @property
    def outputs(self) -> int:
        """Number of targets, or of classes."""
        return len(self.labels) if self.kind in ("multiclass", "per_token") else len(self.names)

    @property
    def can_blend(self) -> bool:
        """Whether a forest can predict them too."""
        several = self.kind == "multilabel" and len(self.names) > 1
        return not (self.kind == "per_token" or self.quantiles or several)

    @property
    def gates(self) -> tuple[int, ...]:
        """Places of the targets whose zeros have a gate."""
        return tuple(place for place, form in enumerate(self.forms) if form.gated)

    @property
    def scaled_zeros(self) -> tuple[float, ...]:
        """Where 0 lies among the scaled values of each target that has a gate."""
        return tuple(-self.mean[place] / (self.scale[place] or 1.0) for place in self.gates)

    @property
    def channels(self) -> int:
        """Numbers that the network gives of a row: outputs, each with its quantiles, then the gates."""
        return self.outputs * max(1, len(self.quantiles)) + len(self.gates)

    def encode(self, values: FloatArray) -> FloatArray:
        """Values in the user's units ``(n, T)`` or ``(T,)`` to network targets; class indices pass unchanged.

        A zero that has a gate becomes minus infinity.
        """
        if self.kind != "regression":
            return values
        scale = np.array(self.scale)
        bent = self._each(values, TargetForm.transform)
        scaled: FloatArray = (bent - np.array(self.mean)) / np.where(scale > 0, scale, 1.0)
        gated = np.isin(np.arange(len(self.names)), self.gates)
        return np.where(gated & (values == 0), -np.inf, scaled) if self.gates else scaled

    def decode(self, outputs: FloatArray, *, forest: bool = True) -> FloatArray:
        """Activated outputs to the user's units; probabilities pass unchanged.

        Parameters
        ----------
        outputs : (..., M * channels) or (..., M * channels + outputs) float64
            Of the M members of an ensemble, one after another; then, of a blend, of its forest. What is averaged are
            probabilities, and scaled values before a transform is undone: an average of medians of logarithms, say,
            and not of the values themselves.
        forest : bool, default True
            Without it, what the networks of a blend say alone.

        Returns
        -------
        (..., outputs) float64
        """
        restored = self._restored(self._mean(self._networks(outputs)))
        if not self.blend or not forest:
            return restored
        blended: FloatArray = (1 - self.blend) * restored + self.blend * outputs[..., -self.outputs :]
        return blended

    def interval(self, outputs: FloatArray) -> FloatArray:
        """Quantiles ``(..., T, Q)`` in the user's units, rising, of outputs as for `decode`."""
        count = len(self.names)
        mean = self._mean(self._networks(outputs))
        levels = mean.reshape(*mean.shape[:-1], count, len(self.quantiles))
        # Quantiles that are learnt apart from each other may cross.
        rising = np.sort(levels, axis=-1)
        restored = [self._in_units(rising[..., place]) for place in range(len(self.quantiles))]
        return np.stack(restored, axis=-1)

    def spread(self, outputs: FloatArray) -> FloatArray:
        """Standard deviation of the members' predictions, n - 1 in the denominator.

        Parameters
        ----------
        outputs : (..., M * channels [+ outputs]) float64
            As for `decode`; M is at least 2. A forest has no part in the spread.

        Returns
        -------
        (..., T) float64
            In the user's units; of the probability of the positive class, or of the label of several classes.
        """
        members = self._members(self._networks(outputs))
        if self.kind == "multiclass":
            label = self.label(self.decode(outputs))[..., None]
            members = np.take_along_axis(members, label[..., None, :], axis=-1)
        elif self.kind == "regression":
            members = self._restored(members)
        deviation: FloatArray = members.std(axis=-2, ddof=1)
        return deviation

    def label(self, probabilities: FloatArray) -> npt.NDArray[np.int64]:
        """Indices of the labels of decoded probabilities: ``(..., C)`` to ``(...)``, or of each target ``(..., T)``.

        The likeliest class, of two the positive one from 0.5 on. With `priors`, the class whose probability is the
        largest multiple of its share in training: of calibrated probabilities that choice has the best balanced
        accuracy, as it asks which class makes the input likeliest.
        """
        if self.kind in ("multiclass", "per_token"):
            odds = probabilities / np.array(self.priors) if self.priors else probabilities
            return np.asarray(odds.argmax(axis=-1), dtype=np.int64)
        return (probabilities >= (np.array(self.priors) if self.priors else 0.5)).astype(np.int64)

    def _networks(self, outputs: FloatArray) -> FloatArray:
        """Outputs without those of the forest."""
        return outputs[..., : -self.outputs] if self.blend else outputs

    def _members(self, outputs: FloatArray) -> FloatArray:
        return outputs.reshape(*outputs.shape[:-1], -1, self.channels)

    def _mean(self, outputs: FloatArray) -> FloatArray:
        if outputs.shape[-1] == self.channels:
            return outputs
        mean: FloatArray = self._members(outputs).mean(axis=-2)
        return mean

    def _restored(self, channels: FloatArray) -> FloatArray:
        """Channels ``(..., channels)`` of one network, or their mean, to the user's units."""
        if self.kind != "regression":
            return channels
        count, levels = len(self.names), max(1, len(self.quantiles))
        centre = self.quantiles.index(0.5) if self.quantiles else 0
        values = self._in_units(channels[..., centre : count * levels : levels])
        if not self.gates:
            return values
        chance = np.ones_like(values)
        chance[..., list(self.gates)] = channels[..., count * levels :]
        # What is not 0 is positive.
        positive = np.where(np.isin(np.arange(count), self.gates), np.maximum(values, 0.0), values)
        return chance * positive if self.zeros == "mean" else np.where(chance >= 0.5, positive, 0.0)

    def _in_units(self, scaled: FloatArray) -> FloatArray:
        return self._each(scaled * np.array(self.scale) + np.array(self.mean), TargetForm.restore)

    def _each(self, values: FloatArray, change: Callable[[TargetForm, FloatArray], FloatArray]) -> FloatArray:
        """Values ``(..., T)``, those of each target changed as its form has it."""
        if all(form == PLAIN or form.gated for form in self.forms):
            return values
        changed = [change(form, values[..., place]) for place, form in enumerate(self.forms)]
        return np.stack(changed, axis=-1)

    def parse(self, cells: Sequence[str]) -> npt.NDArray[np.float64]:
        """Target cells of one row to ``(T,)`` numbers: values, or indices of labels; NaN where missing.

        Raises
        ------
        UnreadableInputError
            For a cell that is neither a number (regression) nor a known label (classes); its place is the column.
        """
        assert self.kind != "per_token"
        index = {canonical_label(label): number for number, label in enumerate(self.labels)}
        values = [self._parse_cell(cell, name, index) for cell, name in zip(cells, self.names, strict=True)]
        return np.array(values, dtype=np.float64)

    def parse_tokens(self, cell: str) -> npt.NDArray[np.float64]:
        """A cell with one letter per residue to class indices ``(L,)``; ``-`` and ``?`` are missing."""
        index = {label: float(number) for number, label in enumerate(self.labels)}
        unknown = sorted(set(cell.strip()) - set(index) - {"-", "?"})
        if unknown:
            raise self._unknown(", ".join(map(repr, unknown)), self.names[0])
        return np.array([index.get(letter, math.nan) for letter in cell.strip()], dtype=np.float64)

    def _parse_cell(self, cell: str, name: str, index: Mapping[str, int]) -> float:
        if is_missing(cell):
            return math.nan
        if self.kind == "regression":
            return named_number(cell, column=name)
        label = canonical_label(cell)
        if label not in index:
            raise self._unknown(repr(cell), name)
        return float(index[label])

    def _unknown(self, got: str, name: str) -> UnreadableInputError:
        return UnreadableInputError(
            "unknown label", got=got, expected=" or ".join(self.labels), where=Where(column=name)
        )


def named_number(cell: str, *, column: str | None) -> float:
    """Number in a cell as `numeric_cell` reads it; the error names the column."""
    try:
        return numeric_cell(cell)
    except UnreadableInputError as error:
        error.where = Where(column=column)
        raise


def canonical_label(cell: str) -> str:
    """A label as text; ``1.0`` and ``1`` are one label."""
    text = cell.strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if math.isfinite(number) and number == int(number) else text


NEGATIVE_WORDS = frozenset(
    {"0", "no", "n", "false", "f", "inactive", "negative", "neg", "decoy", "insoluble", "nonbinder"}
)
"""Labels, in lower case, that name the negative class of two."""
MOST_CLASSES = 100
"""Most classes that are recognised without being asked for."""


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels in a fixed order: numbers by size, words by alphabet; of two, a word that says no comes first."""
    distinct = set(labels)
    try:
        # Two spellings of one number must not stand in the order of a set.
        ordered = sorted(distinct, key=lambda label: (float(label), label))
    except ValueError:
        ordered = sorted(distinct)
    if (
        len(ordered) == 2
        and ordered[1].lower() in NEGATIVE_WORDS
        and ordered[0].lower() not in NEGATIVE_WORDS
    ):
        ordered.reverse()
    return tuple(ordered)


def is_number(cell: str) -> bool:
    """Whether a cell is written as a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def infer_kind(columns: Sequence[Sequence[str]]) -> TaskKind:
    """Kind of task from the cells of its target columns, missing ones left out.

    Two distinct values are yes and no; more than two are numbers when at least half of the cells are written as
    numbers, and class names otherwise. Numbers with a decimal comma count as numbers here, so that they are refused
    one by one instead of being taken for names.
    """
    known = [[cell for cell in cells if not is_missing(cell)] for cells in columns]
    distinct = [len({canonical_label(cell) for cell in cells}) for cells in known]
    if all(count <= 2 for count in distinct) and max(distinct) == 2:
        return "binary" if len(columns) == 1 else "multilabel"
    cells = [cell for column in known for cell in column]
    if 2 * sum(is_number(cell.replace(",", ".", 1)) for cell in cells) >= len(cells):
        return "regression"
    if len(columns) > 1:
        raise RecipeError(
            "several targets must all be numbers, or all have two labels", got=f"{max(distinct)} labels"
        )
    if distinct[0] > min(MOST_CLASSES, len(cells) // 2):
        raise RecipeError(
            "the target is neither numbers nor classes",
            got=f"{distinct[0]} distinct values in {len(cells)} rows",
        )
    return "multiclass"


def find_labels(kind: TaskKind, columns: Sequence[Sequence[str]], *, names: Sequence[str]) -> tuple[str, ...]:
    """Labels found in the target columns, in their fixed order.

    Raises
    ------
    RecipeError
        When there are too few labels, or more than two where two are meant.
    """
    cells = [cell for column in columns for cell in column if not is_missing(cell)]
    if kind == "per_token":
        return sorted_labels({letter for cell in cells for letter in cell.strip()} - {"-", "?"})
    # As the user writes them; where one number is written in several ways, in the plainest.
    spellings: dict[str, set[str]] = {}
    for cell in cells:
        spellings.setdefault(canonical_label(cell), set()).add(cell.strip())
    labels = sorted_labels(
        label if len(written) > 1 else written.pop() for label, written in spellings.items()
    )
    shown = ", ".join(labels[:8]) + (", ..." if len(labels) > 8 else "")
    if len(labels) < 2:
        raise RecipeError(
            f"the target {', '.join(names)} has a single class",
            got=shown or "no value",
            expected="two or more",
        )
    if kind != "multiclass" and len(labels) > 2:
        raise RecipeError(
            f"a {kind} target has two labels", got=f"{len(labels)}: {shown}", hint="--kind multiclass?"
        )
    return labels


def fit_scaling(values: npt.NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each target ``(n, T)`` over the rows that have it; (0, 0) where none has.

    A spread that is mere rounding is 0: the mean of equal numbers need not equal them to the last bit.
    """
    fitted = [_mean_and_spread(column[~np.isnan(column)]) for column in values.T]
    return tuple(mean for mean, _ in fitted), tuple(spread for _, spread in fitted)


def _mean_and_spread(known: npt.NDArray[np.float64]) -> tuple[float, float]:
    unit = float(np.abs(known).max(initial=0.0))
    if unit == 0:
        return 0.0, 0.0
    # In units of the largest magnitude, so that squares of huge values do not overflow.
    mean, spread = float(np.mean(known / unit)), float(np.std(known / unit))
    return mean * unit, spread * unit if spread > ROUNDING else 0.0

"""What is predicted, and how its cells are read: names, kind, labels, units, and what the network learns of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, FiniteFloat, model_validator

from gia_science.data.cells import canonical_label, is_missing, named_number
from gia_science.data.forms import TargetForm
from gia_science.errors import UnreadableInputError, Where
from gia_science.settings import Strict

TaskKind = Literal["regression", "binary", "multilabel", "multiclass", "per_token"]
"""What is predicted: numbers, one or several yes/no answers, one class of many, or a class per residue."""


def has_forest(kind: TaskKind, *, targets: int) -> bool:
    """Whether there is a forest for so many targets of a kind: not for classes of residues or several labels."""
    return kind != "per_token" and not (kind == "multilabel" and targets > 1)


class TargetSpec(Strict):
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
        return not self.quantiles and has_forest(self.kind, targets=len(self.names))

    @property
    def gates(self) -> tuple[int, ...]:
        """Places of the targets whose zeros have a gate."""
        return tuple(place for place, form in enumerate(self.forms) if form.gated)

    @property
    def channels(self) -> int:
        """Numbers that the network gives of a row: outputs, each with its quantiles, then the gates."""
        return self.outputs * max(1, len(self.quantiles)) + len(self.gates)

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

"""What a split is asked to be: one validated object, and the short form that stands on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from gia_science.data.splits.base import USUAL, Fractions
from gia_science.data.splits.cluster import Tool
from gia_science.data.splits.ordered import Ends
from gia_science.errors import RecipeError
from gia_science.settings import Strict

MethodName = Literal[
    "random",
    "stratified",
    "folds",
    "column",
    "scaffold",
    "scaffold_balanced",
    "cluster",
    "composition",
    "chemical_system",
    "leave_out",
    "time",
    "value",
    "file",
]

OPTIONS: Mapping[MethodName, tuple[str, ...]] = {
    "random": ("fractions",),
    "stratified": ("fractions",),
    "folds": ("folds", "fold", "repeat", "validation", "column"),
    "column": ("column",),
    "scaffold": ("fractions",),
    "scaffold_balanced": ("fractions",),
    "cluster": ("fractions", "similarity", "clusters"),
    "composition": ("fractions", "similarity"),
    "chemical_system": ("fractions",),
    "leave_out": ("column", "group", "validation", "similarity", "clusters"),
    "time": ("column", "fractions"),
    "value": ("column", "fractions", "ends"),
    "file": ("file",),
}
"""Options that belong to each method; any method takes a seed, which those that draw nothing do not look at."""
NEEDED: Mapping[MethodName, tuple[str, ...]] = {
    "column": ("column",),
    "leave_out": ("group",),
    "time": ("column",),
    "value": ("column",),
    "file": ("file",),
}
"""Options without which a method cannot be."""


class SplitRecipe(Strict):
    """How rows are set aside for validation and test. Rows with one identity always stay together."""

    method: MethodName = Field(
        default="random",
        description="random, stratified (equal shares of classes, or of tenths of the values), folds (of a "
        "cross-validation), column (prescribed), scaffold (DeepChem's), scaffold_balanced, cluster (of sequences), "
        "composition (clusters of), chemical_system (set of elements), leave_out (one group), time, value, file "
        "(a stored split.json).",
    )
    fractions: Fractions = Field(default=USUAL, description="Training, validation and test shares.")
    folds: int = Field(default=5, ge=2, description="Number of folds (folds).")
    fold: int = Field(default=0, ge=0, description="The fold that is the test set (folds).")
    repeat: int = Field(
        default=0, ge=0, description="Repetition of the cross-validation, with other folds each time (folds)."
    )
    validation: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="Share of what is left for training that is used for validation (folds, leave_out).",
    )
    column: str | None = Field(
        default=None,
        description="Column with train, validation or test (column), the number of the fold (folds), groups "
        "(leave_out), dates or years (time), or numbers (value).",
    )
    group: Annotated[str, Field(coerce_numbers_to_str=True)] | None = Field(
        default=None,
        description="Group to test on: a value of the column, or without one the number of a cluster of sequences, a "
        "scaffold or a chemical system, the largest 0 (leave_out).",
    )
    similarity: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Least similarity in a cluster; 0.5 of sequences, 0.95 of compositions where not given (cluster, "
        "composition, leave_out).",
    )
    clusters: Tool = Field(
        default="auto",
        description="What clusters sequences: MMseqs2 where it is installed, else k-mers (cluster, leave_out).",
    )
    ends: Ends = Field(default="both", description="Which extremes are tested on (value).")
    file: str | None = Field(default=None, description="The split.json of a model folder (file).")
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in method_options() - {*OPTIONS[self.method]}:
            if getattr(self, name) != default_of(name):
                owners = ", ".join(method for method, options in OPTIONS.items() if name in options)
                raise ValueError(f"{name} goes with method: {owners}, not with method: {self.method}")
        for name in NEEDED.get(self.method, ()):
            if getattr(self, name) is None:
                raise ValueError(f"method: {self.method} needs {name}")
        if abs(sum(self.fractions) - 1) > 1e-6 or min(self.fractions) < 0 or not self.fractions[0]:
            raise ValueError("fractions must be positive and sum to 1")
        if self.method == "folds" and self.column is not None and self.repeat:
            raise ValueError("folds of a column cannot be drawn again: leave out repeat")
        if self.fold >= self.folds:
            raise ValueError(
                f"fold is counted from 0: with {self.folds} folds it is at most {self.folds - 1}"
            )
        return self


def method_options() -> set[str]:
    """Options that belong to some methods only."""
    return set(SplitRecipe.model_fields) - {"method", "seed"}


def default_of(option: str) -> Any:
    """What an option is where nobody says."""
    return SplitRecipe.model_fields[option].default


def read_split(text: str) -> dict[str, Any]:
    """Settings of a `SplitRecipe` from its short form.

    Parameters
    ----------
    text : str
        ``random``, ``stratified``, ``folds``, ``scaffold``, ``scaffold_balanced``, ``cluster``, ``composition``,
        ``chemical_system``; ``time:COLUMN``, ``value:COLUMN``, ``leave_out:COLUMN=GROUP``, ``leave_out:NUMBER``,
        ``column:COLUMN``; the path of a ``split.json``; or anything else as the name of a column with train,
        validation and test.

    Returns
    -------
    dict
        The method, and the options that the text gives.

    Raises
    ------
    RecipeError
        When a method lacks what it needs, or has something behind it that it does not take.
    """
    name, colon, rest = text.partition(":")
    method = next((known for known in get_args(MethodName) if known == name), None)
    if method is None or (method == "file" and not colon):
        kind = "file" if text.endswith(".json") else "column"
        return {"method": kind, kind: text}
    if bool(rest) != (method in NEEDED):
        raise RecipeError("the split is not valid", got=repr(text), expected=_form(method))
    if method == "leave_out":
        column, equals, group = rest.rpartition("=")
        return {"method": method, "group": group, **({"column": column} if equals else {})}
    return {"method": method, **({NEEDED[method][0]: rest} if rest else {})}


def _form(method: MethodName) -> str:
    if method == "leave_out":
        return "leave_out:COLUMN=GROUP, or leave_out:NUMBER for the number of a cluster"
    return f"{method}:{NEEDED[method][0].upper()}" if method in NEEDED else method

"""Every way of splitting under its name, behind one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gia_science.data.record import LoadedTable
from gia_science.data.rows import Row
from gia_science.data.source import table_hash
from gia_science.data.splits.at_random import random_split
from gia_science.data.splits.base import Split
from gia_science.data.splits.cluster import cluster_compositions, cluster_sequences
from gia_science.data.splits.column import column_split
from gia_science.data.splits.folds import fold_split
from gia_science.data.splits.groups import group_split, leave_out_split, numbered
from gia_science.data.splits.ordered import read_moments, read_values, time_split, value_split
from gia_science.data.splits.prescribed import prescribed_fold_split
from gia_science.data.splits.recipe import MethodName, SplitRecipe
from gia_science.data.splits.scaffold import balanced_groups, murcko_scaffold, scaffold_split
from gia_science.data.splits.stored import stored_split
from gia_science.data.splits.strata import class_strata, strata
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError

SEQUENCE_SIMILARITY = 0.5
COMPOSITION_SIMILARITY = 0.95


@dataclass(frozen=True)
class SplitInput:
    """What a split is made from.

    Parameters
    ----------
    rows : sequence of Row
        The n rows that are used.
    table : LoadedTable
        Where they come from.
    places : sequence of int
        Place of each row among the records of the table.
    domain : str
    targets : Targets, optional
        What is predicted; without it there are no strata.
    """

    rows: Sequence[Row]
    table: LoadedTable
    places: Sequence[int]
    domain: str
    targets: Targets | None = None

    @property
    def identities(self) -> list[str]:
        """Canonical identity of each row."""
        return [row.reading.identity for row in self.rows]

    @property
    def lines(self) -> list[int]:
        """Line of each row in its file."""
        return [row.line for row in self.rows]

    def cells(self, column: str | None) -> list[str]:
        """Cells of a column, one for each row; raises `TableError` where there is no such column."""
        assert column is not None, "the recipe has been validated"
        values = self.table.column(column)
        return [values[place] for place in self.places]


class SplitMethod(Protocol):
    """One way of splitting."""

    def __call__(self, how: SplitRecipe, data: SplitInput) -> Split:
        """Split the rows; raises `RecipeError` where it cannot be done."""


def make_split(how: SplitRecipe, data: SplitInput) -> Split:
    """Split rows as a recipe says.

    Raises
    ------
    RecipeError
        When the method does not go with the data, or leaves no rows to train on or to judge a model by.
    TableError
        When a column is missing.
    """
    return METHODS[how.method](how, data)


def _random(how: SplitRecipe, data: SplitInput) -> Split:
    balanced = class_strata(data.rows, data.targets)
    return random_split(data.identities, fractions=how.fractions, seed=how.seed, strata=balanced)


def _stratified(how: SplitRecipe, data: SplitInput) -> Split:
    balanced = strata(data.rows, data.targets)
    return random_split(data.identities, fractions=how.fractions, seed=how.seed, strata=balanced)


def _folds(how: SplitRecipe, data: SplitInput) -> Split:
    if how.column is not None:
        return prescribed_fold_split(
            data.cells(how.column),
            data.identities,
            fold=how.fold,
            seed=how.seed,
            validation=how.validation,
            strata=class_strata(data.rows, data.targets),
        )
    return fold_split(
        data.identities,
        folds=how.folds,
        fold=how.fold,
        repeat=how.repeat,
        seed=how.seed,
        validation=how.validation,
        strata=class_strata(data.rows, data.targets),
    )


def _column(how: SplitRecipe, data: SplitInput) -> Split:
    return column_split(data.cells(how.column), data.identities)


def _scaffold(how: SplitRecipe, data: SplitInput) -> Split:
    return scaffold_split(_scaffolds(data, how.method), fractions=how.fractions)


def _scaffold_balanced(how: SplitRecipe, data: SplitInput) -> Split:
    groups = balanced_groups(_scaffolds(data, how.method), data.identities)
    told = {"what": "balanced scaffold split", "noun": "scaffold group"}
    return group_split(groups, fractions=how.fractions, seed=how.seed, **told)


def _cluster(how: SplitRecipe, data: SplitInput) -> Split:
    clusters, told = _sequence_clusters(how, data)
    what = f"split by clusters ({told})"
    return group_split(clusters, fractions=how.fractions, seed=how.seed, what=what, noun="cluster")


def _composition(how: SplitRecipe, data: SplitInput) -> Split:
    _require_domain(data, "composition", how.method)
    least = how.similarity or COMPOSITION_SIMILARITY
    clusters = cluster_compositions([row.reading.parsed for row in data.rows], similarity=least)
    what = f"split by composition (similarity {least:g})"
    names = list(map(str, clusters))
    return group_split(names, fractions=how.fractions, seed=how.seed, what=what, noun="cluster")


def _chemical_system(how: SplitRecipe, data: SplitInput) -> Split:
    told = {"what": "split by chemical system", "noun": "chemical system"}
    return group_split(_systems(data, how.method), fractions=how.fractions, seed=how.seed, **told)


def _leave_out(how: SplitRecipe, data: SplitInput) -> Split:
    if how.column is not None:
        groups, what = [cell.strip() for cell in data.cells(how.column)], f"group of column {how.column!r}"
    else:
        families, what = FAMILIES[data.domain].find(how, data)
        groups = numbered(families)
    assert how.group is not None, "the recipe has been validated"
    return leave_out_split(
        groups,
        data.identities,
        group=how.group,
        validation=how.validation,
        seed=how.seed,
        what=what,
    )


def _time(how: SplitRecipe, data: SplitInput) -> Split:
    column = str(how.column)
    moments = read_moments(data.cells(how.column), data.lines, column=column)
    return time_split(moments, data.identities, fractions=how.fractions, column=column)


def _value(how: SplitRecipe, data: SplitInput) -> Split:
    column = str(how.column)
    values = read_values(data.cells(how.column), data.lines, column=column)
    return value_split(values, data.identities, fractions=how.fractions, ends=how.ends, column=column)


def _file(how: SplitRecipe, data: SplitInput) -> Split:
    return stored_split(str(how.file), data.rows, data_sha256=table_hash(data.table))


METHODS: Mapping[MethodName, SplitMethod] = {
    "random": _random,
    "stratified": _stratified,
    "folds": _folds,
    "column": _column,
    "scaffold": _scaffold,
    "scaffold_balanced": _scaffold_balanced,
    "cluster": _cluster,
    "composition": _composition,
    "chemical_system": _chemical_system,
    "leave_out": _leave_out,
    "time": _time,
    "value": _value,
    "file": _file,
}


def _require_domain(data: SplitInput, domain: str, method: str) -> None:
    if data.domain != domain:
        raise RecipeError(
            f"the split {method} is not for {data.domain} input",
            expected=f"{domain} input",
            hint=f"--split {FAMILIES[data.domain].method}",
        )


def _scaffolds(data: SplitInput, method: str) -> list[str]:
    _require_domain(data, "smiles", method)
    return [murcko_scaffold(row.reading.parsed) for row in data.rows]


def _systems(data: SplitInput, method: str) -> list[str]:
    _require_domain(data, "composition", method)
    return ["-".join(sorted(row.reading.parsed)) for row in data.rows]


def _sequence_clusters(how: SplitRecipe, data: SplitInput) -> tuple[list[str], str]:
    _require_domain(data, "protein", how.method)
    least = how.similarity or SEQUENCE_SIMILARITY
    residues = [row.reading.parsed.residues for row in data.rows]
    return cluster_sequences(residues, similarity=least, tool=how.clusters)


def _cluster_families(how: SplitRecipe, data: SplitInput) -> tuple[list[str], str]:
    clusters, told = _sequence_clusters(how, data)
    return clusters, f"cluster ({told})"


def _scaffold_families(how: SplitRecipe, data: SplitInput) -> tuple[list[str], str]:
    return balanced_groups(_scaffolds(data, how.method), data.identities), "scaffold"


def _system_families(how: SplitRecipe, data: SplitInput) -> tuple[list[str], str]:
    return _systems(data, how.method), "chemical system"


@dataclass(frozen=True)
class Families:
    """What is kin among the inputs of a domain.

    Parameters
    ----------
    method : str
        The way of splitting that keeps families together: named where another is not for this domain.
    find : callable
        Family of each row, and what a family is called, of which ``leave_out`` leaves out one.
    """

    method: MethodName
    find: Callable[[SplitRecipe, SplitInput], tuple[list[str], str]]


FAMILIES: Mapping[str, Families] = {
    "protein": Families("cluster", _cluster_families),
    "smiles": Families("scaffold_balanced", _scaffold_families),
    "composition": Families("chemical_system", _system_families),
}

"""Rows that are the same thing: found, told how far their targets lie apart, and made one where a policy says so."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from gia_science.data.rows import BadRow, Row
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError, Where, counted

FloatArray = npt.NDArray[np.float64]
Key = tuple[str, bytes]

DuplicatePolicy = Literal["keep", "mean", "median", "first", "drop", "error"]
"""What training does with rows of one input (and one set of numeric columns).

keep: all are used, on one side of the split. mean, median, first: they become one row with that target, each target by
itself and over the rows that have it; for classes mean and median are the most frequent label, and a tie is no label.
drop: inputs whose targets differ are left out. error: stop where targets differ.
"""
_LINES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Conflict:
    """One input whose rows have different targets.

    Parameters
    ----------
    lines : tuple of int
    identity : str
    targets : tuple of tuple of float
        Targets of each line: values or indices of labels, NaN where missing.
    """

    lines: tuple[int, ...]
    identity: str
    targets: tuple[tuple[float, ...], ...]

    def values(self, index: int) -> list[float]:
        """Distinct known values of one target, in order."""
        return sorted({row[index] for row in self.targets if not math.isnan(row[index])})


@dataclass(frozen=True)
class Duplicates:
    """Rows that are the same thing.

    Parameters
    ----------
    rows : int
        Rows beyond the first of each identity.
    conflicts : tuple of Conflict
        Identities whose rows have different targets.
    """

    rows: int
    conflicts: tuple[Conflict, ...]


class Repeats:
    """Takes note of rows one by one; keeps identities, lines and targets, never the readings."""

    def __init__(self) -> None:
        self._groups: dict[Key, list[tuple[int, FloatArray]]] = defaultdict(list)

    def add(self, line: int, *, identity: str, numbers: FloatArray, target: FloatArray) -> None:
        """Take note of a row."""
        self._groups[identity, numbers.tobytes()].append((line, target))

    def lines(self) -> dict[str, list[int]]:
        """Lines of each identity."""
        found: dict[str, list[int]] = defaultdict(list)
        for (identity, _), members in self._groups.items():
            found[identity] += [line for line, _ in members]
        return found

    def found(self) -> Duplicates:
        """What repeats, and what of it contradicts itself."""
        repeated = {key: members for key, members in self._groups.items() if len(members) > 1}
        conflicts = [
            Conflict(
                tuple(line for line, _ in members), key[0], tuple(tuple(target) for _, target in members)
            )
            for key, members in repeated.items()
            if _contradict([target for _, target in members])
        ]
        return Duplicates(sum(len(members) - 1 for members in repeated.values()), tuple(conflicts))


def find_duplicates(rows: Sequence[Row]) -> Duplicates:
    """Count rows of one identity (and one set of numbers), and find those whose targets contradict each other."""
    repeats = Repeats()
    for row in rows:
        repeats.add(row.line, identity=row.reading.identity, numbers=row.numbers, target=row.target)
    return repeats.found()


def _contradict(targets: Sequence[FloatArray]) -> bool:
    if len({target.shape for target in targets}) > 1:
        return True
    stacked = np.stack(targets)
    known = ~np.isnan(stacked)
    low = np.where(known, stacked, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, stacked, -np.inf).max(axis=0, initial=-np.inf)
    return bool((high > low).any())


def describe_conflict(conflict: Conflict, targets: Targets) -> str:
    """What the rows of one input say: the range of a number, the labels of a class; empty for labels of residues."""
    if targets.kind == "per_token":
        return ""
    told = []
    for index, name in enumerate(targets.names):
        values = conflict.values(index)
        if len(values) < 2:
            continue
        if targets.kind == "regression":
            told.append(f"{name} {values[0]:g} to {values[-1]:g}")
        else:
            told.append(f"{name} {' and '.join(targets.labels[int(value)] for value in values)}")
    return ", ".join(told)


def spreads(conflicts: Sequence[Conflict], targets: Targets) -> dict[str, list[float]]:
    """Largest minus smallest value of each conflicting input, by target; empty for classes."""
    if targets.kind != "regression":
        return {}
    known = {
        name: [values[-1] - values[0] for c in conflicts if len(values := c.values(index)) > 1]
        for index, name in enumerate(targets.names)
    }
    return {name: values for name, values in known.items() if values}


def describe_spread(conflicts: Sequence[Conflict], targets: Targets) -> str:
    """How far apart the targets of one input lie, over all conflicts; empty for classes."""
    return ", ".join(
        f"{name} by up to {max(values):g}, median {float(np.median(values)):g}"
        for name, values in spreads(conflicts, targets).items()
    )


@dataclass(frozen=True)
class Resolved:
    """Rows after the policy.

    Parameters
    ----------
    rows : list of Row
    kept : list of int
        Place of each row among those that were given; of rows made one, the place of the first.
    left_out : tuple of BadRow
        Rows that are not used any more, in no other row either.
    merged : int
        Rows that went into another one.
    """

    rows: list[Row]
    kept: list[int]
    left_out: tuple[BadRow, ...] = ()
    merged: int = 0


def resolve_duplicates(
    rows: Sequence[Row], *, targets: Targets, policy: DuplicatePolicy, source: str = ""
) -> Resolved:
    """Apply a policy to rows that have at least one target each.

    Parameters
    ----------
    rows : sequence of Row
    targets : Targets
    policy : DuplicatePolicy
    source : str
        Name of the table, for the error.

    Raises
    ------
    TableError
        With the policy ``"error"``, when targets of one input differ.
    RecipeError
        When the mean or median of labels of residues is asked for.
    """
    if targets.kind == "per_token" and policy in ("mean", "median"):
        raise RecipeError(
            "labels of residues have no mean",
            got=f"duplicates: {policy}",
            expected="keep, first, drop or error",
        )
    if policy == "error":
        _refuse_conflicts(find_duplicates(rows).conflicts, source)
    if policy in ("keep", "error"):
        return Resolved(list(rows), list(range(len(rows))))
    groups: dict[Key, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        groups[row.reading.identity, row.numbers.tobytes()].append(place)
    kept: dict[int, Row] = {}
    left_out: list[BadRow] = []
    for places in groups.values():
        members = [rows[place] for place in places]
        result = _resolve_group(members, targets, policy)
        if isinstance(result, str):
            left_out += [BadRow(row.line, row.id, result) for row in members]
        else:
            kept |= dict(zip(places, result, strict=False))
    order = sorted(kept)
    left_out.sort(key=lambda row: row.line)
    merged = len(rows) - len(kept) - len(left_out)
    return Resolved([kept[place] for place in order], order, tuple(left_out), merged)


def _refuse_conflicts(conflicts: Sequence[Conflict], source: str) -> None:
    if conflicts:
        raise TableError(
            f"{counted(len(conflicts), 'input')} with different targets",
            got=f"lines {shown_lines(conflicts[0].lines)}, {conflicts[0].identity:.60}",
            hint="--duplicates keep, mean, median, first or drop goes on",
            where=Where(file=source) if source else None,
        )


def _resolve_group(members: Sequence[Row], targets: Targets, policy: DuplicatePolicy) -> list[Row] | str:
    """The rows that stand for a group, or why there are none."""
    if len(members) == 1:
        return list(members)
    lines = shown_lines([row.line for row in members])
    if policy == "drop":
        conflict = _contradict([row.target for row in members])
        return f"different targets for one input in lines {lines}" if conflict else list(members)
    if targets.kind == "per_token":
        return [members[0]]
    target = _merged(np.stack([row.target for row in members]), targets, policy)
    if np.isnan(target).all():
        return f"no label is the most frequent in lines {lines}"
    return [replace(members[0], target=target)]


def _merged(stacked: FloatArray, targets: Targets, policy: DuplicatePolicy) -> FloatArray:
    """One target (T,) from those of several rows (n, T)."""
    columns = [column[~np.isnan(column)] for column in stacked.T]
    return np.array([_merge(known, targets, policy) if len(known) else math.nan for known in columns])


def _merge(known: FloatArray, targets: Targets, policy: DuplicatePolicy) -> float:
    if policy == "first":
        return float(known[0])
    if targets.kind == "regression":
        return float(np.mean(known) if policy == "mean" else np.median(known))
    (label, most), *others = Counter(known.tolist()).most_common()
    return math.nan if others and others[0][1] == most else float(label)


def shown_lines(lines: Sequence[int]) -> str:
    """Line numbers, of many the first."""
    return ", ".join(map(str, lines[:_LINES_SHOWN])) + (", ..." if len(lines) > _LINES_SHOWN else "")

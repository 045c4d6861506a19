"""What a split lets through from training to test: equal inputs, near ones, and shortcuts that need no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.rows import Row
from gia_science.data.splits.base import PARTS, Split
from gia_science.data.targets import Targets
from gia_science.errors import counted
from gia_science.evaluation.probes import Probe, probe
from gia_science.evaluation.similarity import MEASURES, nearest
from gia_science.tokens.tokenizer import DomainTokenizer

FloatArray = npt.NDArray[np.float64]
BINS = 10
MANY = 0.5
"""Share of held-out rows next to a training row from which on it is told as a finding."""
_BAR = 40


@dataclass(frozen=True)
class Crossing:
    """Inputs that stand in two parts.

    Parameters
    ----------
    parts : (str, str)
    inputs : int
        How many they are.
    rows : int
        Their rows in the second of the parts.
    """

    parts: tuple[str, str]
    inputs: int
    rows: int

    def __str__(self) -> str:
        first, second = self.parts
        rows = f"{counted(self.rows)} of {second}"
        return f"{counted(self.inputs, 'input')} of {first} also in {second} ({rows})"


@dataclass(frozen=True)
class Similarity:
    """Similarity of held-out rows to their nearest training rows.

    Parameters
    ----------
    measure : str
        What it is, in words.
    rows, of : int
        Rows that were looked at, and that there are.
    histogram : tuple of int
        Rows in ten equal bins from 0 to 1; a similarity of 1 lies in the last.
    median : float
    above : tuple of (float, float)
        Thresholds, and the share of rows at or above them.
    close : float
        Threshold from which on two inputs are next to each other.
    """

    measure: str
    rows: int
    of: int
    histogram: tuple[int, ...]
    median: float
    above: tuple[tuple[float, float], ...]
    close: float

    def shares(self) -> str:
        """Median and shares in one line."""
        shares = ", ".join(f"{share:.0%} at {threshold:g} or more" for threshold, share in self.above)
        return f"median {self.median:.2f}, {shares}"


@dataclass(frozen=True)
class LeakageReport:
    """What a split lets through.

    Parameters
    ----------
    describe : str
        How the split was made.
    sizes : tuple of int
        Rows of training, validation and test.
    part : str
        The part held against training: test, or validation where there are no test rows.
    crossings : tuple of Crossing
        Pairs of parts that share inputs.
    similarity : Similarity or None
        None without rows to compare.
    probes : tuple of Probe
    notes : tuple of str
        What the split itself has to say.
    """

    describe: str
    sizes: tuple[int, int, int]
    part: str
    crossings: tuple[Crossing, ...]
    similarity: Similarity | None
    probes: tuple[Probe, ...]
    notes: tuple[str, ...] = ()

    def problems(self) -> list[str]:
        """What flatters scores: inputs in two parts, and rules that solve the task by one thing they see."""
        flagged = [probe for probe in self.probes if probe.flagged and probe.accidental]
        return [
            *map(str, self.crossings),
            *(f"shortcut: {probe.warning(rows=self.part)}" for probe in flagged),
        ]

    def remarks(self) -> list[str]:
        """What must be known to read a score, though it is no fault of the split."""
        told = []
        if self.similarity is not None:
            close = dict(self.similarity.above)[self.similarity.close]
            if close >= MANY:
                told.append(
                    f"{close:.0%} of the {self.part} rows have a training row next to them (similarity "
                    f"{self.similarity.close:g} or more): the scores speak of such inputs"
                )
        others = [probe for probe in self.probes if probe.flagged and not probe.accidental]
        return told + [probe.warning(rows=self.part) for probe in others]

    def short(self) -> list[str]:
        """A few lines for a model card."""
        equal = "; ".join(map(str, self.crossings)) or "no input stands in two parts"
        lines = [equal]
        if self.similarity is not None:
            measure = f"{self.part} rows to the nearest training row ({self.similarity.measure})"
            lines.append(f"similarity of {measure}: {self.similarity.shares()}")
        return [*lines, *[line for line in self.problems() if line.startswith("shortcut")], *self.remarks()]

    def lines(self) -> list[str]:
        """The whole report as text."""
        sizes = ", ".join(f"{size} {part}" for size, part in zip(self.sizes, PARTS, strict=True))
        lines = [f"{self.describe}; rows: {sizes}", *self.notes]
        lines.append("; ".join(map(str, self.crossings)) or "no input stands in two parts")
        if self.similarity is not None:
            lines += _similarity_lines(self.similarity, self.part)
        if self.probes:
            lines.append(f"rules that see one thing only, on the {self.part} rows (a constant in brackets):")
            lines += [f"  {probe.name}, {probe.target}: {probe}" for probe in self.probes]
        return lines + self.remarks()

    def to_json(self) -> dict[str, Any]:
        """Everything as plain types."""
        similarity = self.similarity
        return {
            "split": self.describe,
            "rows": dict(zip(PARTS, self.sizes, strict=True)),
            "scored_on": self.part,
            "crossing": [
                {"parts": list(found.parts), "inputs": found.inputs, "rows": found.rows}
                for found in self.crossings
            ],
            "similarity": None
            if similarity is None
            else {
                "measure": similarity.measure,
                "rows": similarity.rows,
                "of": similarity.of,
                "histogram": list(similarity.histogram),
                "median": similarity.median,
                "at_or_above": [list(pair) for pair in similarity.above],
            },
            "probes": [probe.to_json() for probe in self.probes],
            "problems": self.problems(),
            "remarks": self.remarks(),
            "notes": list(self.notes),
        }


def leakage(
    rows: Sequence[Row],
    split: Split,
    *,
    tokenizer: DomainTokenizer[Any],
    targets: Targets | None = None,
    seed: int = 0,
) -> LeakageReport:
    """Hold the test part of a split against its training part.

    Parameters
    ----------
    rows : sequence of Row
    split : Split
        Indices into `rows`.
    tokenizer : DomainTokenizer
        That read the rows.
    targets : Targets, optional
        What is predicted; without it nothing is probed.
    seed : int
        Draws samples of large tables.
    """
    part = "test" if len(split.test) else "validation"
    train, held = ([rows[index] for index in getattr(split, name)] for name in ("train", part))
    similarity = _similarity(tokenizer.domain, held, train, seed) if train and held else None
    probes = () if targets is None else probe(train, held, targets=targets, tokenizer=tokenizer, seed=seed)
    return LeakageReport(
        describe=split.describe,
        sizes=(len(split.train), len(split.validation), len(split.test)),
        part=part,
        crossings=_crossings(rows, split),
        similarity=similarity,
        probes=probes,
        notes=split.notes,
    )


def _crossings(rows: Sequence[Row], split: Split) -> tuple[Crossing, ...]:
    inputs = {part: [rows[index].reading.identity for index in getattr(split, part)] for part in PARTS}
    found = []
    for first, second in combinations(PARTS, 2):
        common = set(inputs[first]) & set(inputs[second])
        if common:
            found.append(Crossing((first, second), len(common), sum(one in common for one in inputs[second])))
    return tuple(found)


def _similarity(domain: str, held: Sequence[Row], train: Sequence[Row], seed: int) -> Similarity:
    measure = MEASURES[domain]
    found = nearest(domain, [row.reading for row in held], [row.reading for row in train], seed=seed)
    values = found.similarity
    counts = np.bincount(np.minimum((values * BINS).astype(np.int64), BINS - 1), minlength=BINS)
    # Rounding must not put a share under its own threshold.
    above = tuple((limit, float(np.mean(values >= limit - 1e-9))) for limit in measure.thresholds)
    return Similarity(
        measure=measure.name,
        rows=len(values),
        of=len(held),
        histogram=tuple(counts.tolist()),
        median=float(np.median(values)),
        above=above,
        close=measure.close,
    )


def _similarity_lines(similarity: Similarity, part: str) -> list[str]:
    sampled = f", {similarity.rows} of {similarity.of} sampled" if similarity.rows < similarity.of else ""
    most = max(similarity.histogram)
    bars = [
        f"  {index / BINS:.1f} to {(index + 1) / BINS:.1f}  {count:>6}  {'#' * round(_BAR * count / most)}".rstrip()
        for index, count in enumerate(similarity.histogram)
    ]
    head = f"similarity of {part} rows to the nearest training row ({similarity.measure}{sampled}):"
    return [head, f"  {similarity.shares()}", *bars]

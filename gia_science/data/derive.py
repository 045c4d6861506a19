"""Columns that are worked out from those of a downloaded table, each by a method that a dataset card names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from gia_science.data.card_remote import (
    ChezodDisorder,
    DeeplocLocation,
    Derivation,
    Folds,
    MaskedLabels,
    Mutants,
    TapeGfpCut,
)
from gia_science.errors import TableError

TAPE_TRAINING_MUTATIONS = 3
"""Most substitutions of a training variant: Rao et al. 2019, TAPE, fluorescence."""
CHEZOD_ORDERED = 8.0
"""Z-score from which a residue counts as ordered: Nielsen and Mulder 2016, doi:10.3389/fmolb.2016.00004."""
_CHEZOD_MISSING = 999.0
_SUBSTITUTION = re.compile(r"S([A-Z])(\d+)([A-Z*])")

Column = Sequence[str]


def derive(step: Derivation, columns: Mapping[str, Column], *, rows: int) -> list[str]:
    """Cells of the column that a derivation makes.

    Parameters
    ----------
    step : derivation of a card
    columns : mapping
        Cells of the columns there are.
    rows : int
        Number of rows.

    Raises
    ------
    TableError
        When a cell is not written as the derivation expects.
    """
    match step:
        case Folds():
            return _folds(step, columns, rows)
        case Mutants():
            return [_mutant(cell, step.wild_type) for cell in columns[step.mutations]]
        case TapeGfpCut():
            return [_tape_part(cell) for cell in columns[step.mutations]]
        case DeeplocLocation():
            return [_location(cell) for cell in columns[step.header]]
        case MaskedLabels():
            pairs = zip(columns[step.labels], columns[step.mask], strict=True)
            return [_masked(labels, mask) for labels, mask in pairs]
        case ChezodDisorder():
            return [_disorder(cell) for cell in columns[step.scores]]


def _folds(step: Folds, columns: Mapping[str, Column], rows: int) -> list[str]:
    # A list of datasets has no use for scikit-learn, which takes long to import.
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if step.stratify is None else StratifiedKFold
    labels = None if step.stratify is None else np.array(columns[step.stratify])
    splitter = kind(step.folds, shuffle=True, random_state=step.seed)
    fold = np.zeros(rows, dtype=np.int64)
    for number, (_, test) in enumerate(splitter.split(np.zeros((rows, 1)), labels)):
        fold[test] = number
    return [str(number) for number in fold]


def _substitutions(cell: str) -> list[str]:
    return [text for text in cell.split(":") if text]


def _mutant(cell: str, wild_type: str) -> str:
    residues = list(wild_type)
    for text in _substitutions(cell):
        found = _SUBSTITUTION.fullmatch(text)
        place = int(found[2]) if found else -1
        if not found or place >= len(wild_type) or wild_type[place] != found[1]:
            raise TableError(
                "not a substitution in the wild type",
                got=repr(text),
                expected="such as 'SA108D', positions counted from 0",
            )
        residues[place] = found[3]
    return "".join(residues).partition("*")[0]


def _tape_part(cell: str) -> str:
    return "train" if len(_substitutions(cell)) <= TAPE_TRAINING_MUTATIONS else "test"


def _location(header: str) -> str:
    words = header.split()
    location, hyphen, _ = words[0].rpartition("-") if words else ("", "", "")
    if not hyphen:
        raise TableError("no location in the header", got=repr(header), expected="such as 'Cell.membrane-M'")
    return location.replace(".", " ")


def _masked(labels: str, mask: str) -> str:
    if len(labels) != len(mask):
        raise TableError("labels and mask differ in number", got=f"{len(labels)} and {len(mask)}")
    return "".join("-" if known == "0" else label for label, known in zip(labels, mask, strict=True))


def _disorder(cell: str) -> str:
    try:
        scores = [float(score) for score in cell.split(";")]
    except ValueError as error:
        raise TableError("not Z-scores", got=str(error), expected="numbers with ; between them") from error
    known = ("D" if score < CHEZOD_ORDERED else "O" for score in scores)
    return "".join(
        "-" if score == _CHEZOD_MISSING else letter for score, letter in zip(scores, known, strict=True)
    )

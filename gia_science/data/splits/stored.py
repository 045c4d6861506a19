"""Splits as files: which row stood in which part, and the same parts again from such a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from gia_science.data.rows import Row, identity_hash
from gia_science.data.splits.base import PARTS, Part, Split, count_crossing, split_hash, split_of_parts
from gia_science.errors import RecipeError, Where, counted
from gia_science.settings import validate
from gia_science.tokens.stream import IntArray

_SHOWN = 5


class SplitFile(BaseModel):
    """What is read of a ``split.json``."""

    describe: str = ""
    data_sha256: str | None = None
    lines: dict[Part, list[int]]
    identities: dict[Part, list[str]]


def split_record(rows: Sequence[Row], split: Split, *, data_sha256: str | None = None) -> dict[str, Any]:
    """Which rows stand in which part, as plain types.

    Parameters
    ----------
    rows : sequence of Row
    split : Split
        Indices into `rows`.
    data_sha256 : str, optional
        Hash of the table the rows come from.
    """
    parts = {"train": split.train, "validation": split.validation, "test": split.test}
    return {
        "describe": split.describe,
        "sha256": split_hash(split),
        "data_sha256": data_sha256,
        "lines": {name: [rows[i].line for i in index] for name, index in parts.items()},
        "indices": {name: index.tolist() for name, index in parts.items()},
        "ids": {name: [rows[i].id for i in index] for name, index in parts.items()},
        "identities": {
            name: [identity_hash(rows[i].reading.identity) for i in index] for name, index in parts.items()
        },
    }


def stored_split(path: str, rows: Sequence[Row], *, data_sha256: str) -> Split:
    """The parts that a file prescribes: each row by its line, one that the file does not list by its identity.

    Parameters
    ----------
    path : str
        A ``split.json``.
    rows : sequence of Row
    data_sha256 : str
        Hash of the table the rows come from.

    Raises
    ------
    RecipeError
        When the file cannot be read, is of other data, says nothing of some rows, or leaves no rows for training.
    """
    where = Where(file=path)
    stored = _load(path, where)
    if stored.data_sha256 not in (None, data_sha256):
        raise RecipeError(
            "the split is of other data",
            got=f"a table with hash {data_sha256[:12]}",
            expected=f"hash {str(stored.data_sha256)[:12]}",
            hint="a split holds for the table it was made of, cell by cell",
            where=where,
        )
    parts = _parts(stored, rows, where)
    notes = (
        [] if stored.data_sha256 else ["the file does not say of which data it is: rows matched by identity"]
    )
    crossing = count_crossing([row.reading.identity for row in rows], parts)
    if crossing:
        notes.append(f"{crossing} inputs stand in more than one part of the split, as the file prescribes")
    missing = sum(map(len, stored.lines.values())) - len(rows)
    if missing > 0:
        notes.append(f"{counted(missing)} of the file are not used here")
    if not np.any(parts == 0):
        raise RecipeError("the split leaves no rows for training", where=where)
    return split_of_parts(parts, f"as in {path}: {stored.describe}", tuple(notes))


def _load(path: str, where: Where) -> SplitFile:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError("cannot read the split", got=error.strerror or str(error), where=where) from error
    except ValueError as error:
        raise RecipeError("cannot read the split", got="no JSON", where=where) from error
    if not isinstance(content, dict):
        raise RecipeError("not a split", expected="the split.json of a model folder", where=where)
    stored = validate(SplitFile, content, error=RecipeError, what="the split", where=where)
    if any(len(stored.lines.get(part, [])) != len(stored.identities.get(part, [])) for part in PARTS):
        raise RecipeError("not a split", got="lines and identities that differ in number", where=where)
    return stored


def _parts(stored: SplitFile, rows: Sequence[Row], where: Where) -> IntArray:
    """Part of each row, as an index into `PARTS`."""
    of_line: dict[int, int] = {}
    of_identity: dict[str, int] = {}
    for name in PARTS:
        part, lines = PARTS.index(name), stored.lines.get(name, [])
        of_line |= dict.fromkeys(lines, part)
        of_identity |= dict.fromkeys(stored.identities.get(name, []), part)
    if stored.data_sha256 is None:
        # Another table may have other rows on the same lines.
        of_line = {}
    parts = [of_line.get(row.line, of_identity.get(identity_hash(row.reading.identity))) for row in rows]
    unknown = [row.line for row, part in zip(rows, parts, strict=True) if part is None]
    if unknown:
        shown = ", ".join(map(str, unknown[:_SHOWN])) + (", ..." if len(unknown) > _SHOWN else "")
        raise RecipeError(
            f"the split says nothing of {counted(len(unknown))}",
            got=f"line{'s' * (len(unknown) > 1)} {shown}",
            where=where,
        )
    return np.array(parts, dtype=np.int64)

"""The split that a column of the table prescribes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from gia_science.data.splits.base import PARTS, Split, count_crossing, split_of_parts
from gia_science.errors import RecipeError

_WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("valid", "validation", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def column_split(values: Sequence[str], groups: Sequence[str]) -> Split:
    """Split that a column of the table prescribes, row by row.

    Parameters
    ----------
    values : sequence of str
        ``train``, ``validation`` (also ``valid``, ``val``, ``dev``) or ``test`` for each row, in any case.
    groups : sequence of str
        Group of each row. A group in several parts is left as prescribed, and told in the notes.

    Raises
    ------
    RecipeError
        When other words stand in the column, or no row is for training or for testing.
    """
    assert len(values) == len(groups)
    words = [value.strip().lower() for value in values]
    unknown = Counter(value for value, word in zip(values, words, strict=True) if word not in _WORDS)
    if unknown:
        shown = ", ".join(f"{word!r} ({count} rows)" for word, count in unknown.most_common(10))
        raise RecipeError(
            "words in the split column are not known", got=shown, expected="train, validation, test"
        )
    parts = np.array([PARTS.index(_WORDS[word]) for word in words], dtype=np.int64)
    for part in (0, 2):
        if not np.any(parts == part):
            raise RecipeError("a part of the split is empty", got=f"no row marked {PARTS[part]!r}")
    notes = [] if np.any(parts == 1) else ["the split column marks no row for validation"]
    crossing = count_crossing(groups, parts)
    if crossing:
        notes.append(f"{crossing} inputs stand in more than one part of the split, as the column prescribes")
    return split_of_parts(parts, "split column", tuple(notes))

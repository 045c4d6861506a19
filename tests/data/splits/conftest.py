"""Rows of each domain to split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gia_science.data.record import LoadedTable, Record
from gia_science.data.rows import Row
from gia_science.data.splits.methods import SplitInput
from gia_science.data.targets import Targets
from gia_science.tokens.domain import DOMAINS, make_tokenizer

NUMBER = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))


@pytest.fixture(scope="session")
def split_input() -> Callable[..., SplitInput]:
    """Makes a `SplitInput` of texts, one target value each, and further columns of cells."""
    readers = {domain: make_tokenizer(domain) for domain in DOMAINS}

    def build(
        domain: str,
        texts: Sequence[str],
        *,
        y: Sequence[float] | None = None,
        targets: Targets | None = NUMBER,
        **columns: Sequence[Any],
    ) -> SplitInput:
        values = list(range(len(texts))) if y is None else list(y)
        names = ("input", *columns)
        cells = zip(texts, *columns.values(), strict=True)
        records = tuple(
            Record("in.csv", line, None, tuple(map(str, row))) for line, row in enumerate(cells, start=2)
        )
        rows = [
            Row(record.line, None, readers[domain].read(text), np.zeros(0), np.array([float(value)]))
            for record, text, value in zip(records, texts, values, strict=True)
        ]
        table = LoadedTable(names, records, "in.csv", "memory", names)
        return SplitInput(rows, table, range(len(rows)), domain, targets)

    return build

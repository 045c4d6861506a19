"""Whatever a user holds in Python, as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from gia_science.data.objects import object_text
from gia_science.data.record import Table
from gia_science.data.table import open_table, table_from_frame, table_from_texts
from gia_science.errors import TableError

if TYPE_CHECKING:
    import pandas as pd

    Data: TypeAlias = str | Path | Iterable[Any] | "pd.Series[Any]" | pd.DataFrame | Table
    """A path, a table, or a list of texts and objects: see `as_table`."""


def as_table(data: Data, *, header: bool = True, format: str | None = None) -> Table:
    """A table from whatever a user holds.

    Parameters
    ----------
    data : path, iterable, Series, DataFrame or Table
        Path of a file; texts, RDKit molecules, Biopython sequences or records, pymatgen compositions or
        structures, in a list, an array, a Series or a generator such as ``Bio.SeqIO.parse`` gives; or a table
        with any of them in its columns.
    header, format
        Of a file, as in `open_table`.

    Raises
    ------
    TableError
        For a bare sequence, SMILES, formula or object where a file or a list is expected, or values that are no
        input.
    """
    if isinstance(data, Table):
        return data
    # `Path.exists` raises for a text that is too long for a name, as a sequence may be.
    if isinstance(data, str) and data != "-" and not os.path.exists(data):  # noqa: PTH110
        shown = data if len(data) <= 80 else data[:80] + "..."
        raise TableError("no such file", got=repr(shown), hint="a single input goes in a list, as in [text]")
    if isinstance(data, str | Path):
        return open_table(data, header=header, format=format)
    # Sequences, structures and compositions are themselves iterables of their parts.
    if object_text(data) is not None:
        raise TableError(f"a single {type(data).__name__}", expected="a list", hint="write [object]")
    if hasattr(data, "columns"):
        return table_from_frame(cast("pd.DataFrame", data))
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise TableError(
            "cannot read inputs from this",
            got=type(data).__name__,
            expected="a path, a list of texts, a Series or a DataFrame",
        )
    return table_from_texts(data, column=str(getattr(data, "name", None) or "input"))

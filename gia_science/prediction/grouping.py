"""Groups of evaluated rows: by a column of their table, or by what the inputs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gia_science.data.record import Table
from gia_science.data.rows import Row
from gia_science.evaluation.groups import BUILT_IN, Grouping, built_in_grouping
from gia_science.evaluation.report import RowKey
from gia_science.model.folder import SavedModel

FloatArray = npt.NDArray[np.float64]
MISSING = "missing"
"""Group of the rows whose cell is empty."""


def groupings(
    by: Sequence[str],
    *,
    table: Table,
    rows: Sequence[Row],
    keys: Sequence[RowKey],
    truth: FloatArray,
    saved: SavedModel,
) -> list[Grouping]:
    """Groupings of the scored rows.

    Parameters
    ----------
    by : sequence of str
        Names of columns, or of `BUILT_IN` where no column is called so.
    table : Table
        The records that the rows were read from, which can be iterated again.
    rows : sequence of Row
    keys : sequence of RowKey
        Of the n scored rows: of `rows`, or of their residues.
    truth : (n, T) float64
    saved : SavedModel

    Raises
    ------
    TableError
        When there is no such column.
    EvaluationError
        When a built-in grouping does not go with the domain or the targets.
    """
    place = {row.line: index for index, row in enumerate(rows)}
    owner = [place[key[0]] for key in keys]
    found = []
    for name in dict.fromkeys(by):
        if name in table.columns or name not in BUILT_IN:
            position = table.position(name)
            cells = {record.line: record.cells[position] for record in table.records if record.line in place}
            labels = [cells[rows[index].line].strip() or MISSING for index in owner]
            found.append(Grouping(name, (tuple(labels),)))
        else:
            found.append(
                built_in_grouping(
                    name,
                    domain=saved.featurizer.tokenizer.domain,
                    readings=[rows[index].reading for index in owner],
                    truth=truth,
                    regression=saved.targets.kind == "regression",
                )
            )
    return found

"""The plain baseline beside an evaluation: a forest fitted on the rows that the model was trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gia_science.data.duplicates import resolve_duplicates
from gia_science.data.rows import Columns, Row, read_rows
from gia_science.data.source import open_source, table_hash
from gia_science.data.targets import Targets
from gia_science.errors import GiaError
from gia_science.evaluation.baselines import fit_forest, forest_features
from gia_science.evaluation.report import score_kind
from gia_science.model.folder import SavedModel

FloatArray = npt.NDArray[np.float64]
FOREST = {
    "smiles": "random forest on Morgan bits",
    "protein": "random forest on composition, length, charge, hydropathy",
    "composition": "random forest on element statistics",
}


def forest_prediction(
    domain: str, targets: Targets, *, train: Sequence[Row], test: Sequence[Row], seed: int = 0, jobs: int = 1
) -> FloatArray:
    """What a forest fitted on some rows predicts for others: ``(n, T)`` or ``(n, T, C)``."""
    kind = score_kind(targets)
    forest = fit_forest(
        kind,
        _features(domain, train),
        np.stack([row.target for row in train]),
        seed=seed,
        classes=len(targets.labels) if kind == "multiclass" else None,
        jobs=jobs,
    )
    return forest.predict(_features(domain, test))


def forest_beside(saved: SavedModel, rows: Sequence[Row], *, jobs: int = 1) -> tuple[FloatArray | None, str]:
    """Prediction of the baseline for some rows, and its name; None and the reason where it cannot be had."""
    try:
        train = training_rows(saved)
    except GiaError as error:
        return None, f"none: the training data cannot be read again ({error})"
    if not train:
        return None, "none: the training data has changed or was not a file"
    domain = saved.featurizer.tokenizer.domain
    return forest_prediction(domain, saved.targets, train=train, test=rows, jobs=jobs), FOREST[domain]


def training_rows(saved: SavedModel) -> list[Row] | None:
    """Training and validation rows of a model, read again; None when the data is not what it was."""
    if saved.data.input is None or (saved.data.dataset is None and saved.data.file is None):
        return None
    table = open_source(saved.data)
    if table_hash(table) != saved.data.sha256:
        return None
    columns = Columns.find(
        table, input=saved.data.input, numbers=saved.featurizer.source.columns, targets=saved.targets.names
    )
    rows, _ = read_rows(table.records, columns=columns, read=saved.featurizer.read, targets=saved.targets)
    # As training had them: rows without any target were left out, and those of one input went by the policy.
    measured = [row for row in rows if not np.isnan(row.target).all()]
    rows = resolve_duplicates(measured, targets=saved.targets, policy=saved.data.duplicates).rows
    lines = saved.split.get("lines", {})
    wanted = {*lines.get("train", ()), *lines.get("validation", ())}
    return [row for row in rows if row.line in wanted]


def _features(domain: str, rows: Sequence[Row]) -> FloatArray:
    extra = np.stack([row.numbers for row in rows])
    return forest_features(domain, [row.reading for row in rows], extra=extra)

"""The plain baselines beside an evaluation, fitted on the rows that the model was trained on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gia_science.data.duplicates import resolve_duplicates
from gia_science.data.rows import Columns, Row, read_rows
from gia_science.data.source import open_source, table_hash
from gia_science.data.targets import Targets
from gia_science.errors import GiaError
from gia_science.evaluation.baselines import check_names
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.registry import find_baseline
from gia_science.evaluation.report import NOT_ASKED, BaselinePrediction, RowKey, score_kind
from gia_science.model.folder import SavedModel
from gia_science.tokens.featurizer import Example

FloatArray = npt.NDArray[np.float64]
NO_RESIDUES = "none for labels of residues"


def baseline_predictions(
    domain: str,
    targets: Targets,
    *,
    names: Sequence[str],
    train: Sequence[Row],
    test: Sequence[Row],
    seed: int = 0,
    jobs: int = 1,
) -> tuple[BaselinePrediction, ...]:
    """What baselines fitted on some rows predict for others.

    Parameters
    ----------
    domain : str
    targets : Targets
    names : sequence of str
        Names of `gia_science.evaluation.baselines.NAMES`.
    train, test : sequence of Row
    seed : int, default 0
    jobs : int, default 1
        Threads.

    Raises
    ------
    EvaluationError
        When there is no such baseline.
    """
    chosen = [find_baseline(name) for name in check_names(names)]
    if not chosen:
        return ()
    kind = score_kind(targets)
    known, asked = Inputs.of_rows(domain, train), Inputs.of_rows(domain, test)
    y = np.stack([row.target for row in train])
    classes = len(targets.labels) if kind == "multiclass" else None
    return tuple(
        BaselinePrediction(
            baseline.name,
            baseline.describe(domain),
            baseline.fit(kind, known, y, classes=classes, seed=seed, jobs=jobs).predict(asked),
        )
        for baseline in chosen
    )


def baselines_beside(
    saved: SavedModel, rows: Sequence[Row], *, names: Sequence[str], jobs: int = 1
) -> tuple[tuple[BaselinePrediction, ...], str]:
    """Predictions of baselines for some rows; without any, the reason."""
    if not names:
        return (), NOT_ASKED
    try:
        train = training_rows(saved)
    except GiaError as error:
        return (), f"the training data cannot be read again ({error})"
    if not train:
        return (), "the training data has changed or was not a file"
    domain = saved.featurizer.tokenizer.domain
    found = baseline_predictions(domain, saved.targets, names=names, train=train, test=rows, jobs=jobs)
    return found, ""


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


def measured_rows(
    rows: Sequence[Row], examples: Sequence[Example], *, per_token: bool
) -> tuple[FloatArray, list[RowKey]]:
    """What was measured, and what tells the rows apart.

    Parameters
    ----------
    rows : sequence of Row
    examples : sequence of Example
        Of the same rows.
    per_token : bool
        Whether the targets are labels of residues: each that the network sees is a row of its own then.

    Returns
    -------
    truth : (n, T) float64
    keys : list of RowKey
        Line, and for residues the place.
    """
    if not per_token:
        return np.stack([row.target for row in rows]), [(row.line,) for row in rows]
    units = [example.stream.units[example.stream.units >= 0] for example in examples]
    truth = np.concatenate([row.target[places] for row, places in zip(rows, units, strict=True)])
    keys: list[RowKey] = [
        (row.line, int(place)) for row, places in zip(rows, units, strict=True) for place in places
    ]
    return truth[:, None], keys

"""A trained model held against what was measured."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gia_science.data.inputs import as_table
from gia_science.data.rows import identity_hash, read_rows
from gia_science.data.table import load_table
from gia_science.errors import EvaluationError, Where
from gia_science.evaluation.baselines import check_names
from gia_science.evaluation.report import Evaluation, evaluate_predictions
from gia_science.model.folder import SavedModel
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.prediction.grouping import groupings
from gia_science.prediction.reading import find_columns
from gia_science.prediction.reference import NO_RESIDUES, baselines_beside, measured_rows

if TYPE_CHECKING:
    from gia_science.data.inputs import Data

logger = logging.getLogger("gia_science")


def evaluate(
    saved: SavedModel,
    data: Data,
    *,
    input: str | None,
    baselines: Sequence[str],
    by: Sequence[str],
    jobs: int,
) -> Evaluation:
    """Score a model on rows with measured targets; parameters and errors as of `Model.evaluate`."""
    names = check_names(baselines)
    table = as_table(data)
    if by:
        # The cells of the groups are looked up behind the predictions.
        table = load_table(table)
    targets = saved.targets
    columns = find_columns(saved, table, input=input, targets=targets.names)
    rows, bad = read_rows(table.records, columns=columns, read=saved.featurizer.read, targets=targets)
    if not rows:
        raise EvaluationError(
            "no row can be scored", got=str(bad[0]) if bad else "an empty table", where=Where(table.source)
        )
    for row in bad:
        logger.warning("not scored: %s", row)
    examples = [saved.featurizer.example(row.reading, numbers=row.numbers.tolist()) for row in rows]
    outputs = all_computed(predict_examples(saved.network, examples, kind=targets.kind))
    per_token = targets.kind == "per_token"
    truth, keys = measured_rows(rows, examples, per_token=per_token)
    beside, reason = ((), NO_RESIDUES) if per_token else baselines_beside(saved, rows, names=names, jobs=jobs)
    return evaluate_predictions(
        targets,
        truth=truth,
        prediction=np.concatenate(outputs) if per_token else targets.decode(np.stack(outputs)),
        keys=keys,
        baselines=beside,
        no_baselines=reason,
        groupings=groupings(by, table=table, rows=rows, keys=keys, truth=truth, saved=saved),
        notes=_notes(saved, [row.reading.identity for row in rows], bad=len(bad)),
        left_out=len(bad),
    )


def _notes(saved: SavedModel, identities: list[str], *, bad: int) -> list[str]:
    # Validation rows count as well: they chose the epoch, and the baselines are fitted on them.
    parts = saved.split.get("identities", {})
    trained = {*parts.get("train", ()), *parts.get("validation", ())}
    seen = sum(identity_hash(identity) in trained for identity in identities)
    notes = []
    if bad:
        left_out = "row cannot be read and is" if bad == 1 else "rows cannot be read and are"
        notes.append(f"{bad} {left_out} left out")
    if seen:
        notes.append(f"{seen} of {len(identities)} rows were in the training data: the scores flatter")
    return notes

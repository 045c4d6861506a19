"""The report beside a model: a figure, and the table of evaluated rows it was made from."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gia_science.data.rows import Row
from gia_science.data.targets import Targets
from gia_science.evaluation.baselines import plain_name
from gia_science.evaluation.figure import report_figure
from gia_science.evaluation.leakage import LeakageReport
from gia_science.evaluation.report import BaselinePrediction, Evaluation
from gia_science.prediction.columns import number_text

FloatArray = npt.NDArray[np.float64]


def report_picture(
    targets: Targets,
    evaluation: Evaluation,
    *,
    truth: FloatArray,
    prediction: FloatArray,
    baselines: Sequence[BaselinePrediction],
) -> bytes:
    """PNG of the first target: measured against predicted, a ROC curve, or a confusion matrix.

    The last of the baselines is drawn beside, except for a constant.
    """
    drawn = next((baseline for baseline in reversed(baselines) if baseline.name != "constant"), None)
    shown = prediction[:, 0]
    if evaluation.kind == "multiclass":
        # The figure takes the largest.
        shown = prediction / np.array(targets.priors) if targets.priors else prediction
    return report_figure(
        evaluation.kind,
        truth[:, 0],
        shown,
        baseline=None if drawn is None else drawn.values[:, 0],
        baseline_name="" if drawn is None else plain_name(drawn.name),
        target=targets.names[0],
        unit=targets.units[0] if targets.units else "",
        scores=evaluation.targets[0].model,
        baseline_scores=() if drawn is None else evaluation.targets[0].baselines[drawn.name],
        labels=targets.labels,
    )


def prediction_table(targets: Targets, rows: Sequence[Row], *, prediction: FloatArray) -> bytes:
    """CSV of the evaluated rows: line, id, identity, then measured and predicted values of each target."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if targets.kind == "per_token":
        return b""
    header = ["line", "id", "identity"]
    for name in targets.names:
        header += [name, f"{name}_pred"]
    writer.writerow(header)
    for row, values in zip(rows, prediction, strict=True):
        cells: list[str | int] = [row.line, row.id or "", row.reading.identity]
        for index, measured in enumerate(row.target):
            cells += [_measured(targets, measured), _predicted(targets, values, index)]
        writer.writerow(cells)
    return text.getvalue().encode()


def _measured(targets: Targets, value: float) -> str:
    if math.isnan(value):
        return ""
    return number_text(value, digits=15) if targets.kind == "regression" else targets.labels[int(value)]


def _predicted(targets: Targets, values: FloatArray, index: int) -> str:
    """A value, the probability of the positive class, or the likeliest class."""
    return (
        targets.labels[int(targets.label(values))]
        if targets.kind == "multiclass"
        else number_text(values[index])
    )


def leakage_file(leaks: LeakageReport) -> bytes:
    """JSON of what the split lets through from training to test."""
    text = json.dumps(leaks.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"

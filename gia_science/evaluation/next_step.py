"""The one line that says what to do next: a command that would work on the table as it is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gia_science.data.rows import MAX_LENGTH
from gia_science.evaluation.columns import ColumnSummary
from gia_science.evaluation.findings import FEWEST_INPUTS, ValidationReport


def next_step(
    report: ValidationReport,
    *,
    file: str | None,
    model: str | None,
    input: str | None,
    domain: str | None,
    kind: str | None,
    columns: Sequence[str],
    max_length: int,
    header: bool,
    split: str | None = None,
) -> str:
    """What to do with a table.

    Parameters
    ----------
    report : ValidationReport
    file : str or None
        As the user named it; of rows in memory, the word FILE stands for it.
    model, input, domain, kind, columns, max_length, header, split
        What the user said.
    """
    if not report.rows:
        return "put rows under the header"
    if len(report.unreadable) == report.rows:
        return _no_row(report)
    place = [] if header else ["--no-header"]
    place += ["--input", input] if input is not None else []
    if model is not None:
        return shlex.join(["gia", "predict", model, file or "FILE", *place, "-o", "predictions.csv"])
    if report.distinct < FEWEST_INPUTS:
        return _too_few(report)
    if any(target.kind is None or (target.problem and report.task is None) for target in report.targets):
        return "choose another target or --kind, or mend the column"
    names = [target.name for target in report.targets] or _candidate(report.columns)
    said = [*place, *(["--domain", domain] if domain is not None else [])]
    if not names:
        return _shown(["gia", "pretrain", file or "FILE", *said, "-o", "pretrained/"], report) + (
            "  (training needs a column with measurements)"
        )
    words = ["gia", "train", file or "FILE", *(word for name in names for word in ("--target", name)), *said]
    words += ["--kind", kind] if kind is not None else []
    words += [word for column in columns for word in ("--column", column)]
    words += ["--split", split] if split is not None else []
    if report.duplicates.conflicts:
        regression = report.task is not None and report.task.kind == "regression"
        words += ["--duplicates", "mean" if regression else "drop"]
    if max_length != MAX_LENGTH:
        words += ["--set", f"network.max_length={max_length}"]
    return _shown(words, report)


def _no_row(report: ValidationReport) -> str:
    if report.lengths is None:
        return "no row can be used: are these the right column and domain? (--input, --domain, --target)"
    return "no row can be used, though inputs can be read: mend the rows told of above, or choose another --target"


def _too_few(report: ValidationReport) -> str:
    if report.distinct + len(report.unreadable) < FEWEST_INPUTS:
        return "measure more, or read more rows: a model needs many different inputs"
    return "mend the rows that cannot be used: too few others are left to train on"


def _shown(words: list[str], report: ValidationReport) -> str:
    return shlex.join([*words, *(["--bad-rows", "drop"] if report.unreadable else [])])


def _candidate(columns: Sequence[ColumnSummary]) -> list[str]:
    """The first column of numbers, else the first of classes, that can be learnt."""
    sound = [column for column in columns if column.kind is not None and column.problem is None]
    numbers = [column.name for column in sound if column.kind == "regression"]
    return (numbers or [column.name for column in sound])[:1]

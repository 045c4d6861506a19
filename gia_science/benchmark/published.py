"""Figures that others published for the shipped tasks; none of them is computed here."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import Field

from gia_science.errors import DefinitionError, Where
from gia_science.settings import Strict, validate

FILE = Path(__file__).with_name("published.yaml")


class PublishedFigures(Strict):
    """Figures of one source for one task.

    Parameters
    ----------
    task : str
        Name of a shipped task, whose test rows these are.
    metric : str
        Name of the metric, as in `gia_science.evaluation.metrics`.
    protocol : str
        On which rows, and over how many runs.
    source : str
        Where the figures stand.
    values : mapping of str to float
        By model.
    note : str
        What to know before comparing.
    """

    task: str
    metric: str
    protocol: str
    source: str
    values: dict[str, float] = Field(min_length=1)
    note: str = ""


class _File(Strict):
    figures: tuple[PublishedFigures, ...]


def published_figures() -> tuple[PublishedFigures, ...]:
    """All published figures that ship with the package, in the order of the file.

    Raises
    ------
    DefinitionError
        When the file is damaged.
    """
    where = Where(file=str(FILE))
    content = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return validate(_File, content, error=DefinitionError, what="the published figures", where=where).figures

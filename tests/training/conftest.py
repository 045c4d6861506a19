"""Small experiments that train in seconds."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gia_science.training.recipe import Recipe

ALCOHOLS = [f"{'C' * n}O" for n in range(1, 11)]
ACIDS = [f"{'C' * n}C(=O)O" for n in range(1, 11)]
SMALL = {
    "network.width": 16,
    "network.layers": 1,
    "network.attention": {"heads": 2},
    "descriptors": [],
    "network.members": 1,
    "training.epochs": 2,
    "training.min_steps": 1,
    "baselines": [],
}


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a CSV of columns."""

    def write(name: str = "measured.csv", **columns: list[Any]) -> Path:
        path = tmp_path / name
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return path

    return write


@pytest.fixture
def recipe() -> Callable[..., Recipe]:
    """A recipe for a file with small settings, some of them changed."""

    def build(path: Path, target: str = "y", **changes: Any) -> Recipe:
        dotted = {key.replace("__", "."): value for key, value in changes.items()}
        return Recipe.build({"data.file": str(path), "target.names": [target], **SMALL, **dotted})

    return build

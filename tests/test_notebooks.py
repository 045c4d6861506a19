"""Notebooks: their two forms say the same, and their outputs say nothing of the machine. `make notebooks` runs them."""

from __future__ import annotations

import getpass
import re
from pathlib import Path
from typing import Any

import pytest

jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")

FOLDER = Path(__file__).parent.parent / "notebooks"
SOURCES = sorted(FOLDER.glob("*.py"))
NAMES = [path.stem for path in SOURCES]
PATHS = re.compile(r"(?<![\w.])/(?:home|root|tmp|Users|usr|opt|var|work|mnt)/|[A-Z]:\\\\|site-packages")


def cells(notebook: Any) -> list[tuple[str, str]]:
    return [(cell.cell_type, cell.source.strip()) for cell in notebook.cells]


def outputs(name: str) -> list[Any]:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def texts(output: Any) -> list[str]:
    """All of an output that is text: streams, and data that is no picture."""
    data = output.get("data", {})
    return [output.get("text", ""), *(str(value) for kind, value in data.items() if kind.startswith("text/"))]


def test_every_notebook_has_both_forms() -> None:
    assert SOURCES
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_source_and_notebook_have_the_same_cells(name: str) -> None:
    source = jupytext.read(FOLDER / f"{name}.py")
    assert cells(source) == cells(nbformat.read(FOLDER / f"{name}.ipynb", as_version=4))


@pytest.mark.parametrize("name", NAMES)
def test_all_code_was_run_in_order_and_without_an_error(name: str) -> None:
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert not [output for output in outputs(name) if output.output_type == "error"]


@pytest.mark.parametrize("name", NAMES)
def test_outputs_name_no_path_and_no_user(name: str) -> None:
    user = getpass.getuser()
    for text in [text for output in outputs(name) for text in texts(output)]:
        assert not PATHS.search(text), text
        assert not re.search(rf"\b{re.escape(user)}\b", text), text


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_a_figure(name: str) -> None:
    assert any("image/png" in output.get("data", {}) for output in outputs(name))

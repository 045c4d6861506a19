"""Definitions are found wherever the package is, and never shadow other packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gia_science import catalog
from gia_science.errors import DefinitionError

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("kind", ["tokenizers", "datasets", "tasks"])
def test_definition_folders_are_no_python_packages(kind: str) -> None:
    assert not list((ROOT / kind).rglob("*.py"))


def test_in_the_repository_root_tokenizers_is_still_the_installed_package() -> None:
    code = "import tokenizers; print(tokenizers.__version__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip()


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(DefinitionError, match=r"did you mean 'nav17'\?"):
        catalog.find("tasks", "nav71")


def test_a_folder_of_the_users_is_looked_at_first(tmp_path: Path) -> None:
    mine = tmp_path / "nav17.yaml"
    mine.write_text("name: mine")
    assert catalog.find("tasks", "nav17", extra=tmp_path) == mine
    assert catalog.find("tasks", "amp", extra=tmp_path).parent == catalog.folder("tasks")
    assert set(catalog.names("tasks", extra=tmp_path)) == set(catalog.names("tasks"))


@pytest.mark.parametrize("name", ["../pyproject", "/etc/passwd", "nav17/../amp"])
def test_no_path_is_built_from_a_name(name: str) -> None:
    with pytest.raises(DefinitionError):
        catalog.find("tasks", name)

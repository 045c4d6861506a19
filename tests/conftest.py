"""What all tests share."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.bases import write_base

# A busy machine is no failure: how long an example takes is measured by the benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared_base(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of a tiny pretrained model of a family, made once: only to be read."""

    @cache
    def make(family: str) -> Path:
        folder = tmp_path_factory.mktemp(family)
        write_base(folder, family)
        return folder

    return make


@pytest.fixture
def make_base(shared_base: Callable[[str], Path], tmp_path: Path) -> Callable[..., Path]:
    """A tiny pretrained model in a folder of the test's own: ``make_base("bert", name="base", **of_config)``."""

    def make(family: str, name: str = "base", **changes: Any) -> Path:
        if changes:
            write_base(tmp_path / name, family, **changes)
        else:
            shutil.copytree(shared_base(family), tmp_path / name)
        return tmp_path / name

    return make


@pytest.fixture(scope="session")
def change_json() -> Callable[..., None]:
    """Changes keys of a JSON file; None takes a key out."""

    def change(path: Path, **values: Any) -> None:
        data = json.loads(path.read_text()) | values
        path.write_text(json.dumps({name: value for name, value in data.items() if value is not None}))

    return change

"""The fuzzed property, which the coverage-guided fuzzer shares with the tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def rows_back() -> ModuleType:
    path = Path(__file__).with_name("rows_back.py")
    spec = importlib.util.spec_from_file_location("rows_back", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

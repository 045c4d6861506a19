"""The untrained networks of `tests/model`, as users hold them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gia_science.prediction.model import Model

_PATH = Path(__file__).parents[1] / "model" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("untrained_networks", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
_NETWORKS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_NETWORKS)


@pytest.fixture(scope="session")
def make_saved():
    return _NETWORKS.make_saved


@pytest.fixture(scope="session")
def make_model(make_saved):
    def make(*arguments, **options) -> Model:
        return Model(make_saved(*arguments, **{"providers": (), "layers": 1, **options}))

    return make


@pytest.fixture(scope="session")
def molecules(make_model) -> Model:
    return make_model("smiles")


@pytest.fixture(scope="session")
def residues(make_model) -> Model:
    """Labels each residue; gaps and blanks are left out of the sequence."""
    return make_model("protein", kind="per_token", labels=("C", "E", "H"))

"""Small data of the three domains, and estimators that are fitted in a fraction of a second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from gia_science.estimators import SequenceClassifier, SequenceEmbedder, SequenceRegressor

ALCOHOLS = [f"{'C' * n}O" for n in range(1, 13)]
ACIDS = [f"{'C' * n}C(=O)O" for n in range(1, 13)]
NETWORK = {"network.attention.heads": 2, "network.attention.kind": "plain"}
SIZES = {"width": 8, "layers": 1, "epochs": 1, "min_steps": 3, "random_state": 0, "settings": NETWORK}
PREDICTOR = {**SIZES, "members": 1, "settings": {**NETWORK, "descriptors": []}}
GOOD = {
    **PREDICTOR,
    "min_steps": 60,
    "learning_rate": 0.02,
    "settings": {
        **NETWORK,
        "network.dropout": 0.0,
        "network.token_dropout": 0.0,
        "network.descriptor_dropout": 0.0,
    },
}


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def regressor() -> SequenceRegressor:
    return SequenceRegressor(domain="smiles", **PREDICTOR)


@pytest.fixture
def classifier() -> SequenceClassifier:
    return SequenceClassifier(domain="smiles", **PREDICTOR)


@pytest.fixture
def embedder() -> SequenceEmbedder:
    return SequenceEmbedder(domain="smiles", **SIZES)


@pytest.fixture(scope="session")
def learner() -> Any:
    """Parameters with which a network learns something."""
    return GOOD


@pytest.fixture(scope="session")
def molecules() -> SimpleNamespace:
    """SMILES with numbers, classes and groups."""
    X = [text for pair in zip(ALCOHOLS, ACIDS, strict=True) for text in pair]
    y = np.array([len(text) * 10.0 for text in X])
    kinds = np.array(["alcohol", "acid"] * len(ALCOHOLS))
    return SimpleNamespace(X=X, y=y, kinds=kinds, groups=np.arange(len(X)) // 6)


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Band gaps, say, of compositions made at some temperature; the index is no range."""
    formulas = ["NaCl", "KCl", "LiF", "MgO", "CaO", "ZnO", "GaAs", "InP", "Si", "Ge", "AlN", "BN"]
    heat = np.linspace(300, 1400, len(formulas))
    labels = [f"sample {n}" for n in range(len(formulas))]
    return pd.DataFrame({"formula": formulas, "temperature": heat, "gap": heat / 100}, index=labels)


@pytest.fixture(scope="session")
def model_folder(molecules: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    fitted = SequenceRegressor(domain="smiles", **PREDICTOR).fit(molecules.X, molecules.y)
    return fitted.model_.save(tmp_path_factory.mktemp("fitted") / "model")

"""Inputs made by hand: what a baseline sees of a molecule, a protein, a composition."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from rdkit import Chem

from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.stream import Reading


def reading(domain: str, text: str) -> Reading:
    if domain == "smiles":
        identity = Chem.CanonSmiles(text)
        mol = Chem.MolFromSmiles(identity)
        return Reading(identity, mol, mol.GetNumAtoms())
    if domain == "protein":
        return Reading(text, SimpleNamespace(residues=text), len(text))
    if domain != "composition":
        return make_tokenizer(domain).read(text)
    symbols = text.split()
    fractions = {symbol: 1 / len(symbols) for symbol in symbols}
    return Reading(text, fractions, len(fractions))


@pytest.fixture
def make() -> Callable[..., Inputs]:
    """``make("smiles", ["CC", "CO"], numbers=(n, C))``; compositions are ``"Fe"`` or ``"Na Cl"``."""

    def build(domain: str, texts: list[str], numbers: np.ndarray | None = None) -> Inputs:
        return Inputs.of(domain, [reading(domain, text) for text in texts], numbers=numbers)

    return build


@pytest.fixture
def numbers(make: Callable[..., Inputs]) -> Callable[..., Inputs]:
    """One and the same protein again and again, with numbers that differ: only these tell the rows apart."""

    def build(x: np.ndarray) -> Inputs:
        readings = [reading("protein", "A")] * len(x)
        distinct = [Reading(f"{row}", one.parsed, 1) for row, one in enumerate(readings)]
        return Inputs.of("protein", distinct, numbers=x)

    return build


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gia_science.evaluation.baselines.forest.TREES", 12)
    monkeypatch.setattr("gia_science.evaluation.baselines.forest.TREES_OF_CHOICE", 11)

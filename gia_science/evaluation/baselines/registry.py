"""The baselines by name: how each is fitted, and what it is in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from gia_science.evaluation.baselines import check_names
from gia_science.evaluation.baselines.constant import fit_constant
from gia_science.evaluation.baselines.forest import fit_extra_trees, fit_forest
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.evaluation.baselines.linear import fit_linear
from gia_science.evaluation.baselines.nearest import fit_nearest
from gia_science.evaluation.baselines.targets import Fit, Predictor
from gia_science.evaluation.metrics import ScoreKind

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Baseline:
    """A baseline.

    Parameters
    ----------
    name : str
        By which commands and recipes know it.
    fit : Fit
    title : str
        What it is.
    sees : mapping
        What it goes by, in words, for each domain; empty for nothing.
    """

    name: str
    fit: Fit
    title: str
    sees: Mapping[str, str]

    def describe(self, domain: str) -> str:
        """What it is and what it sees of inputs of a domain, in words."""
        return f"{self.title} {self.sees[domain]}" if domain in self.sees else self.title


_DESCRIPTORS: Mapping[str, str] = {
    "smiles": "on Morgan counts and RDKit 2D descriptors",
    "protein": "on composition, length, charge, hydropathy, and the residues at each place (aligned proteins)",
    "composition": "on element statistics, the fractions of the elements and the balance of charges",
}
_FOREST: Mapping[str, str] = {
    **_DESCRIPTORS,
    "smiles": "on Morgan bits, or counts and RDKit 2D descriptors, whichever has the smaller out-of-bag error",
}
_LINEAR: Mapping[str, str] = {
    "smiles": _DESCRIPTORS["smiles"],
    "protein": "on one-hot residues (aligned proteins), or composition and pairs of residues",
    "composition": _DESCRIPTORS["composition"],
}
_SIMILARITY: Mapping[str, str] = {
    "smiles": "by the Tanimoto similarity of Morgan bits",
    "protein": "by the shared words of up to three residues",
    "composition": "by the shared fraction of atoms",
}
BASELINES: Final[Mapping[str, Baseline]] = MappingProxyType(
    {
        baseline.name: baseline
        for baseline in (
            Baseline("constant", fit_constant, "mean, or most frequent class, of the training rows", {}),
            Baseline("linear", fit_linear, "ridge or logistic regression", _LINEAR),
            Baseline("nearest", fit_nearest, "mean of the nearest training rows", _SIMILARITY),
            Baseline("random_forest", fit_forest, "random forest", _FOREST),
            Baseline("extra_trees", fit_extra_trees, "extremely randomised trees", _DESCRIPTORS),
        )
    }
)
"""All baselines by name."""


def find_baseline(name: str) -> Baseline:
    """Baseline of that name; raises `EvaluationError` where there is none."""
    return BASELINES[check_names([name])[0]]


def fit_baseline(
    name: str,
    kind: ScoreKind,
    inputs: Inputs,
    y: FloatArray,
    *,
    classes: int | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Predictor:
    """Fit the baseline of that name; the other parameters are those of `Fit`.

    Raises
    ------
    EvaluationError
        When there is no such baseline, or a target is no class index.
    """
    return find_baseline(name).fit(kind, inputs, y, classes=classes, seed=seed, jobs=jobs)

"""scikit-learn's own checks of an estimator, all of them, on networks that are trained for it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

_PATH = Path(__file__).with_name("numeric_front.py")
_SPEC = importlib.util.spec_from_file_location("numeric_front", _PATH)
front = importlib.util.module_from_spec(_SPEC)
# Pickled estimators look their class up there.
sys.modules["numeric_front"] = front
_SPEC.loader.exec_module(front)

ATTENTION = {"network.attention.heads": 2, "network.attention.kind": "plain"}
TINY = {"domain": "composition", "width": 16, "layers": 1, "learning_rate": 0.02}
PLAIN = {
    **ATTENTION,
    "network.dropout": 0.0,
    "network.token_dropout": 0.0,
    "network.descriptor_dropout": 0.0,
    "training.ema": 0.9,
}
SUPERVISED = {**TINY, "members": 1, "epochs": 10, "min_steps": 25, "settings": PLAIN}
ESTIMATORS = [
    front.NumericRegressor(**SUPERVISED),
    front.NumericClassifier(**SUPERVISED),
    front.NumericEmbedder(**TINY, epochs=1, min_steps=5, settings=ATTENTION),
]
CORE = {
    "check_dict_unchanged",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_no_attributes_set_in_init",
    "check_sample_weight_equivalence_on_dense_data",
}
"""Those that run by default; `make test-slow` runs all."""
ARRAY_API = "SCIPY_ARRAY_API"


def core_checks() -> list:
    pairs = [pair for estimator in ESTIMATORS for pair in estimator_checks_generator(estimator)]
    return [
        pytest.param(estimator, check, id=f"{type(estimator).__name__}-{name}")
        for estimator, check in pairs
        if (name := getattr(check, "func", check).__name__) in CORE
        and not getattr(check, "keywords", {}).get("readonly_memmap")
    ]


@pytest.mark.parametrize(("estimator", "check"), core_checks())
def test_the_estimator_passes_a_check_of_the_core(estimator, check) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(ESTIMATORS)
def test_the_estimator_passes_a_check_of_scikit_learn(estimator, check) -> None:
    if getattr(check.func, "__name__", "") == "check_array_api_input" and ARRAY_API not in os.environ:
        check_in_new_process(type(estimator).__name__)
    else:
        check(estimator)


def check_in_new_process(name: str) -> None:
    """SciPy asks for the variable when it is imported; without it scikit-learn skips the check."""
    chosen = f"test_the_estimator_passes_a_check_of_scikit_learn and {name} and check_array_api_input"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, __file__]
    done = subprocess.run(
        command, env={**os.environ, ARRAY_API: "1"}, capture_output=True, text=True, cwd=_PATH.parents[2]
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    assert "skipped" not in done.stdout

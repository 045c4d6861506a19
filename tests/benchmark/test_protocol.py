"""Every shipped task is judged on its official splits by its own metric, whatever is set."""

from __future__ import annotations

import pytest

from gia_science import catalog
from gia_science.benchmark.protocol import bundled_tasks, missing_data, protocol_of, score_kind_of
from gia_science.errors import RecipeError
from gia_science.evaluation.baselines import NAMES
from gia_science.evaluation.metrics import METRICS


@pytest.mark.parametrize("task", catalog.names("tasks"))
def test_every_shipped_task_has_a_protocol(task) -> None:
    """All folds of a cross-validation or the one split, judged by a metric of its kind, all baselines beside."""
    found = protocol_of(task)
    folds = found.recipe.split.method == "folds"
    assert found.folds == ((0, 1, 2, 3, 4) if folds else (None,))
    assert found.metric in METRICS[score_kind_of(found.recipe)]
    assert found.recipe.baselines == NAMES
    last = found.folds[-1]
    recipe = found.recipe_of(fold=last, seed=7)
    assert (recipe.seed, recipe.split.seed) == (7, found.recipe.split.seed), "a seed never draws the split"
    assert recipe.split.fold == (last or 0)


def test_metrics_and_units_are_those_of_the_cards() -> None:
    titles = {task: protocol_of(task).metric_title for task in ("nav17", "amp", "matbench_steels", "gfp")}
    assert titles == {
        "nav17": "RMSE, -log10 M",
        "amp": "ROC-AUC",
        "matbench_steels": "MAE, MPa",
        "gfp": "Spearman ρ",
    }
    assert protocol_of("bace").metric.name == "roc_auc"
    assert protocol_of("bace_pic50").metric.name == "rmse", "a regression on the card of a classification"


def test_the_hash_of_a_recipe_knows_its_settings() -> None:
    plain = protocol_of("nav17").recipe_hash
    assert plain == protocol_of("nav17").recipe_hash
    assert plain != protocol_of("nav17", settings={"training.epochs": 1}).recipe_hash
    assert plain != protocol_of("amp").recipe_hash


@pytest.mark.parametrize("key", ["seed", "split.fold", "split", "data.dataset", "baselines", "target.kind"])
def test_what_the_protocol_decides_cannot_be_set(key) -> None:
    with pytest.raises(RecipeError, match="the protocol of a task decides this setting"):
        protocol_of("nav17", settings={key: 1})


def test_the_tasks_with_bundled_data_are_the_default() -> None:
    assert set(bundled_tasks()) == {"nav17", "amp", "expt_gap"}


def test_data_that_cannot_be_had_are_told_by_task(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path / "none"))
    found = missing_data([protocol_of(task) for task in ("nav17", "gb1_low_vs_high", "gb1_two_vs_rest")])
    assert list(found) == ["gb1_low_vs_high", "gb1_two_vs_rest"]
    assert all("GIA_DATA_MIRROR names no folder" in reason for reason in found.values())

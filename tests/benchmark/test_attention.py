"""The comparison runs as a whole, is paired, can be interrupted, and gives the same again."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gia_science.benchmark.arms import ARMS
from gia_science.benchmark.attention import PRESETS, Preset, compare, run_batch
from gia_science.benchmark.experiment import LANGUAGE, experiment
from gia_science.benchmark.trial import TrainingLoss, expansions, run_trial
from gia_science.errors import RecipeError

QUICK = {
    "network.width": 16,
    "network.attention.heads": 2,
    "training.epochs": 2,
    "training.min_steps": 1,
    "training.batch_rows": 512,
    "training.batch_tokens": 40000,
}
TWO = (ARMS[0], ARMS[2])


@pytest.fixture(scope="module")
def gap():
    return experiment("expt_gap", seed=3, settings=QUICK)


def test_training_never_stops_early_so_that_the_end_can_be_compared(gap) -> None:
    trial = run_trial(gap, ARMS[0], expansion=None)
    assert len(trial.val_loss) == len(trial.train_loss) == 2
    assert trial.best_val_loss == min(trial.val_loss)
    assert trial == run_trial(gap, ARMS[0], expansion=None), "the same seed gives the same trial"


def test_the_training_loss_is_that_of_the_averaged_weights_without_dropout(gap) -> None:
    """Measured as the validation loss is: on validation rows it gives the validation loss."""
    data = gap.data()
    validation = [(batch, targets) for batch, targets in data.val_dataloader()]
    watched = TrainingLoss(validation)
    from gia_science.training.devices import Devices
    from gia_science.training.fit import fit_network

    fitted = fit_network(
        lambda: gap.build(gap.attention, None),
        data=data,
        optimizer=gap.optimizer,
        validate=True,
        seed=0,
        devices=Devices("cpu"),
        progress=False,
        watch=[watched],
    )
    assert watched.history == pytest.approx([loss for _, loss in fitted.history], rel=1e-5)


def test_arms_see_the_same_rows_in_the_same_order(gap) -> None:
    first, second = ([batch.ids for batch, _ in gap.data().train_dataloader()] for _ in range(2))
    assert all(a.equal(b) for a, b in zip(first, second, strict=True))


def test_a_language_experiment_is_causal(tmp_path: Path) -> None:
    item = experiment(LANGUAGE, seed=0, settings=QUICK)
    assert item.attention.causal
    assert item.metric == "perplexity"
    sizes = expansions(item, TWO)
    assert sizes["plain"] is None
    assert sizes["GIN 0.5"] > 2


def test_done_trials_are_kept_and_other_settings_refused(tmp_path: Path) -> None:
    preset = Preset(seeds=2, settings=QUICK)
    batches = compare(tmp_path, preset=preset, tasks=["expt_gap"], arms=TWO)
    kept = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sorted(kept) == ["expt_gap-0.json", "expt_gap-1.json"]
    (tmp_path / "expt_gap-1.json").unlink()
    again = compare(tmp_path, preset=preset, tasks=["expt_gap"], arms=TWO)
    assert [batch.trials for batch in again] == [batch.trials for batch in batches]
    assert (tmp_path / "expt_gap-0.json").stat().st_mtime_ns == kept["expt_gap-0.json"]
    other = Preset(seeds=2, settings={**QUICK, "training.epochs": 3})
    with pytest.raises(RecipeError, match=r"trials of other settings lie here.*another --out"):
        compare(tmp_path, preset=other, tasks=["expt_gap"], arms=TWO)


def test_a_damaged_file_of_trials_is_told(tmp_path: Path) -> None:
    (tmp_path / "expt_gap-0.json").write_text("{")
    with pytest.raises(RecipeError, match="not trials of a comparison"):
        compare(tmp_path, preset=Preset(seeds=2, settings=QUICK), tasks=["expt_gap"], arms=TWO)


def test_all_arms_of_a_batch_share_seed_and_task() -> None:
    batch = run_batch("expt_gap", 1, QUICK, TWO)
    assert {(trial.task, trial.seed) for trial in batch.trials} == {("expt_gap", 1)}
    assert set(batch.seconds) == {arm.name for arm in TWO}


@pytest.mark.slow
def test_the_small_comparison_runs_as_a_command(tmp_path: Path) -> None:
    """The whole comparison, on all four tasks, in minutes."""
    subprocess.run(
        [sys.executable, "-m", "gia_science", "benchmark", "attention", "--preset", "small", "-o", tmp_path],
        check=True,
        capture_output=True,
        timeout=300,
    )
    rows = list(csv.DictReader((tmp_path / "summary.csv").read_text().splitlines()))
    assert len(rows) == 4 * len(ARMS)
    assert {row["seeds"] for row in rows} == {str(PRESETS["small"].seeds)}
    for task in {row["task"] for row in rows}:
        sizes = [int(row["parameters"]) for row in rows if row["task"] == task]
        assert max(sizes) <= 1.02 * min(sizes)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "trials" / "amp-1.json").read_text())["seed"] == 1

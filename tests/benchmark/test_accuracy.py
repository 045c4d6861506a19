"""Trials are kept, belong together, and fill the tables."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from gia_science.benchmark import protocol
from gia_science.benchmark.accuracy import TaskTrial, measure
from gia_science.benchmark.accuracy_tables import accuracy_markdown, results_csv, write_tables
from gia_science.benchmark.published import PublishedFigures
from gia_science.errors import RecipeError
from gia_science.evaluation.metrics import METRICS

QUICK = {
    "network.width": 16,
    "network.layers": 1,
    "network.members": 1,
    "network.attention.heads": 2,
    "training.epochs": 1,
    "training.min_steps": 1,
    "training.batch_rows": 512,
    "training.batch_tokens": 40000,
    "descriptors": [],
}


@pytest.fixture(scope="module", autouse=True)
def _fast_baselines():
    """Only the baselines that are fitted in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "NAMES", ("constant", "linear"))
        yield


@pytest.fixture(scope="module")
def trials(tmp_path_factory) -> tuple[Path, list[TaskTrial]]:
    folder = tmp_path_factory.mktemp("accuracy") / "trials"
    return folder, measure(folder, tasks=["expt_gap"], seeds=1, settings=QUICK, folds=[0, 3])


def copied(trial: TaskTrial, **changes: object) -> TaskTrial:
    return TaskTrial.model_validate(trial.model_dump() | changes)


def test_trials_know_their_split_and_what_made_them(trials) -> None:
    _, done = trials
    assert [trial.key for trial in done] == [("expt_gap", 0, 0), ("expt_gap", 3, 0)]
    for trial in done:
        assert trial.rows_train + trial.rows_validation + trial.rows_test == 2152
        assert trial.scores.rows == trial.rows_test
        assert set(trial.scores.baselines) == {"constant", "linear"}
        assert trial.seconds > 0
    first, second = (trial.scores.score("mae").value for trial in done)
    assert first != second, "two folds have other test rows"


def test_an_interrupted_run_goes_on(trials) -> None:
    """What is there is not trained again; what is missing gives the same scores as before."""
    folder, done = trials
    kept, lost = folder / "expt_gap-fold0-seed0.json", folder / "expt_gap-fold3-seed0.json"
    before = kept.stat().st_mtime_ns
    lost.unlink()
    again = measure(folder, tasks=["expt_gap"], seeds=1, settings=QUICK, folds=[0, 3])
    assert kept.stat().st_mtime_ns == before
    assert [trial.evaluation for trial in again] == [trial.evaluation for trial in done]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"training.epochs": "3"}}, "trials of other settings lie here"),
        ({"version": "0.0.1"}, "trials of another version lie here: got 0.0.1"),
        ({"recipe": "0123456789ab"}, "trials of another recipe lie here: got 0123456789ab"),
    ],
)
def test_trials_that_do_not_belong_together_are_refused(trials, tmp_path, change, message) -> None:
    """Also those of a task that is not asked for: all in a folder go into one table."""
    trial = copied(trials[1][0], **change)
    (tmp_path / "expt_gap-fold0-seed0.json").write_text(trial.model_dump_json())
    with pytest.raises(RecipeError, match=rf"{message}.*another --out"):
        measure(tmp_path, tasks=["amp"], seeds=1, settings=QUICK, folds=[])


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_file_of_trials_is_told(tmp_path, text) -> None:
    (tmp_path / "expt_gap-fold0-seed0.json").write_text(text)
    with pytest.raises(RecipeError, match="not trials of a comparison"):
        measure(tmp_path, tasks=["expt_gap"], seeds=1, settings=QUICK)


def test_results_have_every_metric_of_every_model(trials) -> None:
    _, done = trials
    rows = list(csv.DictReader(io.StringIO(results_csv(done))))
    assert len(rows) == 2 * 3 * len(METRICS["regression"])
    assert {row["model"] for row in rows} == {"gia", "constant", "linear"}
    assert {row["split"] for row in rows} == {"fold 0", "fold 3"}
    main_rows = [row for row in rows if row["is_main"] == "1"]
    assert {row["metric"] for row in main_rows} == {"mae"}
    for row in main_rows:
        assert float(row["low"]) < float(row["value"]) < float(row["high"])
    score = done[0].scores.score("mae", baseline="linear")
    linear = next(row for row in main_rows if (row["model"], row["split"]) == ("linear", "fold 0"))
    assert float(linear["value"]) == pytest.approx(score.value, rel=1e-5)
    undefined = next(row for row in rows if row["model"] == "constant" and row["metric"] == "spearman")
    assert (undefined["value"], undefined["remark"]) == ("", "every prediction is the same")


def test_the_table_has_means_and_what_others_published(trials) -> None:
    _, done = trials
    figures = PublishedFigures(
        task="expt_gap",
        metric="mae",
        protocol="these folds",
        source="A paper",
        values={"Other": 0.5},
        note="N.",
    )
    text = accuracy_markdown(done, published=[figures])
    assert "2 of 5 folds, 1 seed: mean ± standard deviation of 2 runs; 430 to 431 test rows" in text
    assert "Recipe with other settings than the default: descriptors=[]" in text
    mean = sum(float(trial.scores.score("mae").value or 0) for trial in done) / 2
    assert f"| **gia** | {mean:.3g}"[:16] in text
    assert "| linear |" in text
    head, _, published = text.partition("Published by others, not computed here:")
    assert "Other" not in head
    assert "| Other | MAE | 0.5 | these folds | A paper |" in published
    assert published.rstrip().endswith("N.")


def test_one_run_is_shown_with_its_interval(trials) -> None:
    text = accuracy_markdown(trials[1][:1], published=[])
    assert f"| **gia** | {trials[1][0].scores.score('mae')} |" in text
    assert "one run, with the 95 % bootstrap interval over test rows" in text
    assert "No published figures of this protocol are on file." in text


def test_tables_of_a_task_with_one_split(trials, tmp_path) -> None:
    """The split has no number, and the published figures of the package stand beside."""
    done = copied(trials[1][0], task="esol", fold=None)
    text = write_tables(tmp_path, [done])
    assert (tmp_path / "table.md").read_text() == text
    assert "deterministic. 1 seed: one run" in text
    assert "| GCN | RMSE | 0.8851 |" in text
    assert ",official,gia,0,rmse,1," in (tmp_path / "results.csv").read_text()

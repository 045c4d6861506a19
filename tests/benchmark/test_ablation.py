"""Changes of the recipe are tried one at a time, and told as paired differences."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from gia_science.benchmark.ablation import CHANGES, START, Change, ChangedTrials, ablate
from gia_science.benchmark.ablation_tables import ablation_csv, ablation_markdown, write_tables
from gia_science.benchmark.accuracy import TaskTrial
from gia_science.benchmark.protocol import bundled_tasks, protocol_of
from gia_science.model.heads import PropertyNetwork
from gia_science.training.architecture import network_config
from gia_science.training.encode import encode
from gia_science.training.prepare import prepare
from gia_science.training.run import NETWORKS_ALONE

QUICK = {
    "network.width": 16,
    "network.layers": 1,
    "network.attention.heads": 2,
    "training.epochs": 1,
    "training.min_steps": 1,
    "training.batch_rows": 512,
    "training.batch_tokens": 40000,
}
TWO = (Change("one network", "start"), Change("without averaged weights", "no-ema", {"training.ema": 0.0}))


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> tuple[Path, list[ChangedTrials]]:
    folder = tmp_path_factory.mktemp("ablation")
    return folder, ablate(folder, tasks=["expt_gap"], seeds=2, changes=TWO, settings=QUICK)


def scored(item: ChangedTrials, values: list[float]) -> ChangedTrials:
    """The same trials with other scores."""
    trials = []
    for trial, value in zip(item.trials, values, strict=True):
        raw = trial.model_dump()
        for score in raw["evaluation"]["targets"][0]["model"]:
            score["value"] = value
        trials.append(type(trial).model_validate(raw))
    return ChangedTrials(item.change, tuple(trials))


def test_every_change_has_the_same_rows_and_seeds_and_no_baselines(done) -> None:
    _, items = done
    assert [item.change for item in items] == list(TWO)
    for item in items:
        assert [trial.key for trial in item.trials] == [("expt_gap", 0, 0), ("expt_gap", 0, 1)]
        assert {trial.rows_test for trial in item.trials} == {431}
        assert not any(trial.scores.baselines for trial in item.trials)
    assert "training.ema" in items[1].trials[0].settings
    assert {*START} <= {*items[0].trials[0].settings}


def test_what_is_there_is_not_trained_again(done, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, items = done

    def refuse(*given: object) -> None:
        raise AssertionError(given)

    monkeypatch.setattr("gia_science.benchmark.accuracy.run_task", refuse)
    assert ablate(folder, tasks=["expt_gap"], seeds=2, changes=TWO, settings=QUICK) == items


def test_differences_are_paired_by_seed(done) -> None:
    """Seeds scatter far more than the change does: only in pairs can it be seen."""
    _, (start, changed) = done
    items = [scored(start, [0.40, 0.60]), scored(changed, [0.37, 0.57])]
    text = ablation_markdown(items)
    assert "| one network | 0.5 ± 1.3 |  |" in text
    assert "| without averaged weights | 0.5 ± 1.3 | **-0.03" in text
    assert "(better)" in text
    worse = ablation_markdown([scored(start, [0.40, 0.60]), scored(changed, [0.43, 0.63])])
    assert "**+0.03" in worse
    assert "(worse)" in worse
    unclear = ablation_markdown([scored(start, [0.40, 0.60]), scored(changed, [0.30, 0.70])])
    assert "better)" not in unclear.replace("(lower is better)", "")
    assert "worse" not in unclear


def test_networks_without_their_trees_are_scored_from_the_same_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a share of trees the networks are the model."""
    for name in ("TREES", "FOLD_TREES"):
        monkeypatch.setattr(f"gia_science.training.blend.{name}", 5)
    five = {**QUICK, "network.members": 2, "network.blend": True}
    changes = (Change("networks", "both", five, part=NETWORKS_ALONE), Change("with trees", "both", five))
    networks, whole = ablate(tmp_path, tasks=["expt_gap"], seeds=1, changes=changes)
    (trial,) = whole.trials
    assert networks.trials == whole.trials
    assert whole.score(trial) == trial.scores.score("mae").value
    assert networks.score(trial) == trial.scores.score("mae", baseline=NETWORKS_ALONE).value
    assert networks.score(trial) > whole.score(trial)
    raw = trial.model_dump()
    raw["evaluation"]["baselines"] = {}
    raw["evaluation"]["targets"][0]["baselines"] = {}
    assert networks.score(TaskTrial.model_validate(raw)) == whole.score(trial)


def test_tables_hold_every_score(done, tmp_path: Path) -> None:
    _, items = done
    rows = list(csv.DictReader(io.StringIO(ablation_csv(items))))
    assert [(row["change"], row["seed"]) for row in rows] == [
        ("one network", "0"),
        ("one network", "1"),
        ("without averaged weights", "0"),
        ("without averaged weights", "1"),
    ]
    for row, trial in zip(rows, [trial for item in items for trial in item.trials], strict=True):
        assert float(row["value"]) == pytest.approx(trial.scores.score("mae").value, rel=1e-5)
    write_tables(tmp_path, items)
    assert (tmp_path / "ablation.csv").read_text() == ablation_csv(items)
    assert (tmp_path / "ablation.md").read_text() == ablation_markdown(items)


def test_every_change_can_be_made_to_the_tasks_that_it_is_for() -> None:
    # A folder holds trials of one setting, which may be scored in more than one way.
    of_folder = {change.slug: change.settings for change in CHANGES}
    assert len({(change.slug, change.part) for change in CHANGES}) == len(CHANGES)
    for change in CHANGES:
        assert change.settings == of_folder[change.slug]
        for task in bundled_tasks():
            recipe = protocol_of(task, settings={**START, **change.settings}).recipe
            if change.settings and (not change.domains or recipe.data.domain in change.domains):
                assert recipe != protocol_of(task, settings=START).recipe, (change.name, task)


def test_kinds_of_attention_have_as_many_parameters() -> None:
    def parameters(change: Change) -> int:
        recipe = protocol_of("expt_gap", settings={**START, **change.settings}).recipe
        prepared = prepare(recipe)
        network = PropertyNetwork(network_config(prepared, encode(prepared)))
        return sum(weight.numel() for weight in network.parameters())

    wanted = parameters(CHANGES[0])
    for change in CHANGES:
        if "network.attention.kind" in change.settings:
            assert parameters(change) == pytest.approx(wanted, rel=0.002)


@pytest.mark.parametrize(("setting", "field"), [("features", "features"), ("contexts", "context_buckets")])
def test_an_ingredient_taken_away_is_not_in_the_network(setting: str, field: str) -> None:
    recipe = protocol_of("amp", settings=START).recipe
    prepared = prepare(recipe.updated({f"network.{setting}": False}))
    assert not getattr(network_config(prepared, encode(prepared)), field)
    whole = prepare(recipe)
    assert getattr(network_config(whole, encode(whole)), field)

"""The comparison of adapters is at equal size, paired, chosen on validation rows, and can be interrupted."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest
import torch

from gia_science.adapters import SparseGINConfig, attach
from gia_science.benchmark.adapter_arms import ARMS, matched
from gia_science.benchmark.adapter_experiment import (
    STARTS,
    MaskedNetwork,
    Rows,
    adapted,
    gb1_domain,
    prepare_rows,
)
from gia_science.benchmark.adapter_report import write_report
from gia_science.benchmark.adapters import PILOT_SEED, Budget, Preset, chosen_rates, compare
from gia_science.errors import RecipeError
from gia_science.model.base_files import find_base
from gia_science.model.base_weights import load_base

SETTINGS = {"training.batch_rows": 8, "training.batch_tokens": 1024, "training.epochs": 2}
ROWS = Rows(train=16, validation=8, test=24, watched=8, longest=24)
BUDGET = Budget(rows=ROWS, settings=SETTINGS)
PRESET = Preset(seeds=2, budget=BUDGET, pilot=Budget(rows=ROWS, settings={**SETTINGS, "training.epochs": 1}))
TWO = (ARMS[0], ARMS[1])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny BERT with its head for hidden tokens."""
    from transformers import BertConfig, BertForMaskedLM

    from tests.bases import BERT, SIZES

    folder = tmp_path_factory.mktemp("masked")
    with torch.random.fork_rng():
        torch.manual_seed(7)
        sizes = {**SIZES, "hidden_size": 64, "intermediate_size": 96}
        model = BertForMaskedLM(BertConfig(vocab_size=len(BERT), max_position_embeddings=256, **sizes))
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(BERT))
    return str(folder)


@pytest.fixture(scope="module")
def language(base: str):
    rows = prepare_rows("language", base=base, seed=0, settings=SETTINGS, rows=ROWS)
    return {start: adapted("language", *rows, start=start) for start in STARTS}


@pytest.fixture(scope="module")
def compared(base: str, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("compared")
    return folder, compare(folder, base=base, preset=PRESET, tasks=["amp"], arms=TWO)


def test_adapters_train_equally_many_parameters(language) -> None:
    """Within 5 %, the head left out; only the frozen and the full arm are what they are."""
    model = language["pretrained"].base
    sizes = {}
    for arm in ARMS:
        attached = attach(model, matched(model, arm), seed=0)
        sizes[arm.name] = attached.parameters_count()
        attached.remove()
    wanted = sizes["LoRA"]
    assert sizes["frozen"] == 0
    assert sizes["full"] > 5 * wanted
    for name in ("Sparse-GIN", "Sparse-GIN, identity", "bottleneck"):
        assert sizes[name] == pytest.approx(wanted, rel=0.05)
    assert sizes["Sparse-GIN"] == sizes["Sparse-GIN, identity"]


def test_the_head_is_the_pretrained_one_and_is_trained_in_every_arm(language, base: str) -> None:
    item = language["pretrained"]
    network = item.network(SparseGINConfig(rank=4))
    assert isinstance(network, MaskedNetwork)
    theirs = load_base(find_base(base), masked=True)
    batch, _ = next(iter(item.item.data().val_dataloader()))
    network.eval()
    with torch.no_grad():
        ids = torch.where(batch.mask, batch.ids, 0)
        expected = theirs(input_ids=ids, attention_mask=batch.mask.long()).logits
        assert torch.allclose(network(batch), expected, atol=1e-5), "with lambda 0 it is the pretrained model"
    head = {name for name, weight in network.head.named_parameters() if weight.requires_grad}
    assert "predictions.transform.dense.weight" in head
    assert not any("decoder.weight" in name for name in head), "tied to the frozen embedding"


def test_the_random_base_has_the_architecture_but_other_weights(language) -> None:
    pretrained, random = ({**language[start].base.state_dict()} for start in STARTS)
    assert {name: value.shape for name, value in pretrained.items()} == {
        name: value.shape for name, value in random.items()
    }
    assert not torch.equal(
        pretrained["encoder.layer.0.output.dense.weight"], random["encoder.layer.0.output.dense.weight"]
    )


def test_only_residues_are_hidden(language) -> None:
    batch, targets = next(iter(language["pretrained"].item.data().val_dataloader()))
    asked = ~torch.isnan(targets)
    assert asked.any(dim=1).all()
    assert (batch.ids[asked] == 4).all(), "by [MASK]"
    assert (targets[asked] > 4).all(), "never a special token"


def test_parts_are_drawn_from_clusters_that_stand_in_one_part_alone(base: str) -> None:
    prepared, _ = prepare_rows("amp", base=base, seed=1, settings=SETTINGS, rows=ROWS)
    split = prepared.split
    assert [len(getattr(split, part)) for part in ("train", "validation", "test")] == [16, 8, 24]
    assert "clusters" in split.describe
    used = [prepared.rows[index].reading for index in (*split.train, *split.validation, *split.test)]
    assert max(reading.length for reading in used) <= ROWS.longest
    assert len({reading.identity for reading in used}) == len(used)


def test_rates_are_chosen_by_validation_loss_and_used_for_every_seed(compared) -> None:
    _, trials = compared
    pilots = [one for one in trials if one.trial.seed == PILOT_SEED]
    assert len(pilots) == 2 * sum(len(arm.rates) for arm in TWO), "two starts, the rates of two arms"
    rates = chosen_rates(pilots)
    for one in trials:
        if one.trial.seed != PILOT_SEED:
            assert one.learning_rate == rates[one.task, one.start, one.trial.arm]
    for key, rate in rates.items():
        mine = [one for one in pilots if (one.task, one.start, one.trial.arm) == key]
        assert min(mine, key=lambda one: one.trial.best_val_loss).learning_rate == rate


def test_what_is_there_is_not_trained_again_and_what_is_missing_comes_out_the_same(
    compared, base: str
) -> None:
    folder, trials = compared
    gone = folder / "amp-random-lora-1.json"
    before = gone.read_text()
    stamps = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    gone.unlink()
    again = compare(folder, base=base, preset=PRESET, tasks=["amp"], arms=TWO)
    assert [one.trial for one in again] == [one.trial for one in trials]
    assert gone.read_text() != "" != before
    changed = {path.name for path in folder.iterdir() if path.stat().st_mtime_ns != stamps[path.name]}
    assert changed == {gone.name}


def test_trials_of_another_budget_are_refused(compared, base: str) -> None:
    folder, _ = compared
    other = PRESET.model_copy(update={"pilot": BUDGET})
    with pytest.raises(RecipeError, match="another budget lie here"):
        compare(folder, base=base, preset=other, tasks=["amp"], arms=TWO)


def test_the_report_has_a_row_per_trial_and_tells_the_bases_apart(compared, tmp_path: Path) -> None:
    _, trials = compared
    text = write_report(tmp_path, trials)
    assert "### amp, random base" in text
    assert "trained parameters" in text
    rows = list(csv.DictReader((tmp_path / "trials.csv").read_text().splitlines()))
    assert len(rows) == 2 * 2 * 2, "two starts, two arms, two seeds"
    assert {row["arm"] for row in rows} == {arm.name for arm in TWO}
    rates = list(csv.DictReader((tmp_path / "rates.csv").read_text().splitlines()))
    assert sum(int(row["chosen"]) for row in rates) == 2 * 2, "one for each start and arm"
    assert (tmp_path / "adapters.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif("GIA_DATA_MIRROR" not in os.environ, reason="needs the data files of GIA_DATA_MIRROR")
def test_gb1_is_cut_to_the_domain_whose_places_vary() -> None:
    table = gb1_domain()
    sequences = [record.cells[table.position("sequence")] for record in table.records]
    assert {len(sequence) for sequence in sequences} == {56}
    assert len(set(sequences)) == len(sequences) == 8733, "all that differs is inside"

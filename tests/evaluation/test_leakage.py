"""The report on a split: equal and near inputs, and the shortcut of the antimicrobial peptides found untold."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from gia_science.data.rows import Row
from gia_science.data.source import dataset_table
from gia_science.data.splits.base import Split
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError
from gia_science.evaluation.leakage import LeakageReport, leakage
from gia_science.evaluation.validation import validate
from gia_science.tokens.domain import make_tokenizer

NUMBER = Targets(names=("y",), kind="regression", mean=(0.0,), scale=(1.0,))
CLASSES = Targets(names=("y",), kind="binary", labels=("no", "yes"))
AMINO = list("ACDEFGHIKLMNPQRSTVWY")


def report(
    texts: list[str], y: list[float], *, train: int, targets: Targets, domain: str = "protein"
) -> LeakageReport:
    """Report on the first `train` rows as training and the others as test."""
    tokenizer = make_tokenizer(domain)
    rows = [
        Row(line, None, tokenizer.read(text), np.zeros(0), np.array([float(value)]))
        for line, (text, value) in enumerate(zip(texts, y, strict=True), start=2)
    ]
    split = Split(np.arange(train), np.arange(0), np.arange(train, len(rows)), "by hand")
    return leakage(rows, split, tokenizer=tokenizer, targets=targets)


def peptides(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(AMINO, size=rng.integers(8, 30))) for _ in range(count)]


def test_the_first_residue_of_the_antimicrobial_peptides_is_found() -> None:
    """As the table is, the rule "starts with M means 0" is right for 0.79 of the rows."""
    found = validate(dataset_table("amp"), target="label", split="folds")
    assert found.leakage is not None
    (first,) = [probe for probe in found.leakage.probes if probe.name == "first token"]
    assert first.flagged
    assert first.accuracy == pytest.approx(0.79, abs=0.03)
    assert first.constant_accuracy == pytest.approx(0.55, abs=0.01)
    assert not found.ok
    told = next(problem.what for problem in found.problems() if "first token" in problem.what)
    assert told.startswith("split: shortcut: the first token alone predicts label: roc_auc 0.8")
    assert "'M' there, 97% of them class 0 where 45% of all are" in told
    assert told in str(found)


def test_noise_is_no_shortcut() -> None:
    for seed in range(5):
        texts = peptides(150, seed)
        y = np.random.default_rng(seed + 100).integers(0, 2, size=150).tolist()
        assert report(texts, y, train=100, targets=CLASSES).problems() == []
        assert (
            report(
                texts, list(np.random.default_rng(seed).normal(size=150)), train=100, targets=NUMBER
            ).problems()
            == []
        )


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("length", lambda text: len(text) > 18),
        ("first token", lambda text: text[0] in "ACDEFGHIK"),
        ("last token", lambda text: text[-1] in "ACDEFGHIK"),
    ],
)
@pytest.mark.parametrize("targets", [CLASSES, NUMBER], ids=["binary", "regression"])
def test_a_rule_that_sees_one_thing_is_found_and_named(name, rule, targets) -> None:
    texts = peptides(400)
    found = report(texts, [rule(text) for text in texts], train=300, targets=targets)
    flagged = [probe.name for probe in found.probes if probe.flagged and probe.accidental]
    assert flagged == [name]
    assert found.problems()[0].startswith(f"shortcut: the {name} alone predicts y")


def test_counts_that_solve_a_task_are_a_remark_not_a_problem() -> None:
    texts = peptides(400)
    found = report(texts, [text.count("K") + text.count("R") for text in texts], train=300, targets=NUMBER)
    assert any("the counts of the tokens alone predict y" in remark for remark in found.remarks())
    assert not any("counts" in problem for problem in found.problems())


def test_several_classes_and_elements_are_probed() -> None:
    rng = np.random.default_rng(0)
    metals = ["Na", "K", "Li"]
    kinds = rng.integers(0, 3, size=120)
    texts = [f"{metals[kind]}{rng.integers(1, 99)}Cl" for kind in kinds]
    three = Targets(names=("y",), kind="multiclass", labels=("a", "b", "c"))
    found = report(texts, kinds.tolist(), train=90, targets=three, domain="composition")
    assert {probe.name for probe in found.probes if probe.flagged} >= {"set of elements"}
    assert found.problems() == [str(one) for one in found.crossings]


def test_equal_inputs_in_two_parts_are_counted() -> None:
    texts = [*peptides(20), "ACDEFGHIK", "ACDEFGHIK"]
    found = report([texts[-1], *texts], list(range(23)), train=15, targets=NUMBER)
    (crossing,) = found.crossings
    assert str(crossing) == "1 input of train also in test (2 rows of test)"
    assert found.problems()[0] == str(crossing)
    assert found.similarity is not None
    assert found.similarity.histogram[-1] >= 2
    assert sum(found.similarity.histogram) == 8


def test_twins_of_training_rows_are_remarked() -> None:
    parents = [2 * peptide for peptide in peptides(40)]
    found = report(
        [*parents, *(parent + "A" for parent in parents)], list(range(80)), train=40, targets=NUMBER
    )
    assert found.crossings == ()
    assert any("100% of the test rows have a training row next to them" in line for line in found.remarks())
    assert dict(found.similarity.above)[0.9] == 1


def test_tiny_tables_and_no_test_rows_give_a_report() -> None:
    found = report(["ACD", "WWW"], [1, 2], train=1, targets=NUMBER)
    assert found.probes == ()
    assert found.similarity is not None
    nothing = report(["ACD", "WWW"], [1, 2], train=2, targets=NUMBER)
    assert (nothing.similarity, nothing.part) == (None, "validation")
    assert "no input stands in two parts" in nothing.lines()


def test_everything_is_in_the_json_and_the_card_lines_are_few() -> None:
    texts = peptides(60)
    found = report(texts, [len(text) for text in texts], train=40, targets=NUMBER)
    content = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert content["rows"] == {"train": 40, "validation": 0, "test": 20}
    assert sum(content["similarity"]["histogram"]) == 20
    assert [probe["probe"] for probe in content["probes"]] == [
        "length",
        "first token",
        "last token",
        "composition",
    ]
    assert 2 <= len(found.short()) <= 8


SMILES = pd.DataFrame(
    {
        "smiles": [f"{'C' * n}c1ccccc1" for n in range(15)] + [f"{'C' * n}C1CCNCC1" for n in range(15)],
        "y": [str(n % 7) + ".5" for n in range(30)],
        "year": [str(2000 + n) for n in range(30)],
        "kind": ["train", "test"] * 15,
    }
)


@pytest.mark.parametrize(
    "split", ["random", "stratified", "scaffold_balanced", "time:year", "value:y", "kind", "leave_out:0"]
)
def test_validate_tries_a_split_out(split) -> None:
    table = SMILES if split != "scaffold_balanced" else pd.concat(
        [SMILES, SMILES.assign(smiles=[f"{text}.c1ccncc1" for text in SMILES.smiles])]
    )  # fmt: skip
    found = validate(table, target="y", split=split)
    assert found.leakage is not None
    assert sum(found.leakage.sizes) == len(table)
    assert found.next_step == f"gia train FILE --target y --split {split}"
    assert found.to_json()["leakage"]["rows"]["train"] == found.leakage.sizes[0]
    assert "similarity of test rows to the nearest training row" in str(found)


def test_validate_takes_the_settings_of_a_recipe_and_refuses_what_does_not_go() -> None:
    found = validate(SMILES, target="y", split={"method": "folds", "folds": 3, "fold": 2})
    assert found.leakage is not None
    assert found.leakage.sizes[2] == 10
    assert validate(SMILES, target="y").leakage is None
    with pytest.raises(RecipeError, match="fold goes with method: folds"):
        validate(SMILES, target="y", split={"method": "random", "fold": 2})
    with pytest.raises(TableError, match="no column 'yaer'"):
        validate(SMILES, target="y", split="time:yaer")
    with pytest.raises(RecipeError, match="not for smiles input"):
        validate(SMILES, target="y", split="cluster")

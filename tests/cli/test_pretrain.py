"""``gia pretrain`` and ``gia train --from``: the two commands together, and their mistakes in one line."""

from __future__ import annotations

import pytest
import yaml

from gia_science.training.recipe import PretrainRecipe, Recipe

SMALL = (
    "network.width=16",
    "network.layers=1",
    "network.attention.heads=2",
    "training.epochs=1",
    "training.min_steps=1",
)
OPTIONS = [word for setting in SMALL for word in ("--set", setting)]
SEQUENCES = [("GLWSKIKEVGAAKRFDPYTNQHMC" * 2)[start : start + 9] for start in range(20)]
FASTA = "".join(f">p{i}\n{text}\n" for i, text in enumerate(SEQUENCES))
MEASURED = "sequence,activity\n" + "".join(f"{text},{i}.5\n" for i, text in enumerate(SEQUENCES))


@pytest.fixture
def pretrained(gia, write) -> str:
    """A network pretrained on a FASTA file, in the folder ``pre``."""
    write(FASTA, "in.fasta")
    assert gia("pretrain", "in.fasta", "-o", "pre", *OPTIONS).code == 0
    return "pre"


@pytest.mark.parametrize("objective", ["masked", "causal"])
def test_pretraining_prints_perplexity_beside_unigram_and_training_starts_from_it(
    gia, write, tmp_path, objective
) -> None:
    write(FASTA, "in.fasta")
    done = gia("pretrain", "in.fasta", "-o", "pre", "--objective", objective, *OPTIONS)
    assert done.code == 0
    out = done.out.splitlines()
    assert out[0].split() == ["perplexity", "model", "[95", "%", "interval]", "unigram"]
    assert out[1].split()[0] == "test"
    assert out[2] == f"scored on {18 if objective == 'masked' else 20} tokens of 2 test rows"
    assert out[3] == "network: pre   report: pre/README.md"
    assert done.told == [
        "input: column 'sequence', read as protein (residues)",
        "split: random split 0.8/0.1/0.1, seed 0; 20 distinct inputs in 20 rows; "
        "16 training, 2 validation, 2 test rows",
        "1 epoch, the weights of epoch 1 kept",
    ]
    write(MEASURED, "measured.csv")
    epochs = ["--set", "training.epochs=1", "--set", "training.min_steps=1"]
    trained = gia(
        "train", "measured.csv", "-t", "activity", "--from", "pre", "-o", "new", "--no-baseline", *epochs
    )
    assert trained.code == 0
    recipe = Recipe.load(tmp_path / "new" / "recipe.yaml")
    assert recipe.pretrained is not None
    assert recipe.pretrained.folder == "pre"
    assert recipe.network.width == 16
    assert recipe.network.attention.causal == (objective == "causal")
    assert "`pre`" in (tmp_path / "new" / "README.md").read_text()
    write("sequence\nGLWSK\n", "asked.csv")
    assert gia("predict", "new", "asked.csv").code == 0


def test_the_written_recipe_repeats_the_run(gia, pretrained, tmp_path) -> None:
    again = gia("pretrain", "--recipe", "pre/recipe.yaml", "-o", "again")
    assert again.code == 0
    for name in ("recipe.yaml", "model.safetensors", "metrics.json", "split.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "pre" / name).read_bytes()
    assert PretrainRecipe.parse(yaml.safe_load((tmp_path / "pre" / "recipe.yaml").read_text())).objective


def test_a_task_can_start_from_a_pretrained_network(gia, write, pretrained, tmp_path) -> None:
    """What the task does not set is the network's; what both set must agree."""
    write(MEASURED, "measured.csv")
    task = {"data": {"file": "measured.csv"}, "target": {"names": ["activity"]}, "baselines": []}
    quick = {"training": {"epochs": 1, "min_steps": 1}}
    write(yaml.safe_dump(task | quick), "mine.yaml")
    assert gia("train", "--task", "mine.yaml", "--from", "pre", "-o", "new").code == 0
    assert Recipe.load(tmp_path / "new" / "recipe.yaml").network.width == 16
    write(yaml.safe_dump(task | quick | {"network": {"width": 32}}), "wide.yaml")
    bad = gia("train", "--task", "wide.yaml", "--from", "pre", "-o", "other")
    assert bad.error == (
        "pre: network.width is not that of the pretrained network: got 32, expected 16 (leave it out)"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pretrain"], "nothing to pretrain on (name a file"),
        (["pretrain", "none.fasta"], "none.fasta"),
        (["pretrain", "in.fasta", "--objective", "mlm"], "objective of the recipe is not valid: got 'mlm'"),
        (["pretrain", "in.fasta", "--set", "maskshare=1"], "did you mean 'mask_share'?"),
        (["pretrain", "in.fasta", "--set", "network.width=wide"], "network.width of the recipe"),
        (["pretrain", "in.fasta", "--fold", "1", "--split", "random"], "--fold goes with --split folds"),
        (["pretrain", "in.fasta", "--domain", "peptide"], "unknown domain: got 'peptide'"),
        (["pretrain", "in.fasta", "-o", "pre"], "the folder of a pretrained network exists: got pre (--overwrite"),
        (["pretrain", "in.fasta", "--recipe", "none.yaml"], "none.yaml: cannot read the recipe"),
        (["pretrain", "formulas.csv", "--objective", "causal"], "a composition has no next element"),
        (["train", "in.csv", "-t", "activity", "--from", "none"], "no such folder of a pretrained network"),
        (["train", "in.csv", "-t", "activity", "--from", "."], "the folder is incomplete: got no config.json"),
        (["train", "in.csv", "-t", "activity", "--from", "pre", "--domain", "smiles"], "data.domain is not that"),
        (["train", "in.csv", "-t", "activity", "--from", "pre", "--set", "network.layers=9"], "got 9, expected 1"),
        (["predict", "pre", "in.csv"], "not a model folder of gia-science: got 'gia-science-backbone'"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_says_what_to_do(gia, write, pretrained, words, message, tmp_path) -> None:
    write(MEASURED)
    write("formula\nFe2O3\nNaCl\nMgO\nSiO2\n", "formulas.csv")
    out = [] if "-o" in words or words[0] == "predict" else ["-o", "new"]
    bad = gia(*words, *out)
    assert message in bad.error
    assert bad.out == ""
    assert not (tmp_path / "new").exists()

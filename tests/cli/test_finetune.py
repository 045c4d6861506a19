"""``gia finetune``: the command, the folder in the other commands, and its mistakes in one line."""

from __future__ import annotations

import pytest
import yaml

SEQUENCES = [("GLWSKIKEVGAAKRFDPYTNQHMC" * 2)[start : start + 9] for start in range(20)]
MEASURED = "sequence,activity\n" + "".join(f"{text},{i}.5\n" for i, text in enumerate(SEQUENCES))
QUICK = ["--set", "training.epochs=1", "--set", "training.min_steps=1", "--no-baseline"]


def finetune(gia, *options: object):
    return gia("finetune", "in.csv", "-t", "activity", "--threads", 1, *QUICK, *options)


def test_a_table_and_a_base_make_a_model_folder_for_the_other_commands(
    gia, write, make_base, tmp_path
) -> None:
    write(MEASURED)
    make_base("esm")
    done = finetune(
        gia, "--base", "base", "--adapter", "lora", "--set", "backbone.adapter.rank=2", "-o", "new"
    )
    assert done.code == 0, done.err
    assert done.out.splitlines()[0].split()[:2] == ["target", "metric"]
    assert done.told[0] == "input: column 'sequence', read as protein (residues)"
    assert not [line for line in done.told if "Loading weights" in line or "UNEXPECTED" in line]
    recipe = yaml.safe_load((tmp_path / "new" / "recipe.yaml").read_text())
    assert recipe["backbone"]["adapter"] | {"kind": "lora", "rank": 2} == recipe["backbone"]["adapter"]
    card = (tmp_path / "new" / "README.md").read_text()
    assert "Its weights are not in this folder" in card
    write("id,sequence\na,MKTAYIAK\nb,M0\n", "more.csv")
    predicted = gia("predict", "new", "more.csv", "-o", "-")
    assert predicted.code == 1
    assert [row["status"] for row in predicted.rows] == ["ok", "error"]
    assert gia("embed", "new", "more.csv", "-o", "out.csv", "--tokens").code == 1
    assert gia("evaluate", "new", "in.csv", "--no-baseline").code == 0
    assert "not shown" in gia("graph", "new", "MKTAYIAK").error


def test_gia_train_carries_out_such_a_recipe(gia, write, make_base, tmp_path) -> None:
    write(MEASURED)
    make_base("bert")
    recipe = {
        "data": {"file": "in.csv"},
        "target": {"names": ["activity"]},
        "backbone": {"pretrained": "base", "adapter": "frozen", "keep_base": True},
        "training": {"epochs": 1, "min_steps": 1},
    }
    write(yaml.safe_dump(recipe), "recipe.yaml")
    assert gia("train", "--task", "recipe.yaml", "-o", "new", "--no-baseline").code == 0
    (tmp_path / "base").rename(tmp_path / "gone")
    assert gia("predict", "new", "in.csv", "-o", "out.csv").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "which pretrained model? (name its folder or its Hugging Face id with --base)"),
        (["--base", "./nothing"], "no such folder of a pretrained model: got ./nothing"),
        (["--base", "in.csv"], "no such folder of a pretrained model: got in.csv"),
        (
            ["--base", "base", "--adapter", "lorra"],
            "--adapter is not valid: got 'lorra', expected sparse-gin, lora",
        ),
        (
            ["--base", "base", "--adapter", "lora", "--set", "backbone.adapter.ranks=2"],
            "unknown key in the recipe",
        ),
        (
            ["--base", "base", "--domain", "composition", "--input", "sequence"],
            "do not read composition input",
        ),
    ],
)
def test_mistakes_are_one_line(gia, write, make_base, options, message) -> None:
    write(MEASURED)
    make_base("bert")
    assert message in finetune(gia, *options).error


def test_a_base_that_is_gone_is_one_line_in_prediction(gia, write, make_base, tmp_path) -> None:
    write(MEASURED)
    make_base("bert")
    assert finetune(gia, "--base", "base", "--adapter", "frozen", "-o", "new").code == 0
    (tmp_path / "base").rename(tmp_path / "gone")
    assert "network.base.source" in gia("predict", "new", "in.csv", "-o", "out.csv").error
    assert not (tmp_path / "out.csv").exists()

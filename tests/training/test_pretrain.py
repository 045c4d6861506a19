"""A whole pretraining: it learns a language, repeats to the bit, comes back from its folder, and is a start."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from gia_science.errors import GiaError, ModelFolderError, RecipeError, TableError
from gia_science.model.folder import load_model
from gia_science.model.pretrained import SavedPretrained, load_pretrained, save_pretrained
from gia_science.training.architecture import build_member, network_config
from gia_science.training.encode import encode
from gia_science.training.prepare import prepare
from gia_science.training.pretrain import Pretraining, pretrain
from gia_science.training.recipe import PretrainRecipe, Recipe
from gia_science.training.run import run
from tests.training.conftest import ACIDS, ALCOHOLS, SMALL

Write = Callable[..., Path]
Build = Callable[..., Recipe]
TINY = {
    "network.width": 16,
    "network.layers": 2,
    "network.attention.heads": 2,
    "training.epochs": 1,
    "training.min_steps": 1,
}
ALTERNATING = [("AG" * 40)[start : start + length] for length in range(12, 42) for start in (0, 1)]


def recipe_of(path: Path, **changes: Any) -> PretrainRecipe:
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    return PretrainRecipe.build({"data.file": str(path), **TINY, **dotted})


@pytest.fixture
def peptides(table: Write) -> Path:
    return table(id=[f"p{i}" for i in range(len(ALTERNATING))], sequence=ALTERNATING)


@pytest.fixture(scope="module")
def molecules() -> Pretraining:
    return _of_molecules("masked")


def _of_molecules(objective: str, **changes: Any) -> Pretraining:
    import pandas as pd

    from gia_science.data.table import table_from_frame

    table = table_from_frame(pd.DataFrame({"smiles": ALCOHOLS + ACIDS}))
    return pretrain(PretrainRecipe.build({**TINY, "objective": objective, **changes}), table=table)


@pytest.fixture
def folder(molecules: Pretraining, tmp_path: Path) -> Path:
    return save_pretrained(molecules.saved, tmp_path / "pretrained")


@pytest.mark.parametrize("objective", ["masked", "causal"])
def test_a_language_of_two_alternating_letters_is_learnt(peptides: Path, objective: str) -> None:
    """Hidden letters are certain. In reading order the first letter and the end stay open, and nothing else."""
    options = {
        "training__learning_rate": 1e-2,
        "training__epochs": 30,
        "training__batch_rows": 4,
        "training__patience": 1.0,
        "network__layers": 1,
        "network__attention__kind": "plain",
        "network__dropout": 0.0,
    }
    result = pretrain(recipe_of(peptides, objective=objective, **options))
    assert result.report.unigram.value == pytest.approx(2.0 if objective == "masked" else 2.2, abs=0.2)
    assert result.report.model.value < (1.05 if objective == "masked" else 1.3)


@pytest.mark.parametrize("objective", ["masked", "causal"])
def test_the_same_recipe_twice_gives_the_same_bits(objective: str) -> None:
    first, second = (_of_molecules(objective, **{"training.respell": 0.5}) for _ in range(2))
    for name, weight in first.saved.network.state_dict().items():
        assert torch.equal(weight, second.saved.network.state_dict()[name]), name
    assert first.saved.metrics == second.saved.metrics
    other = _of_molecules(objective, seed=1).saved.network.state_dict()
    assert not all(torch.equal(w, other[name]) for name, w in first.saved.network.state_dict().items())


def test_the_stored_recipe_reproduces_the_network(peptides: Path, tmp_path: Path) -> None:
    saved = pretrain(recipe_of(peptides, objective="causal")).saved
    again = pretrain(PretrainRecipe.load(save_pretrained(saved, tmp_path / "a") / "recipe.yaml")).saved
    assert again.recipe == saved.recipe
    for name, weight in saved.network.state_dict().items():
        assert torch.equal(weight, again.network.state_dict()[name]), name


def test_a_fasta_file_will_do(tmp_path: Path) -> None:
    path = tmp_path / "in.fasta"
    path.write_text("".join(f">p{i}\n{text}\n" for i, text in enumerate(ALTERNATING)))
    result = pretrain(recipe_of(path))
    assert result.saved.featurizer.tokenizer.domain == "protein"
    assert {name for part in result.saved.split["ids"].values() for name in part} == {
        f"p{i}" for i in range(len(ALTERNATING))
    }
    assert result.report.rows == len(result.saved.split["ids"]["test"])


def test_a_network_comes_back_as_it_was(molecules: Pretraining, folder: Path, tmp_path: Path) -> None:
    saved, loaded = molecules.saved, load_pretrained(folder)
    assert loaded.network.config == saved.network.config
    for name, weight in saved.network.state_dict().items():
        assert torch.equal(weight, loaded.network.state_dict()[name]), name
    for name in ("data", "recipe", "split", "metrics", "card"):
        assert getattr(loaded, name) == getattr(saved, name), name
    again = save_pretrained(loaded, tmp_path / "again")
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in folder.iterdir()
    }


def damage_config(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        data = json.loads((folder / "config.json").read_text())
        change(data)
        (folder / "config.json").write_text(json.dumps(data))

    return damage


def one_weight(folder: Path) -> None:
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    weights["bias"][0] += 1
    (folder / "model.safetensors").write_bytes(safetensors.torch.save(weights))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.safetensors").unlink(), "the folder is incomplete: got no model.safetensors"),
        (lambda f: (f / "metrics.json").write_text("{"), "damaged: not JSON"),
        (lambda f: (f / "tokenizer.json").write_text("{}"), "vocabulary lacks a part"),
        (one_weight, "files changed since the model was saved"),
        (damage_config(lambda c: c.update(format_version=9)), "newer than this release"),
        (damage_config(lambda c: c.update(model_type="bert")), "not a folder of a pretrained network"),
        (
            damage_config(lambda c: c["network"].update(vocabulary=7)),
            "network.vocabulary of config.json does not",
        ),
        (damage_config(lambda c: c["network"].update(layers=3)), "the weights do not fit config.json"),
        (damage_config(lambda c: c["network"].update(width=10**12)), "sizes far beyond the file"),
        (damage_config(lambda c: c["network"].update(features=3)), "no features, contexts, descriptors or"),
        (damage_config(lambda c: c["network"].update(objective="causal")), "attention is causal with"),
        (damage_config(lambda c: c["network"].update(kind="binary")), "unknown key in config.json"),
    ],
)
def test_a_damaged_folder_is_one_clear_error(folder: Path, damage: Any, message: str) -> None:
    damage(folder)
    with pytest.raises(ModelFolderError) as caught:
        load_pretrained(folder)
    assert message in str(caught.value)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_neither_kind_of_folder_passes_for_the_other(
    folder: Path, table: Write, recipe: Build, molecules: Pretraining, tmp_path: Path
) -> None:
    with pytest.raises(ModelFolderError, match="it is a folder of a pretrained network"):
        load_model(folder)
    model = run(recipe(table(smiles=ALCOHOLS, y=list(range(10))))).model
    model.save(tmp_path / "model")
    with pytest.raises(ModelFolderError, match="it is a model folder"):
        load_pretrained(tmp_path / "model")
    with pytest.raises(ModelFolderError, match="exists and is not a folder of a pretrained network"):
        save_pretrained(molecules.saved, tmp_path / "model", overwrite=True)
    with pytest.raises(ModelFolderError, match="exists and is not a model folder"):
        model.save(folder, overwrite=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "clm"}, "objective of the recipe is not valid: got 'clm'"),
        ({"mask_share": 0}, "mask_share of the recipe is not valid"),
        ({"target.names": ["y"]}, "unknown key in the recipe: got 'target'"),
        ({"network.pooling": "mean"}, "unknown key in the recipe: got 'network.pooling'"),
        ({"network.attention.edge_kinds": 5}, "known edges would give hidden tokens away"),
        ({"network.attention.causal": True}, "goes with objective: causal"),
        ({"data.columns": ["T"]}, "pretraining reads the input column only"),
        ({"data.duplicates": "mean"}, "pretraining has no targets that could differ"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        PretrainRecipe.build(settings)
    assert message in str(caught.value)


def test_data_that_cannot_be_used_is_one_clear_error(table: Write) -> None:
    formulas = ["Fe2O3", "NaCl", "H2O", "SiO2", "MgO"]
    with pytest.raises(RecipeError, match="a composition has no next element"):
        pretrain(recipe_of(table(formula=formulas), objective="causal"))
    with pytest.raises(TableError, match="too few rows: got 2, expected 3 or more"):
        pretrain(recipe_of(table(smiles=["CCO", "CCN"])))
    with pytest.raises(TableError, match="1 of 5 rows cannot be used"):
        pretrain(recipe_of(table(smiles=["CCO", "CCN", "CC", "C1CC", "O"])))
    with pytest.raises(TableError, match="partition"):
        pretrain(recipe_of(table(smiles=ALCOHOLS), split__method="column", split__column="partition"))


def test_compositions_are_pretrained_with_their_fractions(table: Write) -> None:
    formulas = [f"Fe{n}O{m}" for n in range(1, 5) for m in range(5, 9)]
    result = pretrain(recipe_of(table(formula=formulas)))
    assert result.saved.network.config.values
    assert np.isfinite(result.report.model.value)


def test_the_report_is_the_score_of_the_saved_network(molecules: Pretraining) -> None:
    part = molecules.saved.metrics["test"]
    assert part["perplexity"]["value"] == molecules.report.model.value
    assert str(molecules.report.model) in molecules.saved.card
    assert str(molecules.report.unigram) in molecules.saved.card


@pytest.fixture
def measured(table: Write) -> Path:
    smiles = ALCOHOLS + ACIDS
    return table(smiles=smiles, y=[float(len(text)) for text in smiles])


def start_recipe(path: Path, folder: Path, **changes: Any) -> Recipe:
    settings = {key: value for key, value in SMALL.items() if not key.startswith("network")}
    dotted = {key.replace("__", "."): value for key, value in changes.items()}
    start = {"data.file": str(path), "target.names": ["y"], "pretrained.folder": str(folder)}
    return Recipe.build({**start, **settings, **dotted})


@pytest.mark.parametrize("objective", ["masked", "causal"])
@pytest.mark.parametrize("kind", ["gin", "pna"])
def test_training_starts_from_exactly_the_pretrained_weights(
    measured: Path, tmp_path: Path, objective: str, kind: str
) -> None:
    saved = _of_molecules(objective, **{"network.attention.kind": kind}).saved
    folder = save_pretrained(saved, tmp_path / "pretrained")
    prepared = prepare(start_recipe(measured, folder, network__attention={"edge_kinds": 5}))
    encoded = encode(prepared)
    config = network_config(prepared, encoded)
    torch.manual_seed(0)
    network = build_member(config, prepared.pretrained)
    own = network.backbone.state_dict()
    for name, weight in saved.network.backbone.state_dict().items():
        assert torch.equal(own[name], weight), name
    assert config.attention.model_copy(update={"edge_kinds": 0}) == saved.network.config.attention
    assert config.attention.causal == (objective == "causal")
    new = set(own) - set(saved.network.backbone.state_dict())
    assert any(name.startswith("embedding.context") for name in new)
    assert any(name.startswith("embedding.feature") for name in new)
    torch.manual_seed(1)
    other = build_member(config, prepared.pretrained)
    assert not torch.equal(network.head.out.weight, other.head.out.weight), "the rest has a seed of its own"


def test_the_start_is_recorded_and_the_stored_recipe_reproduces_the_model(
    measured: Path, folder: Path, tmp_path: Path
) -> None:
    model = run(start_recipe(measured, folder, network__members=2)).model
    model.save(tmp_path / "model")
    stored = Recipe.load(tmp_path / "model" / "recipe.yaml")
    assert stored.pretrained is not None
    assert stored.pretrained.folder == str(folder)
    assert len(stored.pretrained.sha256 or "") == 64
    assert (stored.network.width, stored.network.layers, stored.network.attention.heads) == (16, 2, 2)
    card = (tmp_path / "model" / "README.md").read_text()
    assert "pretrained in" in card
    assert str(stored.pretrained.sha256) in card
    again = run(stored).model.saved.network.state_dict()
    for name, weight in model.saved.network.state_dict().items():
        assert torch.equal(weight, again[name]), name
    loaded = load_model(tmp_path / "model")
    assert loaded.network.config == model.saved.network.config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network__width": 32}, "network.width is not that of the pretrained network: got 32, expected 16"),
        ({"network__layers": 1}, "network.layers is not that of the pretrained network"),
        ({"network__attention": {"kind": "plain"}}, "network.attention.kind is not that of"),
        ({"network__attention": {"causal": True}}, "network.attention.causal is not that of"),
        ({"data__domain": "protein"}, "data.domain is not that of the pretrained network"),
        ({"tokens": {"stereo": "ignore"}}, "tokens.stereo is not that of the pretrained network"),
        ({"tokens": {"salts": 1}}, "unknown key in the smiles options"),
        ({"pretrained__folder": "nowhere"}, "no such folder of a pretrained network: got nowhere"),
        ({"pretrained__depth": 3}, "unknown key in the recipe: got 'pretrained.depth'"),
    ],
)
def test_what_the_pretrained_network_decides_cannot_be_set(
    measured: Path, folder: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(GiaError) as caught:
        prepare(start_recipe(measured, folder, **changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_same_settings_said_again_are_no_conflict(measured: Path, folder: Path) -> None:
    recipe = start_recipe(
        measured, folder, network__width=16, tokens={"stereo": "keep"}, data__domain="smiles"
    )
    assert prepare(recipe).recipe.network.width == 16


def test_a_causal_start_refuses_to_pool_the_first_token(measured: Path, tmp_path: Path) -> None:
    folder = save_pretrained(_of_molecules("causal").saved, tmp_path / "pretrained")
    with pytest.raises(RecipeError, match="first token sees nothing else"):
        prepare(start_recipe(measured, folder, network__pooling="first"))


def test_a_start_that_changed_is_told(measured: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    prepare(start_recipe(measured, folder, pretrained__sha256="0" * 64))
    assert "the pretrained network is not what the recipe was written for" in caplog.text


def test_the_kind_of_a_saved_network_is_plain_to_see(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "gia-science-backbone"
    assert isinstance(load_pretrained(folder), SavedPretrained)


def test_the_same_from_python(table: Write, tmp_path: Path) -> None:
    import pandas as pd

    import gia_science as gia

    measured = pd.DataFrame({"smiles": ALCOHOLS + ACIDS, "y": range(20)})
    report = gia.pretrain(measured[["smiles"]], out=tmp_path / "pre", settings=TINY, progress=False)
    assert report.part == "test"
    assert report.model.value == load_pretrained(tmp_path / "pre").metrics["test"]["perplexity"]["value"]
    settings = {key: value for key, value in SMALL.items() if not key.startswith("network")}
    model = gia.train(measured, target="y", pretrained=tmp_path / "pre", settings=settings, progress=False)
    assert model.saved.network.config.width == 16
    with pytest.raises(ModelFolderError, match="exists"):
        gia.pretrain(measured, out=tmp_path / "pre", settings=TINY)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_one_held_out_part_is_enough(peptides: Path, part: str, caplog: pytest.LogCaptureFixture) -> None:
    """Without test rows the validation rows are scored; without validation rows the last weights are kept."""
    caplog.set_level("INFO")
    fractions = [0.8, 0.2, 0.0] if part == "validation" else [0.8, 0.0, 0.2]
    result = pretrain(recipe_of(peptides, split__fractions=fractions))
    assert result.report.part == part
    assert ("last averaged weights kept" in caplog.text) == (part == "test")
    with pytest.raises(RecipeError, match="no rows to judge the model by"):
        pretrain(recipe_of(peptides, split__fractions=[1.0, 0.0, 0.0]))

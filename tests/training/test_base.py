"""Fine-tuning: every family and adapter learns, says what it needs, and refuses what cannot be right."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from gia_science.data.batching import collate
from gia_science.data.table import table_from_frame
from gia_science.errors import BaseModelError, DefinitionError, GiaError, RecipeError
from gia_science.model.heads import PropertyNetwork
from gia_science.prediction.api import load
from gia_science.training.api import finetune, pretrain, train
from gia_science.training.architecture import build_member, network_config
from gia_science.training.encode import encode
from gia_science.training.prepare import prepare
from gia_science.training.recipe import Recipe
from gia_science.training.run import run
from tests.bases import BERT
from tests.training.conftest import ACIDS, ALCOHOLS

Make = Callable[..., Path]
PEPTIDES = [("GLWSKIKEVGAAKRFDPYTNQHMC" * 2)[start : start + 7 + start % 3] for start in range(24)]
TABLE = pd.DataFrame({"sequence": PEPTIDES, "y": [text.count("K") * 1.0 for text in PEPTIDES]})
MOLECULES = pd.DataFrame({"smiles": ALCOHOLS + ACIDS, "y": np.arange(20.0)})
QUICK: dict[str, Any] = {"training.epochs": 1, "training.min_steps": 1, "baselines": []}


def tune(data: pd.DataFrame, base: Path, **options: Any) -> Any:
    settings = QUICK | options.pop("settings", {})
    return finetune(data, base=base, settings=settings, progress=False, **{"target": "y", **options})


@pytest.mark.parametrize("family", ["bert", "esm", "roberta", "gpt2", "llama"])
def test_a_family_is_fine_tuned_and_everything_works(make_base: Make, tmp_path: Path, family: str) -> None:
    data = MOLECULES if family == "roberta" else TABLE
    texts = list(data.iloc[:, 0])
    model = tune(data, make_base(family), out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(model.embed(texts), again.embed(texts))
    assert model.embed(texts).shape == (len(texts), 16)
    assert again.evaluate(data).table()
    predicted = again.predict([*texts, "not one!"])
    assert predicted["status"].tolist() == ["ok"] * len(texts) + ["error"]
    if family == "roberta":
        with pytest.raises(RecipeError, match="pieces of text"):
            again.embed(texts, tokens=True)
    else:
        assert [len(rows) for rows in again.embed(texts, tokens=True)] == [len(text) for text in texts]
    with pytest.raises(RecipeError, match="graph of a pretrained model"):
        again.graph(texts[0])


@pytest.mark.parametrize("adapter", ["sparse-gin", "lora", "bottleneck", "frozen", "full"])
def test_an_adapter_learns_while_the_base_stays_as_it_was(make_base: Make, adapter: str) -> None:
    recipe = Recipe.build(
        {"target.names": ["y"], "backbone": {"pretrained": str(make_base("bert")), "adapter": adapter}}
        | QUICK
        | {"training.epochs": 20, "training.learning_rate": 2e-2, "training.batch_rows": 8}
    )
    result = run(recipe, table=table_from_frame(TABLE), progress=False)
    history = result.model.metrics["members"][0]["history"]
    assert history[-1]["train_loss"] < 0.7 * history[0]["train_loss"]
    (member,) = result.model.saved.network.members
    assert isinstance(member, PropertyNetwork)
    assert result.prepared.base is not None
    before = result.prepared.base.model().state_dict()
    after = {
        name.replace("base_layer.", ""): value for name, value in member.backbone.model.state_dict().items()
    }
    changed = [name for name, value in before.items() if not torch.equal(value, after[name])]
    assert bool(changed) == (adapter == "full")
    metrics = result.model.metrics
    trained = metrics.get("trained_parameters", metrics["parameters"])
    assert (trained == metrics["parameters"]) == (adapter == "full")


def test_before_training_the_network_computes_what_the_base_does(make_base: Make) -> None:
    """Sparse-GIN starts at nothing: states are those of the model to the bit."""
    recipe = Recipe.build({"target.names": ["y"], "backbone.pretrained": str(make_base("esm"))})
    prepared = prepare(recipe, table=table_from_frame(TABLE))
    encoded = encode(prepared)
    assert prepared.base is not None
    network = build_member(network_config(prepared, encoded), None, prepared.base).eval()
    batch = collate(encoded.examples[:4])
    ids = torch.where(batch.mask, batch.ids, prepared.base.padding)
    theirs = prepared.base.model()(input_ids=ids, attention_mask=batch.mask.long()).last_hidden_state
    assert torch.equal(network.backbone(batch)[0][batch.mask], theirs[batch.mask])


def test_the_same_seed_gives_the_same_bits_and_the_written_recipe_reproduces_the_run(make_base: Make) -> None:
    base = make_base("bert")
    first = tune(TABLE, base, adapter="lora")
    second = tune(TABLE, base, adapter={"kind": "lora"})
    assert np.array_equal(first.embed(PEPTIDES), second.embed(PEPTIDES))
    written = Recipe.parse(yaml.safe_load(first.saved.recipe))
    again = run(written, table=table_from_frame(TABLE), progress=False).model
    assert np.array_equal(first.embed(PEPTIDES), again.embed(PEPTIDES))
    assert again.saved.recipe == first.saved.recipe


def test_a_recipe_names_the_adapter_by_its_kind_or_its_settings() -> None:
    given = {"target": {"names": ["y"]}}
    short = Recipe.parse({**given, "backbone": {"pretrained": "b", "adapter": "lora"}})
    long = Recipe.parse({**given, "backbone": {"pretrained": "b", "adapter": {"kind": "lora"}}})
    assert short == long
    with pytest.raises(RecipeError, match="ranks"):
        Recipe.parse({**given, "backbone": {"pretrained": "b", "adapter": {"kind": "lora", "ranks": 3}}})
    with pytest.raises(RecipeError, match="two networks"):
        Recipe.parse({**given, "backbone": {"pretrained": "b"}, "pretrained": {"folder": "c"}})


def test_columns_and_descriptors_join_before_the_head(make_base: Make, tmp_path: Path) -> None:
    data = TABLE.assign(pH=np.linspace(4, 9, len(TABLE)))
    options = {"columns": ["pH"], "settings": {"descriptors": ["protparam"]}}
    model = tune(data, make_base("bert"), out=tmp_path / "model", **options)
    again = load(tmp_path / "model")
    pd.testing.assert_frame_equal(model.predict(data), again.predict(data))
    changed = again.predict(data.assign(pH=0.0))
    assert not np.allclose(changed["y_pred"], model.predict(data)["y_pred"])


def test_labels_of_residues(make_base: Make, tmp_path: Path) -> None:
    charged = ["".join("H" if letter in "KRH" else "E" for letter in text) for text in PEPTIDES]
    data = pd.DataFrame({"sequence": PEPTIDES, "y": charged})
    tune(data, make_base("esm"), settings={"target.kind": "per_token"}, out=tmp_path / "model")
    labels = load(tmp_path / "model").predict(PEPTIDES)["y_pred"]
    assert [len(label) for label in labels] == [len(text) for text in PEPTIDES]


def test_a_wrong_vocabulary_never_trains_silently(make_base: Make) -> None:
    base = make_base("bert")
    (base / "vocab.txt").write_text("\n".join([*BERT[:5], *(f"word{number}" for number in range(20))]))
    with pytest.raises(BaseModelError, match=r"100\.0% unknown tokens, expected less than 1%"):
        tune(TABLE, base)
    (base / "vocab.txt").write_text("\n".join([*BERT, *"abcdefg"]))
    with pytest.raises(BaseModelError, match="vocabulary is not that of the pretrained model"):
        tune(TABLE, base)
    (base / "vocab.txt").unlink()
    with pytest.raises(DefinitionError, match="no vocabulary"):
        tune(TABLE, base)


def test_lengths_are_those_of_the_model(make_base: Make, tmp_path: Path) -> None:
    base = make_base("roberta", "base")
    long = pd.DataFrame({"smiles": ["C" * 900, *ALCOHOLS], "y": np.arange(11.0)})
    with pytest.raises(GiaError, match="at most 62"):
        tune(long, base)
    esm = make_base("esm", "esm")
    with pytest.raises(RecipeError, match="at most 60"):
        tune(TABLE, esm, settings={"network.max_length": 61})
    tune(TABLE, esm, out=tmp_path / "model")
    model = load(tmp_path / "model")
    told = model.predict(["M" * 61])
    assert "expected at most 60" in told["reason"][0]
    (rows,) = model.embed(["M" * 61], tokens=True, long="truncate")
    assert len(rows) == 60
    (rows,) = model.embed(["MK" * 61], tokens=True, long="window")
    assert len(rows) == 122


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"network.width": 64}, "network.width is not for a pretrained model"),
        ({"network.known_edges": True}, "network.known_edges is not for"),
        ({"network.pooling": "first"}, "the first token sees nothing else"),
    ],
)
def test_what_the_model_decides_cannot_be_set(
    make_base: Make, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        tune(TABLE, make_base("gpt2"), settings=settings)


def test_compositions_and_models_that_are_trained_already_are_refused(
    make_base: Make, tmp_path: Path
) -> None:
    formulas = pd.DataFrame({"formula": [f"Fe{n}O3" for n in range(1, 9)], "y": np.arange(8.0)})
    with pytest.raises(DefinitionError, match="do not read composition"):
        tune(formulas, make_base("bert"))
    tune(TABLE, tmp_path / "base", out=tmp_path / "model")
    with pytest.raises(RecipeError, match="no pretrained backbone"):
        tune(TABLE, tmp_path / "model")


@pytest.mark.parametrize("adapter", ["sparse-gin", "lora", "bottleneck", "frozen", "full"])
def test_networks_of_gia_pretrain_are_adapted_with_their_new_parts(tmp_path: Path, adapter: str) -> None:
    small = {"network.width": 16, "network.layers": 2, "network.attention.heads": 2}
    epochs = {"training.epochs": 1, "training.min_steps": 1}
    pretrain(TABLE[["sequence"]], out=tmp_path / "pre", settings={**small, **epochs}, progress=False)
    model = tune(TABLE, tmp_path / "pre", adapter=adapter, out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(model.embed(PEPTIDES), again.embed(PEPTIDES))
    assert again.graph(PEPTIDES[0])
    (member,) = model.saved.network.members
    trained = {name for name, weight in member.named_parameters() if weight.requires_grad}
    assert {name.split(".")[0] for name in trained} >= {"head", "backbone"}
    assert "backbone.embedding.feature.weight" in trained
    assert ("backbone.embedding.token.weight" in trained) == (adapter == "full")


def test_a_base_that_is_not_what_the_recipe_was_written_for_is_told(
    make_base: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="gia_science"):
        tune(TABLE, make_base("bert"), settings={"backbone.sha256": "0" * 64})
    assert "its hash differs" in caplog.text


def test_train_takes_the_same_settings(make_base: Make) -> None:
    settings = {**QUICK, "backbone.pretrained": str(make_base("bert")), "backbone.adapter": "frozen"}
    model = train(TABLE, target="y", settings=settings, progress=False)
    assert "Adapter: frozen" in model.saved.card
    assert "Built on the pretrained model" in model.saved.card

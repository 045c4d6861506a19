"""Folders of networks on a frozen backbone: what they keep, and how strictly they come back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors.torch

from gia_science.errors import BaseModelError, GiaError, ModelFolderError
from gia_science.prediction.api import load
from gia_science.prediction.model import Model
from gia_science.training.api import finetune

Make = Callable[..., Path]
PEPTIDES = [("GLWSKIKEVGAAKRFDPYTNQHMC" * 2)[start : start + 7 + start % 3] for start in range(20)]
TABLE = pd.DataFrame({"sequence": PEPTIDES, "y": np.arange(20.0)})
QUICK = {"training.epochs": 1, "training.min_steps": 1, "baselines": []}


def tuned(base: Path, adapter: str | dict[str, Any] = "lora", **options: Any) -> Model:
    return finetune(TABLE, base=base, adapter=adapter, target="y", settings=QUICK, progress=False, **options)


@pytest.fixture(scope="module")
def made(shared_base: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base in ``base``, and a model of LoRA on it in ``model``."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(shared_base("bert"), folder / "base")
    tuned(folder / "base", out=folder / "model")
    return folder


@pytest.fixture
def model(made: Path, tmp_path: Path) -> Path:
    """That model in a folder of the test's own; its base stays where it was."""
    return Path(shutil.copytree(made / "model", tmp_path / "model"))


@pytest.mark.parametrize(
    ("adapter", "keep_base"),
    [("sparse-gin", False), ("sparse-gin", True), ("lora", True), ("bottleneck", False), ("full", False)],
)
def test_it_predicts_the_same_after_saving_and_keeps_no_more_than_it_has_to(
    make_base: Make, tmp_path: Path, adapter: str, keep_base: bool
) -> None:
    base = make_base("bert")
    model = tuned(base, adapter, keep_base=keep_base, out=tmp_path / "model")
    kept = safetensors.torch.load_file(tmp_path / "model" / "model.safetensors")
    whole = keep_base or adapter == "full"
    assert any("word_embeddings" in name for name in kept) == whole
    if whole:
        shutil.rmtree(base)
    again = load(tmp_path / "model")
    assert np.array_equal(model.embed(PEPTIDES), again.embed(PEPTIDES))
    pd.testing.assert_frame_equal(model.predict(PEPTIDES), again.predict(PEPTIDES))
    again.save(tmp_path / "again")
    first, second = (tmp_path / name / "model.safetensors" for name in ("model", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_a_base_that_moved_is_named_and_can_be_given_anew(make_base: Make, tmp_path: Path) -> None:
    base = make_base("esm")
    model = tuned(base, out=tmp_path / "model")
    base.rename(tmp_path / "moved")
    with pytest.raises(BaseModelError, match=r"no such folder.*network\.base\.source") as error:
        load(tmp_path / "model")
    assert str(base) in str(error.value)
    again = load(tmp_path / "model", base=tmp_path / "moved")
    assert np.array_equal(model.embed(PEPTIDES), again.embed(PEPTIDES))
    again.save(tmp_path / "again")
    assert np.array_equal(model.embed(PEPTIDES), load(tmp_path / "again").embed(PEPTIDES))


def test_another_base_is_refused(model: Path, made: Path, make_base: Make) -> None:
    other = make_base("bert", "other", initializer_range=0.03)
    with pytest.raises(BaseModelError, match="not the one that was fine-tuned"):
        load(model, base=other)
    (made / "base").rename(made / "aside")
    try:
        shutil.copytree(other, made / "base")
        with pytest.raises(BaseModelError, match="not the one that was fine-tuned"):
            load(model)
        shutil.rmtree(made / "base")
    finally:
        (made / "aside").rename(made / "base")


@pytest.mark.parametrize(
    "changes",
    [
        {"adapter": {"kind": "lora", "rank": 10**12}},
        {"adapter": {"kind": "lora", "rank": 7}},
        {"adapter": {"kind": "frozen"}},
        {"adapter": None},
        {"layers": 3},
        {"width": 32},
        {"members": 2},
        {"base": None},
    ],
)
def test_a_folder_whose_config_does_not_fit_is_refused(
    model: Path, change_json: Callable[..., None], changes: dict[str, Any]
) -> None:
    path = model / "config.json"
    network = json.loads(path.read_text())["network"] | changes
    change_json(path, network=network)
    with pytest.raises(GiaError) as error:
        load(model)
    assert "\n" not in str(error.value)


def test_a_missing_or_foreign_tensor_is_named(model: Path) -> None:
    path = model / "model.safetensors"
    kept = safetensors.torch.load_file(path)
    name = next(name for name in kept if "lora_A" in name)
    path.write_bytes(safetensors.torch.save({key: value for key, value in kept.items() if key != name}))
    with pytest.raises(ModelFolderError, match=f"{name} is missing"):
        load(model)
    path.write_bytes(safetensors.torch.save({**kept, "more": kept[name].clone()}))
    with pytest.raises(ModelFolderError, match="more is not known"):
        load(model)


def test_a_model_of_this_package_alone_has_no_base_to_name(make_saved: Any, tmp_path: Path) -> None:
    Model(make_saved()).save(tmp_path / "model")
    with pytest.raises(ModelFolderError, match="built on no other"):
        load(tmp_path / "model", base="somewhere")

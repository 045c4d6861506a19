"""The adapter's folder: in peft's layout, written whole or not at all, and strictly read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import safetensors.torch
import torch

from gia_science.adapters import (
    BaseReference,
    BottleneckConfig,
    LoRAConfig,
    SparseGINConfig,
    attach,
    load_adapter,
    save_adapter,
    weights_sha256,
)
from gia_science.errors import AdapterError

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@pytest.fixture
def saved(bert, tmp_path: Path) -> Path:
    model = bert.build()
    base = BaseReference(name_or_path="some/base", sha256=weights_sha256(model))
    return save_adapter(attach(model, SparseGINConfig(rank=4), seed=0), tmp_path / "adapter", base=base)


def edit(folder: Path, **changes) -> None:
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**config, **changes}))


def test_the_folder_has_the_layout_of_peft(saved: Path, bert) -> None:
    assert sorted(path.name for path in saved.iterdir()) == [CONFIG, WEIGHTS]
    config = json.loads((saved / CONFIG).read_text())
    assert config["peft_type"] == "SPARSE_GIN"
    assert config["base_model_name_or_path"] == "some/base"
    assert config["base_sha256"] == weights_sha256(bert.build())
    assert config["adapter"]["rank"] == 4
    assert [path.name for path in saved.parent.iterdir()] == ["adapter"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 2}, "newer release"),
        ({"colour": "red"}, "unknown key"),
        ({"peft_type": "LORA"}, "kinds in the file differ"),
        ({"adapter": {"kind": "sparse-gin", "rank": 4, "rnak": 4}}, "unknown key"),
        ({"adapter": {"kind": "sparse-gin", "rank": -1}}, "not valid"),
        ({"adapter": {"kind": "sparse-gin", "rank": 5}}, "do not fit"),
        ({"adapter": {"kind": "sparse-gin", "rank": 4, "layers": [0]}}, "not known"),
        ({"adapter": {"kind": "sparse-gin", "rank": 4, "layers": [7]}}, "not there"),
        ({"base_sha256": "0" * 64}, "another base"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(saved: Path, bert, changes, message: str) -> None:
    edit(saved, **changes)
    model = bert.build()
    with pytest.raises(AdapterError, match=message) as refused:
        load_adapter(model, saved)
    assert "\n" not in str(refused.value)
    assert str(saved) in str(refused.value) or "not there" in message
    attach(model, BottleneckConfig())  # the model is as it was


def test_tensors_are_held_against_the_settings(saved: Path, bert) -> None:
    state = safetensors.torch.load_file(saved / WEIGHTS)
    safetensors.torch.save_file({**state, "more": torch.zeros(1)}, saved / WEIGHTS)
    with pytest.raises(AdapterError, match="more is not known"):
        load_adapter(bert.build(), saved)
    first, *_ = state
    del state[first]
    safetensors.torch.save_file(state, saved / WEIGHTS)
    with pytest.raises(AdapterError, match=f"{first} is missing"):
        load_adapter(bert.build(), saved)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
@pytest.mark.parametrize("content", [None, b"", b"{", b"[1]", b"\xff\xfe"])
def test_damaged_and_missing_files_are_told(saved: Path, bert, name: str, content: bytes | None) -> None:
    path = saved / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(AdapterError) as refused:
        load_adapter(bert.build(), saved)
    assert name in str(refused.value)


def test_another_base_is_refused(saved: Path, bert) -> None:
    model = bert.build()
    with torch.no_grad():
        next(model.parameters())[0, 0] += 1e-6
    with pytest.raises(AdapterError, match="another base"):
        load_adapter(model, saved)


def test_only_an_adapter_is_replaced_and_only_when_asked(saved: Path, bert) -> None:
    model = bert.build()
    base = BaseReference(name_or_path="some/base", sha256=weights_sha256(model))
    attached = attach(model, BottleneckConfig(rank=3))
    with pytest.raises(AdapterError, match="exists"):
        save_adapter(attached, saved, base=base)
    save_adapter(attached, saved, base=base, overwrite=True)
    assert load_adapter(bert.build(), saved).config == BottleneckConfig(rank=3)
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(AdapterError, match="not only, an adapter"):
        save_adapter(attached, saved, base=base, overwrite=True)
    assert (saved / "notes.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_told(bert, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    base = BaseReference(name_or_path="some/base", sha256="0" * 64)
    with pytest.raises(AdapterError, match="cannot be written"):
        save_adapter(attach(bert.build(), BottleneckConfig()), tmp_path / "file" / "adapter", base=base)


@pytest.mark.parametrize("family", ["bert", "gpt2"])
# peft reads a property of the model that transformers renames; and it knows only its own keys, and says so of ours.
@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing. is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:Unexpected keyword arguments:UserWarning")
def test_peft_itself_opens_a_lora_adapter(bases, family: str, rows, tmp_path: Path) -> None:
    from peft import PeftModel

    base = bases[family]
    model = base.build()
    reference = BaseReference(name_or_path="some/base", sha256=weights_sha256(model))
    attached = attach(model, LoRAConfig(rank=4), seed=0)
    with torch.no_grad():
        for _, parameter in attached.trainable():
            parameter.add_(0.1)
        save_adapter(attached, tmp_path / "lora", base=reference)
        theirs = PeftModel.from_pretrained(base.build(), tmp_path / "lora").eval()
        pairs = zip(base(theirs, rows), base(model, rows), strict=True)
        assert all(torch.equal(found, wanted) for found, wanted in pairs)

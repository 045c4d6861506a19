"""Pretrained models are found offline, read strictly, and never run code."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gia_science.adapters import weights_sha256
from gia_science.errors import BaseModelError
from gia_science.model.base_files import find_base
from gia_science.model.base_weights import build_base, load_base, most_tokens

Make = Callable[..., Path]
FAMILIES = ("bert", "esm", "roberta", "gpt2", "llama")


def as_pickle(folder: Path) -> Path:
    """The weights as pytorch_model.bin instead of safetensors."""
    state = load_base(find_base(str(folder))).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    return folder


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_read_from_safetensors_and_from_pickled_tensors(make_base: Make, family: str) -> None:
    folder = make_base(family)
    first = load_base(find_base(str(folder)))
    assert not first.training
    again = load_base(find_base(str(as_pickle(folder))), sha256=weights_sha256(first))
    for (name, one), (_, other) in zip(first.state_dict().items(), again.state_dict().items(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize(
    ("family", "longest"), [("bert", 64), ("esm", 62), ("roberta", 62), ("gpt2", 64), ("llama", 64)]
)
def test_the_longest_input_leaves_out_positions_before_the_first(
    shared_base: Make, family: str, longest: int
) -> None:
    """RoBERTa's table of 64 positions holds 62 tokens: one more is an index beyond it."""
    model = load_base(find_base(str(shared_base(family))))
    assert most_tokens(model) == longest
    with torch.no_grad():
        model(input_ids=torch.full((1, longest), 5), attention_mask=torch.ones(1, longest))
    if family in ("bert", "roberta"):
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, longest + 1), 5))


def test_a_checkpoint_with_the_heads_of_a_language_model_is_read(shared_base: Make, tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    config = load_base(find_base(str(shared_base("bert")))).config
    whole = AutoModelForMaskedLM.from_config(config)
    whole.save_pretrained(tmp_path / "lm")
    read = load_base(find_base(str(tmp_path / "lm"))).state_dict()
    for name, weight in whole.bert.state_dict().items():
        assert torch.equal(read[name], weight)


class _Harm:
    def __reduce__(self) -> tuple[object, ...]:
        return (Path.write_text, (Path("harm.txt"), "done"))


def test_pickled_code_is_refused_and_not_run(
    make_base: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = make_base("bert")
    (folder / "model.safetensors").unlink()
    weights = torch.zeros(100_000)
    for content in ({"a": _Harm(), "w": weights}, [_Harm(), weights]):
        torch.save(content, folder / "pytorch_model.bin")
        with pytest.raises(BaseModelError, match="pickled code, which is never run") as error:
            load_base(find_base(str(folder)))
        assert "\n" not in str(error.value)
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Harm()))
    with pytest.raises(BaseModelError):
        load_base(find_base(str(folder)))
    assert not (tmp_path / "harm.txt").exists()


def test_code_that_a_config_names_is_not_looked_at(make_base: Make, change_json: Callable[..., None]) -> None:
    folder = make_base("bert")
    (folder / "code.py").write_text("raise SystemExit(3)")
    change_json(
        folder / "config.json", auto_map={"AutoModel": "code.Model"}, attn_implementation="owner/kernel"
    )
    files = find_base(str(folder))
    assert not {"auto_map", "attn_implementation"} & set(files.architecture)
    assert type(load_base(files)).__name__ == "BertModel"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "no_such_family"}, "not known to transformers: got no_such_family"),
        ({"model_type": "t5"}, "encoder and decoder"),
        ({"model_type": None}, "not a pretrained model of transformers"),
        ({"hidden_size": 32}, "do not fit config.json"),
        ({"num_hidden_layers": 3}, "is missing"),
        ({"num_hidden_layers": 10**7}, "not valid"),
        ({"vocab_size": 10**12}, "far beyond the files"),
        ({"hidden_size": 15}, "not valid|cannot be read"),
        ({"quantization_config": {"bits": 4}}, "quantised"),
    ],
)
def test_an_architecture_that_does_not_fit_is_told_in_one_line(
    make_base: Make, change_json: Callable[..., None], changes: dict[str, object], message: str
) -> None:
    folder = make_base("bert")
    change_json(folder / "config.json", **changes)
    with pytest.raises(BaseModelError, match=message) as error:
        load_base(find_base(str(folder)))
    assert "\n" not in str(error.value)


def test_damaged_and_missing_files_are_told(make_base: Make) -> None:
    folder = make_base("bert")
    (folder / "model.safetensors").write_bytes(b"\x10" + b"\0" * 40)
    with pytest.raises(BaseModelError):
        load_base(find_base(str(folder)))
    (folder / "model.safetensors").unlink()
    with pytest.raises(BaseModelError, match="no weights that can be read"):
        find_base(str(folder))
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(BaseModelError, match="holds an adapter"):
        find_base(str(folder))
    with pytest.raises(BaseModelError, match="no such folder"):
        find_base(str(folder / "nothing"))
    (folder / "config.json").write_text("{")
    (folder / "adapter_config.json").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(BaseModelError, match="not JSON"):
        find_base(str(folder))


def test_other_weights_than_those_that_were_fine_tuned_are_refused(make_base: Make) -> None:
    files = find_base(str(make_base("esm")))
    digest = weights_sha256(load_base(files))
    model = load_base(files, sha256=digest)
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] += 1e-3
    model.save_pretrained(files.folder)
    with pytest.raises(BaseModelError, match="is not the one that was fine-tuned"):
        load_base(files, sha256=digest)


def test_an_id_without_a_network_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(BaseModelError, match=r"hub cannot be reached .* got owner/name") as error:
        find_base("owner/name")
    assert "\n" not in str(error.value)


def test_building_needs_no_more_than_the_architecture(shared_base: Make) -> None:
    files = find_base(str(shared_base("llama")))
    assert json.loads(json.dumps(files.architecture)) == files.architecture
    built = build_base(files.architecture)
    wanted = load_base(replace(files, architecture=files.architecture)).state_dict()
    assert {name: value.shape for name, value in built.state_dict().items()} == {
        name: value.shape for name, value in wanted.items()
    }

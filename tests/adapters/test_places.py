"""Places are found in families that the code has never heard of, and a clear word is said where there are none."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from transformers import (
    AlbertConfig,
    AlbertModel,
    BloomConfig,
    BloomModel,
    DebertaV2Config,
    DebertaV2Model,
    DistilBertConfig,
    DistilBertModel,
    Gemma2Config,
    Gemma2Model,
    GPTNeoXConfig,
    GPTNeoXModel,
    MPNetConfig,
    MPNetModel,
    T5Config,
    T5Model,
)

from gia_science.adapters import FrozenConfig, FullConfig, LoRAConfig, SparseGINConfig, attach, inject
from gia_science.adapters.places import find_places
from gia_science.errors import AdapterError

SIZES = {
    "vocab_size": 24,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
OUTSIDE = {
    "mpnet": lambda: MPNetModel(MPNetConfig(**SIZES)),
    "deberta-v2": lambda: DebertaV2Model(DebertaV2Config(**SIZES)),
    "bloom": lambda: BloomModel(BloomConfig(vocab_size=24, hidden_size=16, n_layer=2, n_head=4, **SPECIAL)),
}


@pytest.mark.parametrize(
    ("name", "residual"),
    [("bert", True), ("roberta", True), ("esm", True), ("gpt2", False), ("llama", False), ("own", False)],
)
def test_where_the_residual_is_added_is_found(bases, name: str, residual: bool) -> None:
    model = bases[name].build().train()
    implementation = getattr(model.config, "_attn_implementation", None) if name != "own" else None
    places = find_places(model)
    assert [place.residual for place in places] == [residual] * 3
    assert {(place.width, place.heads) for place in places} == {(16, 4)}
    assert all(module.training for module in model.modules())
    assert not any("_gia_watcher" in module.__dict__ for module in model.modules())
    if implementation:
        assert model.config._attn_implementation == implementation


@pytest.mark.parametrize(
    ("make", "outlet"),
    [
        # Its layers norm the branch before they add it: the adapter comes after the norm.
        (
            lambda: Gemma2Model(Gemma2Config(**SIZES, **SPECIAL, num_key_value_heads=2, head_dim=4)),
            "Gemma2RMSNorm",
        ),
        (lambda: GPTNeoXModel(GPTNeoXConfig(**SIZES, **SPECIAL)), "Dropout"),
        (
            lambda: DistilBertModel(
                DistilBertConfig(vocab_size=24, dim=16, n_layers=2, n_heads=4, hidden_dim=16)
            ),
            "DistilBertSelfAttention",
        ),
        # One layer that is called twice.
        (lambda: AlbertModel(AlbertConfig(**SIZES, embedding_size=8)), "AlbertAttention"),
    ],
    ids=["gemma2", "gpt-neox", "distilbert", "albert"],
)
def test_other_families_need_no_code(make, outlet: str) -> None:
    model = make().eval()
    ids = torch.tensor([[5, 9, 12, 7]])
    with torch.no_grad():
        before = model(input_ids=ids).last_hidden_state
        attached = inject(model, SparseGINConfig(rank=4), seed=0)
        assert {type(site.place.outlet).__name__ for site in attached.sites.values()} == {outlet}
        with attached.recording() as graphs:
            assert torch.equal(model(input_ids=ids).last_hidden_state, before)
        assert len(graphs) == 2
        for _, parameter in attached.trainable():
            parameter.add_(0.1)
        assert not torch.allclose(model(input_ids=ids).last_hidden_state, before, atol=1e-4)
        assert torch.equal(attached.remove()(input_ids=ids).last_hidden_state, before)


@pytest.mark.parametrize("family", OUTSIDE)
def test_families_outside_the_dispatch_are_told_what_works(family: str) -> None:
    model = OUTSIDE[family]()
    with pytest.raises(AdapterError, match=rf"(?s)attention interface: got {family}.*lora.*frozen and full"):
        inject(model, SparseGINConfig())
    for config in (FrozenConfig(), FullConfig()):
        attach(model, config).remove()
    if family == "mpnet":
        with pytest.raises(AdapterError, match="`targets`"):
            attach(model, LoRAConfig())
    targets = ("q", "v") if family == "mpnet" else None
    assert attach(model, LoRAConfig(targets=targets)).parameters_count() > 0


def test_targets_that_are_not_there_are_refused(bert) -> None:
    with pytest.raises(AdapterError, match="no projection"):
        attach(bert.build(), LoRAConfig(targets=("nowhere",)))


def test_other_models_are_refused(bert) -> None:
    with pytest.raises(AdapterError, match="encoder and decoder"):
        find_places(T5Model(T5Config(vocab_size=24, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=4)))
    with pytest.raises(AdapterError, match="got Linear"):
        find_places(nn.Linear(2, 2))
    model = bert.build()
    model.config._attn_implementation = "flex_attention"
    with pytest.raises(AdapterError, match="expected sdpa or eager"):
        inject(model, SparseGINConfig())


@pytest.mark.parametrize(("package", "config"), [("transformers", SparseGINConfig()), ("peft", LoRAConfig())])
def test_a_missing_extra_is_named(bert, monkeypatch, package: str, config) -> None:
    model = bert.build()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(AdapterError, match=rf'need {package}.*pip install "gia-science\[hf\]"'):
        attach(model, config)

"""A model from elsewhere in the place of the backbone: its own numbers, whatever the batch, and an adapter on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pydantic import TypeAdapter

from gia_science.adapters import AdapterConfig
from gia_science.data.batching import Batch, collate
from gia_science.model.base_files import find_base
from gia_science.model.base_weights import load_base
from gia_science.model.config import BaseConfig
from gia_science.model.huggingface import HuggingFaceBackbone
from gia_science.tokens.base_files import tokenizer_json
from gia_science.tokens.base_vocabulary import BaseVocabulary
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer

Shared = Callable[[str], Path]
FAMILIES = ("bert", "esm", "roberta", "gpt2", "llama")
TEXTS = {"protein": ("MKTAYIAKQR", "GL", "WWXKK"), "smiles": ("CC(=O)Nc1ccc(O)cc1", "CCO", "N")}


def backbone_and_batches(folder: Path, domain: str) -> tuple[HuggingFaceBackbone, list[Batch]]:
    """The backbone, and three inputs: together, and each alone."""
    vocabulary = BaseVocabulary.of(tokenizer_json(folder), most_tokens=60)
    model = load_base(find_base(str(folder)))
    config = BaseConfig(
        source="",
        sha256="",
        kept=True,
        architecture={},
        padding=model.config.pad_token_id or 0,
        special=vocabulary.special_ids,
        token_per_unit=True,
    )
    featurizer = Featurizer(
        make_tokenizer(domain, vocabulary=vocabulary),
        source=DescriptorSource(providers=(), columns=()),
        scalings=(),
        max_length=50,
    )
    examples = [featurizer.example(featurizer.read(text)) for text in TEXTS[domain]]
    batches = [collate(examples), *(collate([example]) for example in examples)]
    return HuggingFaceBackbone(config, model=model).eval(), batches


def domain_of(family: str) -> str:
    return "smiles" if family == "roberta" else "protein"


@pytest.mark.parametrize("kind", ["none", "sparse-gin", "lora"])
@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_rows_do_not_depend_on_the_batch(shared_base: Shared, family: str, kind: str) -> None:
    backbone, (together, *alone) = backbone_and_batches(shared_base(family), domain_of(family))
    if kind != "none":
        adapter = TypeAdapter[AdapterConfig](AdapterConfig).validate_python({"kind": kind})
        backbone.adapt(adapter)
        for parameter in backbone.parameters():
            if parameter.requires_grad:
                parameter.add_(0.3 * torch.randn_like(parameter))
        backbone.eval()
    for layer in (0, 1, None):
        hidden, mask = backbone(together, layer=layer)
        for row, batch in enumerate(alone):
            single, inside = backbone(batch, layer=layer)
            length = batch.ids.shape[1]
            torch.testing.assert_close(hidden[row, :length], single[0], atol=1e-5, rtol=1e-5)
            assert torch.equal(mask[row, :length], inside[0])
            assert not mask[row, length:].any()


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_states_are_those_of_the_model_itself(shared_base: Shared, family: str) -> None:
    backbone, (_, batch, *_) = backbone_and_batches(shared_base(family), domain_of(family))
    plain = load_base(find_base(str(shared_base(family))))
    theirs = plain(input_ids=batch.ids, output_hidden_states=True)
    assert torch.equal(backbone(batch)[0], theirs.last_hidden_state)
    torch.testing.assert_close(backbone(batch, layer=2)[0], theirs.hidden_states[-1])
    for layer in (0, 1):
        torch.testing.assert_close(backbone(batch, layer=layer)[0], theirs.hidden_states[layer])


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_and_padding_are_left_out_of_the_mask(shared_base: Shared, family: str) -> None:
    backbone, (together, *_) = backbone_and_batches(shared_base(family), domain_of(family))
    _, mask = backbone(together)
    if family != "roberta":
        assert torch.equal(mask, together.units >= 0)
    assert mask.sum() == together.mask.sum() - (0 if family in ("gpt2", "llama") else 2 * len(together))


@pytest.mark.parametrize("kind", ["sparse-gin", "lora", "bottleneck", "frozen", "full"])
def test_only_the_adapter_is_trained_and_only_it_has_dropout(shared_base: Shared, kind: str) -> None:
    backbone, (together, *_) = backbone_and_batches(shared_base("bert"), "protein")
    base = {name for name, _ in backbone.model.named_parameters()}
    settings = {"kind": kind, **({"dropout": 0.5} if kind == "lora" else {})}
    backbone.adapt(TypeAdapter[AdapterConfig](AdapterConfig).validate_python(settings))
    trained = {name for name, weight in backbone.model.named_parameters() if weight.requires_grad}
    assert (trained == base) if kind == "full" else not trained & base
    assert bool(trained) == (kind != "frozen")
    backbone.train()
    torch.manual_seed(0)
    first = backbone(together)[0].detach()
    second = backbone(together)[0].detach()
    if kind in ("lora", "full"):
        # An update of LoRA starts at zero, so that its dropout does not show yet.
        training = [module for module in backbone.modules() if module.training and module is not backbone]
        assert any(isinstance(module, torch.nn.Dropout) for module in training)
        assert torch.equal(first, second) == (kind == "lora")
    else:
        assert torch.equal(first, second)
    backbone.eval()
    assert not any(module.training for module in backbone.modules())


def test_weights_that_the_states_do_not_depend_on_are_not_trained(shared_base: Shared) -> None:
    """The contact head of ESM gets no gradient, which several devices would wait for."""
    backbone, (together, *_) = backbone_and_batches(shared_base("esm"), "protein")
    backbone.adapt(TypeAdapter[AdapterConfig](AdapterConfig).validate_python({"kind": "full"}))
    backbone.freeze_unused()
    backbone(together)[0].sum().backward()
    frozen = {name for name, weight in backbone.named_parameters() if not weight.requires_grad}
    assert frozen
    assert frozen == {name for name, weight in backbone.named_parameters() if weight.grad is None}

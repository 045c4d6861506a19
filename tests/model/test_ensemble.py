"""An ensemble answers with the mean of its members, and with all their embeddings."""

from __future__ import annotations

import pytest
import torch

from gia_science.data.batching import collate
from gia_science.data.target_spec import TaskKind
from gia_science.model.config import NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer


def parts(kind: TaskKind, *, outputs: int, members: int = 3) -> tuple[NetworkConfig, Featurizer]:
    tokenizer = make_tokenizer("composition")
    featurizer = Featurizer(
        tokenizer, source=DescriptorSource(providers=[], columns=[]), scalings=[], max_length=9
    )
    config = NetworkConfig.model_validate(
        {
            "vocabulary": len(tokenizer.vocabulary),
            "values": True,
            "features": len(tokenizer.feature_names),
            "context_buckets": (),
            "kind": kind,
            "outputs": outputs,
            "width": 16,
            "layers": 1,
            "attention": {"heads": 2},
            "members": members,
        }
    )
    return config, featurizer


@pytest.mark.parametrize(("kind", "outputs"), [("regression", 2), ("binary", 1), ("multiclass", 3)])
def test_predictions_are_means_of_values_or_probabilities(kind: TaskKind, outputs: int) -> None:
    config, featurizer = parts(kind, outputs=outputs)
    torch.manual_seed(0)
    ensemble = PropertyEnsemble(config).eval()
    batch = collate([featurizer.example(featurizer.read(text)) for text in ("NaCl", "Fe2O3")])
    alone = [member(batch) for member in ensemble.members]
    if kind == "binary":
        alone = [logits.sigmoid() for logits in alone]
    elif kind == "multiclass":
        alone = [logits.softmax(dim=-1) for logits in alone]
    torch.testing.assert_close(ensemble(batch), sum(alone) / 3)
    assert not torch.allclose(alone[0], alone[1]), "members differ"


def test_embeddings_stand_one_after_another() -> None:
    config, featurizer = parts("regression", outputs=1)
    ensemble = PropertyEnsemble(config).eval()
    batch = collate([featurizer.example(featurizer.read("NaCl"))])
    vectors = ensemble.embed(batch)
    assert vectors.shape == (1, ensemble.width) == (1, 48)
    torch.testing.assert_close(vectors[:, 16:32], ensemble.members[1].embed(batch))
    by_token = ensemble.embed_tokens(batch, layer=0)
    assert by_token.shape == (*batch.ids.shape, ensemble.width)
    torch.testing.assert_close(by_token[..., 16:32], ensemble.members[1].embed_tokens(batch, layer=0))


def test_trained_networks_make_an_ensemble_without_a_copy() -> None:
    config, _ = parts("regression", outputs=1)
    networks = [PropertyNetwork(config) for _ in range(3)]
    ensemble = PropertyEnsemble.of(networks)
    assert list(ensemble.members) == networks
    assert not ensemble.training


def test_what_an_ensemble_says_of_a_member_is_what_the_member_says_alone() -> None:
    config, featurizer = parts("regression", outputs=2)
    config = config.model_copy(update={"gates": (1,), "zeros": (-1.0,)})
    torch.manual_seed(0)
    ensemble = PropertyEnsemble(config).eval()
    batch = collate([featurizer.example(featurizer.read(text)) for text in ("NaCl", "Fe2O3")])
    each = ensemble.each(batch).unflatten(1, (3, 3))
    for number, member in enumerate(ensemble.members):
        values, logits = member(batch)[:, :2], member(batch)[:, 2:]
        assert torch.equal(each[:, number], torch.cat((values, logits.sigmoid()), dim=1))
    torch.testing.assert_close(ensemble(batch), each.mean(dim=1))

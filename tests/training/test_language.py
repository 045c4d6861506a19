"""What a language model is shown: nothing that depends on what it has to predict."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from gia_science.attention import AttentionConfig
from gia_science.data.batching import Batch
from gia_science.model.config import LanguageConfig
from gia_science.model.language import LanguageNetwork
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.featurizer import Example
from gia_science.training.datamodule import Examples
from gia_science.training.language import (
    CausalRows,
    MaskedRows,
    answers,
    collate_tokens,
    every_token,
    foretell,
    hidden_sets,
    hide,
    predictable,
    row_losses,
)
from tests.training.test_datamodule import plain_featurizer

TEXTS = {
    "protein": ("MKTAYIAKQRW", "GLWSKX"),
    "smiles": ("CC(=O)Nc1ccc(O)cc1", "C[C@@H](N)C(=O)O"),
    "composition": ("Fe2O3", "Hg0.7Cd0.3Te"),
}


def example_of(domain: str, text: str) -> Example:
    featurizer = plain_featurizer(domain)
    return featurizer.example(featurizer.read(text))


def language_model(domain: str, *, kind: str = "gin", objective: str = "masked") -> LanguageNetwork:
    vocabulary = plain_featurizer(domain).tokenizer.vocabulary
    config = LanguageConfig(
        vocabulary=len(vocabulary),
        values=domain == "composition",
        features=0,
        context_buckets=(),
        objective=objective,
        width=16,
        layers=2,
        attention=AttentionConfig(kind=kind, heads=2, causal=objective == "causal"),
    )
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return LanguageNetwork(config).double().eval()


def double(batch: Batch) -> Batch:
    return replace(batch, values=batch.values.double(), features=batch.features.double())


@pytest.mark.parametrize(
    ("domain", "one", "other", "place"),
    [
        ("protein", "MKTAYIAK", "MKTWYIAK", 4),  # k-mers of three neighbours on either side change
        ("smiles", "CCCO", "CCCN", 4),  # Morgan environments, charges and hydrogens of neighbours change
        ("smiles", "C=CC", "C#CC", 2),  # a bond: valence and hybridisation of both its atoms, and its kind
        ("composition", "NaCl", "NaBr", 2),
    ],
)
def test_what_is_hidden_changes_no_input(domain: str, one: str, other: str, place: int) -> None:
    """Two inputs that differ in one token are the same batch when that token is hidden."""
    vocabulary = plain_featurizer(domain).tokenizer.vocabulary
    whole = [example_of(domain, text) for text in (one, other)]
    assert whole[0].stream.ids[place] != whole[1].stream.ids[place]
    batches, targets = [], []
    for item in whole:
        stream, target = hide(item.stream, np.array([place]), vocabulary=vocabulary)
        batch, _ = collate_tokens([(replace(item, stream=stream), target)])
        batches.append(batch)
        targets.append(target)
    for field in fields(Batch):
        first, second = (getattr(batch, field.name) for batch in batches)
        assert first is second or torch.equal(first, second), field.name
    assert [target[place] for target in targets] == [item.stream.ids[place] for item in whole]
    assert np.isnan(np.delete(targets[0], place)).all()


@pytest.mark.parametrize("domain", ["protein", "smiles"])
@pytest.mark.parametrize("kind", ["plain", "gin", "pna"])
def test_no_logit_of_a_causal_model_feels_a_later_token(domain: str, kind: str) -> None:
    """The gradient of each logit to the embedding of each later token is exactly 0, through the whole pipeline."""
    network = language_model(domain, kind=kind, objective="causal")
    item = example_of(domain, TEXTS[domain][0])
    stream, target = foretell(item.stream, vocabulary=plain_featurizer(domain).tokenizer.vocabulary)
    batch, _ = collate_tokens([(replace(item, stream=stream), target)])
    held: list[torch.Tensor] = []

    def keep(_: torch.nn.Module, __: object, out: torch.Tensor) -> torch.Tensor:
        held.append(out.detach().requires_grad_())
        return held[-1]

    network.backbone.embedding.token.register_forward_hook(keep)
    logits = network(double(batch))
    weights = torch.linspace(-1, 2, logits.shape[-1], dtype=torch.float64)
    for place in range(len(stream)):
        (gradient,) = torch.autograd.grad((logits[0, place] * weights).sum(), held[0], retain_graph=True)
        assert (gradient[0, place + 1 :] == 0).all()
        assert (gradient[0, place] != 0).any()


@pytest.mark.parametrize("domain", ["protein", "smiles"])
def test_a_later_token_changes_no_earlier_input(domain: str) -> None:
    one, other = {"protein": ("MKTAYIAK", "MKTAYIAW"), "smiles": ("CCCO", "CCCN")}[domain]
    vocabulary = plain_featurizer(domain).tokenizer.vocabulary
    streams = [foretell(example_of(domain, text).stream, vocabulary=vocabulary)[0] for text in (one, other)]
    for name in ("ids", "values", "positions", "features", "contexts", "units"):
        before = [getattr(stream, name)[:-2] for stream in streams]
        np.testing.assert_array_equal(*before, err_msg=name)


def test_the_next_token_is_the_answer_and_unknown_ones_are_not_asked_for() -> None:
    vocabulary = plain_featurizer("protein").tokenizer.vocabulary
    stream = example_of("protein", "ACD").stream
    _, targets = foretell(stream, vocabulary=vocabulary)
    ids = vocabulary.ids
    assert targets[:-1].tolist() == [ids["A"], ids["C"], ids["D"], vocabulary.eos_id]
    assert np.isnan(targets[-1])
    odd = replace(stream, ids=np.array([2, 5, 1, 7, 3]))
    assert np.isnan(foretell(odd, vocabulary=vocabulary)[1]).tolist() == [False, True, False, False, True]
    assert predictable(odd.ids, vocabulary).tolist() == [1, 3]
    assert answers(odd, vocabulary=vocabulary, mask_share=0.5).tolist() == [5, 7]
    assert answers(odd, vocabulary=vocabulary, mask_share=None).tolist() == [5, 7, 3]


@pytest.mark.parametrize("share", [0.05, 0.15, 0.5, 0.99])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_hidden_sets_hold_each_place_once_and_about_the_share(n: int, share: float) -> None:
    places = np.arange(3, 3 + n)
    sets = hidden_sets(places, share=share, rng=np.random.default_rng(0))
    assert sorted(np.concatenate([np.zeros(0, dtype=int), *sets]).tolist()) == places.tolist()
    assert all(1 <= len(part) <= max(1, round(share * n)) for part in sets)


def test_masks_are_fresh_in_training_and_fixed_in_validation() -> None:
    vocabulary = plain_featurizer("protein").tokenizer.vocabulary
    rows = Examples([example_of("protein", "ACDEFGHIKLMNPQRSTVWY")], targets=[np.zeros(0)])

    def masks(**options: bool) -> list[tuple[int, ...]]:
        shown = MaskedRows(rows, vocabulary=vocabulary, share=0.15, seed=4, **options)
        drawn = [np.flatnonzero(shown[0][0].stream.ids == vocabulary.mask_id) for _ in range(10)]
        return [tuple(places) for places in drawn]

    assert len(set(masks(fresh=True))) > 5
    assert masks(fresh=True) == masks(fresh=True)
    assert len(set(masks(fresh=False))) == 1
    assert all(len(places) == 3 for places in masks(fresh=True))
    whole = rows.examples[0].stream
    assert vocabulary.mask_id not in whole.ids, "the rows themselves stay whole"


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_token_of_a_held_out_row_is_asked_for_once(domain: str) -> None:
    vocabulary = plain_featurizer(domain).tokenizer.vocabulary
    for text in TEXTS[domain]:
        item = example_of(domain, text)
        for share in (0.15, None):
            rng = np.random.default_rng(1)
            pairs = every_token(item, vocabulary=vocabulary, mask_share=share, rng=rng)
            asked = [int(value) for _, target in pairs for value in target[~np.isnan(target)]]
            wanted = answers(item.stream, vocabulary=vocabulary, mask_share=share)
            assert sorted(asked) == sorted(wanted.tolist())


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_model_without_preference_has_the_perplexity_of_its_vocabulary(domain: str) -> None:
    network = language_model(domain).float()
    vocabulary = plain_featurizer(domain).tokenizer.vocabulary
    with torch.no_grad():
        network.backbone.norm.weight.zero_()
    rng = np.random.default_rng(0)
    shown = [
        every_token(example_of(domain, text), vocabulary=vocabulary, mask_share=0.15, rng=rng)
        for text in TEXTS[domain]
    ]
    pairs = [pair for row in shown for pair in row]
    losses = row_losses(network, pairs, tokens=64, rows=3)
    counts = np.array([(~np.isnan(target)).sum() for _, target in pairs])
    np.testing.assert_allclose(np.exp(losses / counts), len(vocabulary), rtol=1e-5)


def test_losses_do_not_depend_on_the_batch() -> None:
    network = language_model("protein", objective="causal").float()
    vocabulary = plain_featurizer("protein").tokenizer.vocabulary
    examples = [example_of("protein", text) for text in ("ACDEFGHIK", "GL", "WWWWY")]
    rows = CausalRows(Examples(examples, targets=[np.zeros(0)] * 3), vocabulary=vocabulary)
    pairs = [rows[index] for index in range(3)]
    together = row_losses(network, pairs, tokens=1000, rows=3)
    alone = np.concatenate([row_losses(network, [pair], tokens=1000, rows=1) for pair in pairs])
    np.testing.assert_allclose(together, alone, rtol=1e-5)


def test_the_loss_is_the_mean_over_predicted_tokens() -> None:
    network = language_model("protein", objective="causal")
    vocabulary = plain_featurizer("protein").tokenizer.vocabulary
    examples = [example_of("protein", text) for text in ("ACDEFGHIK", "GL")]
    rows = CausalRows(Examples(examples, targets=[np.zeros(0)] * 2), vocabulary=vocabulary)
    batch, targets = collate_tokens([rows[0], rows[1]])
    batch = double(batch)
    chances = network(batch).softmax(-1).detach()
    known = [(row, place) for row, place in np.argwhere(~np.isnan(targets.numpy()))]
    by_hand = [-math.log(chances[row, place, int(targets[row, place])]) for row, place in known]
    assert len(known) == 10 + 3
    assert float(network.loss(batch, targets).detach()) == pytest.approx(np.mean(by_hand))
    nothing = network.loss(batch, torch.full_like(targets, torch.nan))
    assert float(nothing.detach()) == 0.0

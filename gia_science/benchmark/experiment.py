"""What the arms are trained on: a language of proteins, and property tasks, behind one interface."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from gia_science.attention import AttentionConfig
from gia_science.benchmark.protocol import protocol_of
from gia_science.evaluation.metrics import score_task
from gia_science.evaluation.report import score_kind
from gia_science.model.config import BackboneConfig, LanguageConfig, NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.heads import PropertyNetwork
from gia_science.model.language import LanguageModel, LanguageNetwork
from gia_science.prediction.forward import all_computed, predict_examples
from gia_science.training.api import start_recipe
from gia_science.training.architecture import network_config, training_lengths
from gia_science.training.corpus import Corpus, prepare_corpus
from gia_science.training.datamodule import BatchedData, Pair
from gia_science.training.encode import Encoded, encode
from gia_science.training.fitted_attention import with_delta
from gia_science.training.language import every_token, row_losses
from gia_science.training.members import member_data
from gia_science.training.optimizer_recipe import OptimizerRecipe
from gia_science.training.prepare import Prepared, prepare
from gia_science.training.pretrain import language_config, language_data
from gia_science.training.recipe import PretrainRecipe

Network = PropertyNetwork | LanguageModel
Part = Literal["validation", "test"]
LANGUAGE = "language"
"""Name of the causal language model of the shipped peptides; all other names are those of tasks."""


@dataclass(frozen=True)
class Experiment:
    """Data and scores of one task with one seed.

    Parameters
    ----------
    name : str
        Name of the task, or `LANGUAGE`.
    seed : int
        Draws the split, the weights and the order of rows.
    metric : str
        Title of the metric.
    greater_is_better : bool
    optimizer : OptimizerRecipe
        The budget, the same for all arms; it never stops early.
    data : callable
        Makes the batches, in the same order each time.
    score : callable
        Metric of a network on a part of the split.
    """

    name: str
    seed: int
    metric: str
    greater_is_better: bool
    optimizer: OptimizerRecipe
    data: Callable[[], BatchedData]
    score: Callable[[Any, Part], float]


@dataclass(frozen=True)
class AttentionExperiment(Experiment):
    """An experiment whose networks differ in their attention.

    Parameters
    ----------
    width : int
        Width d of the hidden states.
    attention : AttentionConfig
        What all arms have in common.
    build : callable
        From an attention and an expansion of the feed-forward to a network; expansion None is the recipe's.
    """

    width: int
    attention: AttentionConfig
    build: Callable[[AttentionConfig, float | None], Network]

    def parameters(self, attention: AttentionConfig, expansion: float | None) -> int:
        """Number of parameters of a network."""
        return sum(weight.numel() for weight in self.build(attention, expansion).parameters())


def experiment(name: str, *, seed: int, settings: Mapping[str, Any]) -> AttentionExperiment:
    """An experiment by its name.

    Parameters
    ----------
    name : str
        A task, or `LANGUAGE`.
    seed : int
    settings : mapping
        Settings of the recipe under dotted keys, such as ``"training.epochs"``.

    Raises
    ------
    GiaError
        As `prepare` and `prepare_corpus`.
    """
    # An average over a whole curve needs the whole curve.
    common = {"split.seed": seed, "seed": seed, "training.patience": 1.0, **settings}
    folds = {"split.method": "folds", "split.folds": 5, "split.fold": 0, **common}
    if name == LANGUAGE:
        given = {"data.dataset": "amp", "data.input": "sequence", "objective": "causal", **folds}
        return _language(prepare_corpus(PretrainRecipe.build(given)))
    given = {"network.members": 1}
    prepared = prepare(start_recipe(name, changes={**given, **folds}))
    return _property(name, prepared, encode(prepared))


def _language(corpus: Corpus) -> AttentionExperiment:
    recipe, config = corpus.recipe, language_config(corpus)
    lengths = [len(corpus.examples[index]) for index in corpus.split.train]
    return AttentionExperiment(
        name=LANGUAGE,
        seed=recipe.seed,
        metric="perplexity",
        greater_is_better=False,
        optimizer=recipe.training,
        width=config.width,
        attention=recipe.network.attention,
        build=lambda attention, expansion: LanguageNetwork(
            LanguageConfig.model_validate(_changed(config, with_delta(attention, lengths), expansion))
        ),
        data=partial(language_data, corpus),
        score=partial(_perplexity, corpus),
    )


def _property(name: str, prepared: Prepared, encoded: Encoded) -> AttentionExperiment:
    recipe, config = prepared.recipe, network_config(prepared, encoded)
    lengths = training_lengths(prepared, encoded, config.blocks)
    metric = protocol_of(name).metric
    return AttentionExperiment(
        name=name,
        seed=recipe.seed,
        metric=metric.title,
        greater_is_better=metric.greater_is_better,
        optimizer=recipe.training,
        width=config.width,
        attention=recipe.network.attention,
        build=lambda attention, expansion: PropertyNetwork(
            NetworkConfig.model_validate(_changed(config, with_delta(attention, lengths), expansion))
        ),
        data=partial(member_data, prepared, encoded, prepared.member_rows[0], seed=recipe.seed),
        score=partial(task_score, prepared, encoded, metric.name),
    )


def _changed(config: BackboneConfig, attention: AttentionConfig, expansion: float | None) -> dict[str, Any]:
    changes = {"attention": attention, **({} if expansion is None else {"expansion": expansion})}
    return config.model_copy(update=changes).model_dump()


def _perplexity(corpus: Corpus, network: LanguageNetwork, part: Part) -> float:
    vocabulary, rng = corpus.featurizer.tokenizer.vocabulary, np.random.default_rng(0)
    pairs = [
        pair
        for index in getattr(corpus.split, part)
        for pair in every_token(corpus.examples[index], vocabulary=vocabulary, mask_share=None, rng=rng)
    ]
    return pairs_perplexity(network, pairs, tokens=corpus.recipe.training.batch_tokens)


def pairs_perplexity(network: LanguageModel, pairs: Sequence[Pair], *, tokens: int) -> float:
    """Perplexity of the tokens that rows ask for; `tokens` as in `batches_by_tokens`."""
    losses = row_losses(network, pairs, tokens=tokens, rows=len(pairs))
    return math.exp(losses.sum() / sum(int((~np.isnan(target)).sum()) for _, target in pairs))


def task_score(
    prepared: Prepared, encoded: Encoded, name: str, network: PropertyNetwork, part: Part
) -> float:
    """A metric, by its name, of a network on a part of the rows; NaN where it is not defined."""
    chosen, targets = getattr(prepared.split, part), encoded.targets
    examples = [encoded.examples[index] for index in chosen]
    outputs = all_computed(predict_examples(PropertyEnsemble.of([network]), examples, kind=targets.kind))
    truth = np.stack([prepared.rows[index].target for index in chosen])
    prediction = targets.decode(np.stack(outputs))
    scores = score_task(score_kind(targets), truth[:, 0], prediction[:, 0], resamples=0)
    value = next(score.value for score in scores if score.metric == name)
    return math.nan if value is None else value

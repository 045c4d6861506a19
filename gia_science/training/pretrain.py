"""A whole pretraining: rows without targets in, a language model with its perplexity out."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.record import LoadedTable
from gia_science.data.splits.stored import split_record
from gia_science.errors import counted
from gia_science.evaluation.perplexity import Perplexity, perplexity, unigram_losses
from gia_science.model.config import LanguageConfig
from gia_science.model.language import LanguageNetwork
from gia_science.model.pretrained import SavedPretrained
from gia_science.training.card import pretrained_card
from gia_science.training.corpus import Corpus, prepare_corpus
from gia_science.training.datamodule import BatchedData, Examples, RespelledExamples
from gia_science.training.devices import ONE_DEVICE, Devices, enter, first_goes_on
from gia_science.training.fit import Fitted, fit_network
from gia_science.training.fitted_attention import with_delta
from gia_science.training.language import (
    CausalRows,
    MaskedRows,
    answers,
    collate_tokens,
    every_token,
    row_losses,
)
from gia_science.training.recipe import PretrainRecipe

logger = logging.getLogger("gia_science")


@dataclass(frozen=True)
class PerplexityReport:
    """How well the held-out tokens are predicted.

    Parameters
    ----------
    part : str
        ``"test"``, or ``"validation"`` where the split has no test rows.
    model, unigram : Perplexity
        On the same tokens; the unigram model knows how common each token is in the training rows.
    rows, tokens : int
        How many were scored.
    """

    part: str
    model: Perplexity
    unigram: Perplexity
    rows: int
    tokens: int

    def to_json(self) -> dict[str, Any]:
        """Plain types."""
        return {
            "perplexity": self.model.to_json(),
            "unigram": self.unigram.to_json(),
            "rows": self.rows,
            "tokens": self.tokens,
        }


@dataclass(frozen=True)
class Pretraining:
    """What a pretraining produced."""

    saved: SavedPretrained
    report: PerplexityReport


def pretrain(
    recipe: PretrainRecipe,
    *,
    table: LoadedTable | None = None,
    devices: Devices = ONE_DEVICE,
    progress: bool | None = None,
) -> Pretraining:
    """Carry out a recipe: read, split, train a language model, score it on rows held out.

    Parameters
    ----------
    recipe : PretrainRecipe
    table : LoadedTable, optional
        Rows in memory, instead of the recipe's file or dataset.
    devices, progress
        As in `run`.

    Raises
    ------
    GiaError
        See `prepare_corpus` and `fit_network`.
    """
    enter(devices)
    corpus = prepare_corpus(recipe, table=table)
    recipe = corpus.recipe
    validated = len(corpus.split.validation) > 0
    fitted = fit_network(
        partial(LanguageNetwork, language_config(corpus)),
        data=language_data(corpus),
        optimizer=recipe.training,
        validate=validated,
        seed=recipe.seed,
        devices=devices,
        progress=progress,
    )
    first_goes_on(devices)
    epochs = counted(len(fitted.history), "epoch")
    kept = f"weights of epoch {fitted.best_epoch + 1}" if validated else "last averaged weights"
    logger.info("%s, the %s kept", epochs, kept)
    report = score(fitted.network, corpus)
    saved = SavedPretrained(
        network=fitted.network,
        featurizer=corpus.featurizer,
        data=recipe.data,
        recipe=recipe.to_yaml(),
        split=split_record(corpus.rows, corpus.split, data_sha256=recipe.data.sha256),
        metrics={report.part: report.to_json(), "parameters": fitted.parameters, **fitted.to_json()},
        card=_card(corpus, fitted, report),
    )
    return Pretraining(saved, report)


def language_config(corpus: Corpus) -> LanguageConfig:
    """Architecture of the language model of a corpus."""
    network = corpus.recipe.network
    lengths = [len(corpus.examples[index]) for index in corpus.split.train]
    return LanguageConfig(
        vocabulary=len(corpus.featurizer.tokenizer.vocabulary),
        values=any(example.stream.values.any() for example in corpus.examples),
        features=0,
        context_buckets=(),
        objective=corpus.recipe.objective,
        attention=with_delta(network.attention, lengths),
        **network.model_dump(exclude={"attention", "max_length"}),
    )


def language_data(corpus: Corpus) -> BatchedData:
    """Training and validation rows of a corpus."""
    recipe, split = corpus.recipe, corpus.split
    train = _whole(corpus, split.train)
    if recipe.training.respell:
        train = RespelledExamples(
            train.examples,
            targets=train.targets,
            readings=[corpus.rows[index].reading for index in split.train],
            featurizer=corpus.featurizer,
            chance=recipe.training.respell,
            seed=recipe.seed,
        )
    return BatchedData(
        train=_shown(corpus, train, fresh=True),
        validation=_shown(corpus, _whole(corpus, split.validation), fresh=False),
        optimizer=recipe.training,
        collate=collate_tokens,
        seed=recipe.seed,
    )


def _whole(corpus: Corpus, chosen: npt.NDArray[np.int64]) -> Examples:
    return Examples([corpus.examples[index] for index in chosen], targets=[np.zeros(0)] * len(chosen))


def _shown(corpus: Corpus, rows: Examples, *, fresh: bool) -> Examples:
    vocabulary, share = corpus.featurizer.tokenizer.vocabulary, corpus.mask_share
    if share is None:
        return CausalRows(rows, vocabulary=vocabulary)
    return MaskedRows(rows, vocabulary=vocabulary, share=share, seed=corpus.recipe.seed, fresh=fresh)


def score(network: LanguageNetwork, corpus: Corpus) -> PerplexityReport:
    """Perplexity on the test rows, or on the validation rows where there are none; each token is predicted once."""
    split, recipe = corpus.split, corpus.recipe
    part, chosen = ("test", split.test) if len(split.test) else ("validation", split.validation)
    vocabulary, share = corpus.featurizer.tokenizer.vocabulary, corpus.mask_share
    rng = np.random.default_rng(recipe.seed)
    shown = [
        every_token(corpus.examples[index], vocabulary=vocabulary, mask_share=share, rng=rng)
        for index in chosen
    ]
    sizes = {"tokens": recipe.training.batch_tokens, "rows": recipe.training.batch_rows}
    each = row_losses(network, [pair for row in shown for pair in row], **sizes)
    ends = np.cumsum([len(row) for row in shown])
    losses = np.array([row.sum() for row in np.split(each, ends[:-1])])
    asked = [answers(example.stream, vocabulary=vocabulary, mask_share=share) for example in corpus.examples]
    common = unigram_losses([asked[index] for index in split.train], vocabulary=len(vocabulary))
    counts = np.array([float(len(asked[index])) for index in chosen])
    beside = np.array([common[asked[index]].sum() for index in chosen])
    return PerplexityReport(
        part=part,
        model=perplexity(losses, counts, seed=recipe.seed),
        unigram=perplexity(beside, counts, seed=recipe.seed),
        rows=len(chosen),
        tokens=int(counts.sum()),
    )


def _card(corpus: Corpus, fitted: Fitted[LanguageNetwork], report: PerplexityReport) -> str:
    return pretrained_card(
        corpus.recipe,
        options=corpus.featurizer.tokenizer.options,
        rows=f"{len(corpus.rows)} used, {len(corpus.left_out)} left out; "
        f"{corpus.duplicates.rows} repeat an input",
        split=corpus.split,
        parameters=fitted.parameters,
        scores=[
            ("model", str(report.model)),
            ("unigram", str(report.unigram)),
        ],
        scored=f"{report.tokens} tokens of {report.rows} {report.part} rows",
    )

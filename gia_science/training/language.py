"""Rows for language modelling: what the network is shown of a row, and which tokens it has to predict.

Only tokens, their numbers and their places are shown. Features and contexts would give the answer away: those of a
token say which token it is, and those of its neighbours (k-mers, Morgan environments, partial charges, known edges)
are made from it. They join in when a property predictor is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gia_science.data.batching import Batch, batches_by_tokens, collate
from gia_science.model.language import LanguageModel
from gia_science.tokens.featurizer import Example
from gia_science.tokens.stream import IntArray, TokenStream
from gia_science.tokens.vocabulary import Vocabulary
from gia_science.training.datamodule import Examples, Pair

FloatArray = npt.NDArray[np.float64]


def bare(stream: TokenStream) -> TokenStream:
    """The stream with its tokens, numbers and places alone."""
    n = len(stream)
    return replace(
        stream,
        features=np.zeros((n, 0), dtype=np.float32),
        contexts=np.zeros((n, 0), dtype=np.int64),
        edges=np.zeros((0, 2), dtype=np.int64),
        edge_kinds=np.zeros(0, dtype=np.int64),
        units=np.full(n, -1, dtype=np.int64),
    )


def predictable(ids: IntArray, vocabulary: Vocabulary) -> IntArray:
    """Places of the tokens that masking may hide: all but the special ones and the unknown."""
    return np.flatnonzero(~np.isin(ids, [*vocabulary.special_ids, vocabulary.unk_id]))


def hidden_sets(places: IntArray, *, share: float, rng: np.random.Generator) -> list[IntArray]:
    """Cut places at random into sets of about a share of them, each place in one set; no sets of no places."""
    if not len(places):
        return []
    size = max(1, round(share * len(places)))
    return np.array_split(rng.permutation(places), -(-len(places) // size))


def hide(stream: TokenStream, places: IntArray, *, vocabulary: Vocabulary) -> tuple[TokenStream, FloatArray]:
    """The bare stream with ``<mask>`` at some places, and what stood there.

    Hidden tokens are always masked, never replaced or kept: that does not help (Wettig et al. 2023, arXiv
    2202.08005), and no input then depends on a hidden token.

    Returns
    -------
    stream : TokenStream
    targets : (N,) float64
        Ids of the hidden tokens; NaN elsewhere.
    """
    ids, targets = stream.ids.copy(), np.full(len(stream), np.nan)
    targets[places] = ids[places]
    ids[places] = vocabulary.mask_id
    return replace(bare(stream), ids=ids), targets


def foretell(stream: TokenStream, *, vocabulary: Vocabulary) -> tuple[TokenStream, FloatArray]:
    """The bare stream, and at each token the id of the next, ``<eos>`` included.

    Returns
    -------
    stream : TokenStream
    targets : (N,) float64
        NaN at the last token and before ``<unk>``.
    """
    targets = np.full(len(stream), np.nan)
    targets[:-1] = stream.ids[1:]
    targets[targets == vocabulary.unk_id] = np.nan
    return bare(stream), targets


class MaskedRows(Examples):
    """Rows with some tokens hidden.

    Parameters
    ----------
    rows : Examples
        Whole rows.
    vocabulary : Vocabulary
    share : float
        Share of the tokens of a row that are hidden.
    seed : int
    fresh : bool
        Hide other tokens each time that a row is drawn, as training does; otherwise always the same.
    """

    def __init__(
        self, rows: Examples, *, vocabulary: Vocabulary, share: float, seed: int, fresh: bool
    ) -> None:
        super().__init__(rows.examples, targets=rows.targets)
        self.rows = rows
        self.vocabulary = vocabulary
        self.share = share
        self.seed = seed
        self.rng = np.random.default_rng(seed) if fresh else None

    def __getitem__(self, index: int) -> Pair:
        example = self.rows[index][0]
        rng = self.rng if self.rng is not None else np.random.default_rng((self.seed, index))
        sets = hidden_sets(predictable(example.stream.ids, self.vocabulary), share=self.share, rng=rng)
        places = sets[0] if sets else np.zeros(0, dtype=np.int64)
        stream, targets = hide(example.stream, places, vocabulary=self.vocabulary)
        return replace(example, stream=stream), targets


class CausalRows(Examples):
    """Rows whose every next token is to be predicted."""

    def __init__(self, rows: Examples, *, vocabulary: Vocabulary) -> None:
        super().__init__(rows.examples, targets=rows.targets)
        self.rows = rows
        self.vocabulary = vocabulary

    def __getitem__(self, index: int) -> Pair:
        example = self.rows[index][0]
        stream, targets = foretell(example.stream, vocabulary=self.vocabulary)
        return replace(example, stream=stream), targets


def every_token(
    example: Example, *, vocabulary: Vocabulary, mask_share: float | None, rng: np.random.Generator
) -> list[Pair]:
    """A held-out row as often as it takes to predict each of its tokens once.

    Parameters
    ----------
    example : Example
    vocabulary : Vocabulary
    mask_share : float or None
        Share of the tokens that are hidden at a time; None for the next token of each.
    rng : numpy.random.Generator
        Draws which tokens are hidden together.
    """
    if mask_share is None:
        stream, targets = foretell(example.stream, vocabulary=vocabulary)
        return [(replace(example, stream=stream), targets)]
    sets = hidden_sets(predictable(example.stream.ids, vocabulary), share=mask_share, rng=rng)
    shown = [hide(example.stream, places, vocabulary=vocabulary) for places in sets]
    return [(replace(example, stream=stream), targets) for stream, targets in shown]


def answers(stream: TokenStream, *, vocabulary: Vocabulary, mask_share: float | None) -> IntArray:
    """Ids of the tokens that `every_token` asks for, in the order of the stream."""
    if mask_share is not None:
        return stream.ids[predictable(stream.ids, vocabulary)]
    targets = foretell(stream, vocabulary=vocabulary)[1]
    return np.asarray(targets[~np.isnan(targets)], dtype=np.int64)


def collate_tokens(pairs: Sequence[Pair]) -> tuple[Batch, Tensor]:
    """Batch and targets ``(B, N)``, NaN at padding."""
    batch = collate([example for example, _ in pairs])
    targets = np.full(batch.ids.shape, np.nan, dtype=np.float32)
    for row, (_, target) in enumerate(pairs):
        targets[row, : len(target)] = target
    return batch, torch.from_numpy(targets)


@torch.inference_mode()
def row_losses(network: LanguageModel, pairs: Sequence[Pair], *, tokens: int, rows: int) -> FloatArray:
    """Sum of the losses of the predicted tokens, in nats, of each pair ``(n,)``; batches as in `batches_by_tokens`."""
    losses = np.zeros(len(pairs))
    for index in batches_by_tokens([len(example) for example, _ in pairs], tokens=tokens, rows=rows):
        batch, targets = collate_tokens([pairs[place] for place in index])
        losses[index] = network.token_losses(batch, targets).double().sum(dim=1).numpy()
    return losses

"""Vectors of a saved network: a property predictor's, or a language model's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from gia_science.data.batching import Batch
from gia_science.data.record import LoadedTable
from gia_science.data.rows import Columns
from gia_science.errors import RecipeError, UnreadableInputError
from gia_science.estimators.stored import Saved
from gia_science.model.backbone import Pool
from gia_science.model.folder import SavedModel
from gia_science.model.language import LanguageNetwork
from gia_science.prediction.embedding import EmbeddingChoice
from gia_science.prediction.forward import FloatArray, forward
from gia_science.prediction.model import Model
from gia_science.prediction.outcomes import Outcome, outcomes
from gia_science.tokens.featurizer import Example
from gia_science.tokens.long import Long, check_long
from gia_science.training.language import bare


@dataclass(frozen=True)
class Encoder:
    """Which vectors of a saved network are taken.

    Parameters
    ----------
    saved : SavedModel or SavedPretrained
    choice : EmbeddingChoice
        Of a language model, pooling ``"model"`` is the mean over all tokens.
    """

    saved: Saved
    choice: EmbeddingChoice

    @property
    def width(self) -> int:
        """Number of dimensions d of a vector."""
        if isinstance(self.saved, SavedModel):
            return self.saved.network.width
        return self.saved.network.config.width

    def check(self) -> None:
        """Raise `RecipeError` when the network has no such vectors."""
        if isinstance(self.saved, SavedModel):
            self.choice.check(self.saved.network.config)
            return
        layers = self.saved.network.config.layers
        if self.choice.pooling not in ("model", "mean", "first"):
            raise RecipeError(
                "a pretrained network has no such pooling", got=repr(self.choice.pooling), expected="mean or first"
            )
        if not -1 <= self.choice.layer <= layers:
            raise RecipeError("no such layer in the model", got=str(self.choice.layer), expected=f"-1 to {layers}")

    def outcomes(self, table: LoadedTable, *, long: Long) -> Iterable[Outcome]:
        """Vector ``(d,)`` of each record of a table, or the reason why it has none."""
        saved = self.saved
        if isinstance(saved, SavedModel):
            return Model(saved).embedding_outcomes(table, long=long, choice=self.choice)
        check_long(long, domain=saved.featurizer.tokenizer.domain)
        network = saved.network
        return outcomes(
            table.records,
            columns=Columns.find(table, input=str(saved.data.input)),
            featurizer=saved.featurizer,
            compute=lambda examples: language_vectors(network, examples, choice=self.choice),
            long=long,
            units=False,
        )


def language_vectors(
    network: LanguageNetwork, examples: Sequence[Example], *, choice: EmbeddingChoice
) -> list[FloatArray | UnreadableInputError]:
    """Pooled hidden states ``(d,)`` of examples as a language model sees them: tokens, numbers and places."""
    layer = network.config.layers if choice.layer == -1 else choice.layer
    pool = Pool(network.config.width, kind="first" if choice.pooling == "first" else "mean")

    def run(batch: Batch) -> Tensor:
        pooled: Tensor = pool(*network.backbone(batch, layer=layer))
        return pooled

    return forward([replace(example, stream=bare(example.stream)) for example in examples], run=run)

"""Vectors of a saved network: a property predictor's, or a language model's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from torch import Tensor

from gia_science.data.batching import Batch
from gia_science.data.record import LoadedTable
from gia_science.data.rows import Columns
from gia_science.errors import RecipeError
from gia_science.estimators.precise import Compute, precise
from gia_science.estimators.stored import Saved
from gia_science.model.backbone import Pool
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.model.folder import SavedModel
from gia_science.model.language import LanguageNetwork
from gia_science.prediction.embedding import EmbeddingChoice
from gia_science.prediction.outcomes import Outcome, outcomes
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
            got = repr(self.choice.pooling)
            raise RecipeError("a pretrained network has no such pooling", got=got, expected="mean or first")
        if not -1 <= self.choice.layer <= layers:
            raise RecipeError(
                "no such layer in the model", got=str(self.choice.layer), expected=f"-1 to {layers}"
            )

    def outcomes(self, table: LoadedTable, *, long: Long) -> Iterable[Outcome]:
        """Vector ``(d,)`` of each record of a table, or the reason why it has none."""
        featurizer = self.saved.featurizer
        check_long(long, domain=featurizer.tokenizer.domain)
        return outcomes(
            table.records,
            columns=Columns.find(table, input=str(self.saved.data.input), numbers=featurizer.source.columns),
            featurizer=featurizer,
            compute=self._compute(),
            long=long,
            units=False,
        )

    def _compute(self) -> Compute:
        saved, choice = self.saved, self.choice
        layer = saved.network.config.layers if choice.layer == -1 else choice.layer
        if isinstance(saved, SavedModel):
            pooling = None if choice.pooling == "model" else choice.pooling

            def embed(network: PropertyEnsemble, batch: Batch) -> Tensor:
                return network.embed(batch, layer=layer, pooling=pooling)

            return precise(saved.network, embed)
        pool = Pool(saved.network.config.width, kind="first" if choice.pooling == "first" else "mean")

        def encode(network: LanguageNetwork, batch: Batch) -> Tensor:
            pooled: Tensor = pool(*network.backbone(batch, layer=layer))
            return pooled

        compute = precise(saved.network, encode)
        # A language model knows tokens, numbers and places alone.
        return lambda examples: compute([replace(item, stream=bare(item.stream)) for item in examples])

"""Which embedding: of which layer, pooled how, or one for each residue, atom or element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from gia_science.catalog import suggestion
from gia_science.errors import RecipeError, UnreadableInputError
from gia_science.model.config import NetworkConfig
from gia_science.model.ensemble import PropertyEnsemble
from gia_science.prediction.forward import FloatArray, forward, units_only
from gia_science.tokens.featurizer import Example

Pooling = Literal["model", "mean", "first", "attention"]
"""``model`` is what the model was trained with, the others as in `NetworkConfig`."""
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """What is taken for an embedding.

    Parameters
    ----------
    pooling : {"model", "mean", "first", "attention"}
        Mean over all tokens, those of descriptors among them (of a pretrained model from elsewhere, without its special
        tokens); the first token, ``<cls>``; or the mean by the weights
        that a model with attention pooling has learnt. ``"model"`` is the one that the model was trained with.
    layer : int
        0 for the embedded tokens, 1 to L for the states after a layer; -1 for the last. The last has gone through the
        final norm; others are as the next layer takes them.
    tokens : bool
        One vector for each residue, atom or element instead of a pooled one; special tokens, bonds and brackets of a
        SMILES, and descriptors have none.
    """

    pooling: Pooling = "model"
    layer: int = -1
    tokens: bool = False

    def check(self, config: NetworkConfig) -> None:
        """Raise `RecipeError` when a model does not have this embedding."""
        if self.pooling not in POOLINGS:
            raise RecipeError(
                "the pooling is not known",
                got=repr(self.pooling),
                expected=f"{', '.join(POOLINGS[:-1])} or {POOLINGS[-1]}",
                hint=suggestion(self.pooling, POOLINGS),
            )
        if not -1 <= self.layer <= config.layers:
            raise RecipeError(
                "no such layer in the model",
                got=str(self.layer),
                expected=f"0 (embedded tokens) to {config.layers}, or -1 for the last",
            )
        if self.tokens:
            if self.pooling != "model":
                raise RecipeError("vectors of single tokens are not pooled", got=f"pooling {self.pooling}")
            if config.base is not None and not config.base.token_per_unit:
                raise RecipeError(
                    "the tokens of the pretrained model are pieces of text, not single residues or atoms",
                    hint="leave out the vectors of single ones",
                )
            return
        kind = config.pooling if self.pooling == "model" else self.pooling
        if kind == "attention" and config.pooling != "attention":
            raise RecipeError(
                "the model has not learnt attention pooling",
                got=f"a model trained with {config.pooling} pooling",
                hint="mean and first need no learning",
            )
        if kind == "attention" and self.layer not in (-1, config.layers):
            raise RecipeError(
                "the weights of attention pooling are learnt for the last layer",
                got=f"layer {self.layer} of {config.layers}",
                hint="mean and first pool any layer",
            )


MODELS_OWN = EmbeddingChoice()


def embed_examples(
    network: PropertyEnsemble, examples: Sequence[Example], *, choice: EmbeddingChoice = MODELS_OWN
) -> list[FloatArray | UnreadableInputError]:
    """Embedding of each example: ``(members * d,)`` float32, or ``(L, members * d)`` in the order of the stream.

    The vectors of an ensemble's members stand one after another, of every layer and every token alike.
    """
    choice.check(network.config)
    layer = network.config.layers if choice.layer == -1 else choice.layer
    if choice.tokens:
        outputs = forward(examples, run=lambda batch: network.embed_tokens(batch, layer=layer))
        return units_only(outputs, examples)
    pooling = None if choice.pooling == "model" else choice.pooling
    return forward(examples, run=lambda batch: network.embed(batch, layer=layer, pooling=pooling))

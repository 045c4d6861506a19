"""Compositions: one token per element, with its fraction as value and its properties as features."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from gia_science.catalog import find
from gia_science.tokens.elements import INDEX, element_table
from gia_science.tokens.formula import Hydrates, Isotopes, read_formula
from gia_science.tokens.stream import IntArray, Reading, TokenStream
from gia_science.tokens.vocabulary import Vocabulary


class CompositionOptions(BaseModel):
    """How formulas are read. The choice is stored with a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hydrates: Hydrates = Field(
        default="read",
        description="read: CuSO4.5H2O (a dot, middle dot or asterisk before the water at the end) is CuSO4(H2O)5, with "
        "a note. refuse: it is an error, because a plain dot might be a decimal point.",
    )
    isotopes: Isotopes = Field(
        default="fold",
        description="fold: D and T are read as hydrogen, with a note. refuse: they are errors.",
    )


_DEFAULTS = CompositionOptions()


class CompositionTokenizer:
    """Reads formulas and turns them into one token per element.

    A composition is a set: the tokens stand in order of atomic number, all at position 0, and the fraction of
    an element is the value of its token. There are no contexts and no known edges.
    Satisfies `DomainTokenizer[dict[str, float]]`.

    Parameters
    ----------
    options : CompositionOptions
        How formulas are read.
    vocabulary : Vocabulary, optional
        Tokens and ids; by default the definition ``composition`` that ships with the package.
    """

    def __init__(
        self, options: CompositionOptions = _DEFAULTS, *, vocabulary: Vocabulary | None = None
    ) -> None:
        self._options = options
        self._vocabulary = vocabulary or Vocabulary.load(find("tokenizers", "composition"))
        self._table = element_table()

    @property
    def domain(self) -> str:
        """``"composition"``."""
        return "composition"

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their ids."""
        return self._vocabulary

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the F features of an element."""
        return self._table.feature_names

    @property
    def context_buckets(self) -> tuple[int, ...]:
        """Empty: K is 0."""
        return ()

    @property
    def edge_kind_names(self) -> tuple[str, ...]:
        """Empty: a composition says nothing about bonds."""
        return ()

    @property
    def options(self) -> Mapping[str, object]:
        """The options in force as plain JSON types."""
        return self._options.model_dump(mode="json")

    def read(self, text: str) -> Reading[dict[str, float]]:
        """Read one formula.

        Returns
        -------
        Reading
            `parsed` maps element symbols to fractions that sum to 1, in order of atomic number. Formulas that
            differ only in order, scale or brackets have one identity and one `parsed`.

        Raises
        ------
        UnreadableInputError
            When the text is not a formula with fixed amounts.
        """
        formula = read_formula(text, hydrates=self._options.hydrates, isotopes=self._options.isotopes)
        return Reading(
            identity=formula.identity,
            parsed=dict(formula.fractions),
            length=len(formula.fractions),
            notes=formula.notes,
        )

    def encode(self, reading: Reading[dict[str, float]]) -> TokenStream:
        """Tokens of a composition: ``<cls>``, then its elements in order of atomic number."""
        symbols = list(reading.parsed)
        n = len(symbols) + 1
        ids, unknown = self._vocabulary.ids, self._vocabulary.unk_id
        features = np.zeros((n, len(self.feature_names)), dtype=np.float32)
        features[1:] = self._table.features[[INDEX[symbol] for symbol in symbols]]
        return TokenStream(
            ids=np.array([self._vocabulary.cls_id, *(ids.get(s, unknown) for s in symbols)], dtype=np.int64),
            values=np.array([0.0, *reading.parsed.values()], dtype=np.float32),
            positions=np.zeros(n, dtype=np.int64),
            features=features,
            contexts=np.zeros((n, 0), dtype=np.int64),
            edges=np.zeros((0, 2), dtype=np.int64),
            edge_kinds=np.zeros(0, dtype=np.int64),
            units=np.arange(-1, n - 1, dtype=np.int64),
        )

    def respell(self, reading: Reading[dict[str, float]], rng: np.random.Generator) -> TokenStream:
        """The same as `encode`, and nothing drawn from `rng`: a set has one spelling."""
        del rng
        return self.encode(reading)

    def places(self, reading: Reading[dict[str, float]], text: str) -> IntArray:
        """Place (L,) of each element in order of atomic number: a set has no other order."""
        del text
        return np.arange(reading.length, dtype=np.int64)

    def names(self, reading: Reading[dict[str, float]], text: str) -> tuple[str, ...]:
        """Symbols of the elements."""
        del text
        return tuple(reading.parsed)

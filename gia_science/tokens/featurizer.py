"""From the text of one row, and its numbers, to what the network sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from gia_science.errors import DefinitionError
from gia_science.settings import Strict, validate
from gia_science.tokens.descriptors import DescriptorProvider, DescriptorScaling, provider
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.long import Long, cut, part, read_within, windows
from gia_science.tokens.protein import ProteinSequence
from gia_science.tokens.stream import FloatArray, Reading, TokenStream
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.tokens.vocabulary import Vocabulary

COLUMNS_BLOCK = "columns"
"""Name of the descriptor block that holds the user's own numeric columns."""


@dataclass(frozen=True, slots=True)
class Example:
    """What the network sees of one row.

    Parameters
    ----------
    stream : TokenStream
        Tokens of the sequence, molecule or composition.
    descriptors : (D,) float32
        Standardised descriptors of all blocks, one after another; NaN where a number is missing.
    weight : float, default 1
        How much the row counts in the loss of training; the network does not see it.
    """

    stream: TokenStream
    descriptors: FloatArray
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.stream)


class _StoredBlock(Strict):
    name: str
    scaling: dict[str, Any]


class _Stored(Strict):
    """What `Featurizer.to_json` gives."""

    domain: str
    options: dict[str, Any]
    max_length: int = Field(ge=1)
    columns: tuple[str, ...]
    blocks: tuple[_StoredBlock, ...]


@dataclass(frozen=True)
class DescriptorBlock:
    """The descriptors of one provider, or the user's columns, with the scaling learnt in training."""

    name: str
    scaling: DescriptorScaling

    @property
    def size(self) -> int:
        """Number of descriptors that are kept."""
        return len(self.scaling.names)


class DescriptorSource:
    """Computes the raw, unscaled descriptors of rows.

    Parameters
    ----------
    providers : sequence of str
        Names of descriptor providers, such as ``"rdkit2d"``.
    columns : sequence of str
        Names of the user's numeric columns.
    """

    def __init__(self, *, providers: Sequence[str], columns: Sequence[str]) -> None:
        self.providers: tuple[DescriptorProvider[Any], ...] = tuple(provider(name) for name in providers)
        self.columns = tuple(columns)

    @property
    def blocks(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Name and descriptor names of each block, in order; blocks without descriptors are left out."""
        named = [(item.name, item.names) for item in self.providers]
        return tuple(named + ([(COLUMNS_BLOCK, self.columns)] if self.columns else []))

    def compute(self, reading: Reading[Any], numbers: Sequence[float]) -> tuple[npt.NDArray[np.float64], ...]:
        """Raw descriptors of one row, one ``(D_block,)`` array per block; NaN where undefined."""
        assert len(numbers) == len(self.columns)
        computed = [item.compute(reading) for item in self.providers]
        return tuple(computed + ([np.asarray(numbers, dtype=np.float64)] if self.columns else []))


class Featurizer:
    """Tokenizer and scaled descriptors of one model: the same at training and at prediction.

    Parameters
    ----------
    tokenizer : DomainTokenizer
        Reads and tokenizes the text of a row.
    source : DescriptorSource
        Computes raw descriptors.
    scalings : sequence of DescriptorScaling
        One per block of `source`.
    max_length : int
        Longest input accepted, in residues, atoms or elements.

    Raises
    ------
    DefinitionError
        When descriptors are of another domain than the tokenizer, or other ones than the scalings were learnt from.
    """

    def __init__(
        self,
        tokenizer: DomainTokenizer[Any],
        *,
        source: DescriptorSource,
        scalings: Sequence[DescriptorScaling],
        max_length: int,
    ) -> None:
        assert len(scalings) == len(source.blocks)
        for item in source.providers:
            if item.domain != tokenizer.domain:
                raise DefinitionError(
                    f"the descriptors {item.name} are of another domain",
                    got=item.domain,
                    expected=tokenizer.domain,
                )
        self.tokenizer = tokenizer
        self.source = source
        self.max_length = max_length
        for (_, names), scaling in zip(source.blocks, scalings, strict=True):
            scaling.require(names)
        self.blocks = tuple(
            DescriptorBlock(name, scaling) for (name, _), scaling in zip(source.blocks, scalings, strict=True)
        )

    @classmethod
    def fit(
        cls,
        tokenizer: DomainTokenizer[Any],
        *,
        source: DescriptorSource,
        raw: Sequence[Sequence[npt.NDArray[np.float64]]],
        max_length: int,
    ) -> Featurizer:
        """Learn the scaling of descriptors from the raw descriptors of the training rows."""
        scalings = [
            DescriptorScaling.fit(np.stack([row[index] for row in raw]), names)
            for index, (_, names) in enumerate(source.blocks)
        ]
        return cls(tokenizer, source=source, scalings=scalings, max_length=max_length)

    def read(self, text: str, *, long: Long = "error") -> Reading[Any]:
        """Read one text, as `read_within` with the longest input of this model."""
        return read_within(self.tokenizer, text, max_length=self.max_length, long=long)

    def parts(self, reading: Reading[Any]) -> tuple[Reading[Any], ...]:
        """The windows of a reading, by `windows`; the reading itself where it is no protein or is short enough."""
        if reading.length <= self.max_length or not isinstance(reading.parsed, ProteinSequence):
            return (reading,)
        spans = windows(reading.length, max_length=self.max_length)
        return tuple(part(reading, span.start, span.stop) for span in spans)

    def example(
        self,
        reading: Reading[Any],
        *,
        numbers: Sequence[float] = (),
        raw: Sequence[npt.NDArray[np.float64]] | None = None,
        respell: np.random.Generator | None = None,
    ) -> Example:
        """Tokens and scaled descriptors of one row.

        Parameters
        ----------
        reading : Reading
            From `read`.
        numbers : sequence of float
            The user's numeric columns, NaN where missing.
        raw : sequence of (D_block,) float64, optional
            Raw descriptors when they are already computed.
        respell : numpy.random.Generator, optional
            Draw another spelling of the same thing.
        """
        raw = self.source.compute(reading, numbers) if raw is None else raw
        return Example(stream=self.tokens(reading, respell=respell), descriptors=self.scale(raw))

    def tokens(self, reading: Reading[Any], *, respell: np.random.Generator | None = None) -> TokenStream:
        """Tokens of a reading, up to the longest input; those of another spelling when `respell` is given."""
        tokenizer = self.tokenizer
        stream = tokenizer.encode(reading) if respell is None else tokenizer.respell(reading, respell)
        return cut(stream, units=self.max_length)

    def scale(self, raw: Sequence[npt.NDArray[np.float64]]) -> FloatArray:
        """Scaled descriptors ``(D,)`` of one row from its raw ones."""
        parts = [block.scaling.transform(row[None])[0] for block, row in zip(self.blocks, raw, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)

    def to_json(self) -> dict[str, Any]:
        """Plain description; the vocabulary is kept in its own file."""
        return {
            "domain": self.tokenizer.domain,
            "options": dict(self.tokenizer.options),
            "max_length": self.max_length,
            "columns": list(self.source.columns),
            "blocks": [{"name": block.name, "scaling": block.scaling.to_json()} for block in self.blocks],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, vocabulary: Vocabulary) -> Featurizer:
        """Inverse of `to_json`; anything that `to_json` does not write raises `DefinitionError`."""
        stored = validate(_Stored, data, error=DefinitionError, what="the featurizer")
        names = [block.name for block in stored.blocks]
        source = DescriptorSource(
            providers=[name for name in names if name != COLUMNS_BLOCK], columns=stored.columns
        )
        wanted = [name for name, _ in source.blocks]
        if names != wanted:
            raise DefinitionError(
                "descriptor blocks do not fit the columns", got=", ".join(names), expected=", ".join(wanted)
            )
        return cls(
            make_tokenizer(stored.domain, options=stored.options, vocabulary=vocabulary),
            source=source,
            scalings=[DescriptorScaling.from_json(block.scaling) for block in stored.blocks],
            max_length=stored.max_length,
        )

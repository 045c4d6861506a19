"""Proteins: one token per residue, with the residue's physical chemistry and the k-mers it stands in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gia_science import catalog
from gia_science.errors import UnreadableInputError
from gia_science.tokens.alignment import OPEN, departures, open_places
from gia_science.tokens.residues import (
    AMBIGUOUS,
    CLASSES,
    FEATURE_NAMES,
    LETTERS,
    MAPPED,
    STANDARD,
    feature_table,
)
from gia_science.tokens.stream import IntArray, Reading, TokenStream
from gia_science.tokens.vocabulary import Vocabulary

_NUCLEOTIDES: Final = frozenset("ACGTUN")
LIKE_DNA: Final = "looks like DNA or RNA, not protein"
_SHORTEST_NUCLEOTIDE_SUSPECT: Final = 20
_POSITIONS_NAMED: Final = 10

# One symbol more than there are letters or classes: beyond the end of the chain.
_LETTER_BASE: Final = len(LETTERS) + 1
_CLASS_BASE: Final = len(CLASSES) + 1
_HASHED_BUCKETS: Final = 4096
MOST_SITES: Final = 2048
"""Most places that can be told apart."""


class ProteinOptions(BaseModel):
    """How sequences are read. The choice is stored with a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unknown: Literal["map", "error"] = Field(
        default="map",
        description="Letters beyond the 20 standard residues. map: U is read as C and O as K; B, Z, J and X "
        "have tokens of their own with the mean properties of the residues they may stand for. "
        "error: refuse them.",
    )
    gaps: Literal["refuse", "drop"] = Field(
        default="refuse", description="Alignment gaps '-' and '.': refuse the sequence or leave them out."
    )
    strip_leading_met: bool = Field(
        default=False, description="Leave out a first M when more residues follow."
    )
    sites: int = Field(
        default=0,
        ge=0,
        le=MOST_SITES,
        description="Number of places that are told apart, for aligned sequences such as variants of one protein: "
        "each residue then has its place as a context too. 0: only the order of residues counts.",
    )
    template: str = Field(
        default="",
        max_length=MOST_SITES,
        description="Of aligned sequences that differ at few places: the residue where all agree, ? where they differ. "
        "Only the residues at ? become tokens, told apart by their places; sequences of another length are refused. "
        "Empty: every residue becomes a token.",
    )
    reference: str = Field(
        default="",
        max_length=MOST_SITES,
        description="Of variants of one protein: the sequence that they are variants of. Only the residues that differ "
        "from it become tokens, told apart by their places. A shorter sequence is one that ends early, a longer one is "
        "refused. Empty: every residue becomes a token.",
    )

    @model_validator(mode="after")
    def _places_said_once(self) -> Self:
        if sum(map(bool, (self.sites, self.template, self.reference))) > 1:
            raise ValueError(
                "sites, template and reference each say which places there are: give one of them"
            )
        if self.template and (OPEN not in self.template or not {*LETTERS, OPEN}.issuperset(self.template)):
            raise ValueError(f"template: expected residues, and {OPEN} at one place or more")
        if not {*LETTERS}.issuperset(self.reference):
            raise ValueError("reference: expected residues")
        return self

    @property
    def places(self) -> int:
        """Number of places that are told apart."""
        return self.sites or self.template.count(OPEN) or len(self.reference)


@dataclass(frozen=True, slots=True)
class ProteinSequence:
    """A cleaned sequence.

    Parameters
    ----------
    residues : str
        The L residues: the 20 standard letters and B, Z, J, X.
    units : (U,) int64
        Index of each residue that becomes a token in the text as given, surrounding blanks stripped. Without a template
        or a reference these are all, U = L.
    """

    residues: str
    units: IntArray = field(compare=False)


class ProteinTokenizer:
    """Tokenizer of the protein domain: ``<cls>``, one token per residue, ``<eos>``.

    The contexts of a residue are the pair it opens, the triple around it, and the five residues around it in
    a reduced alphabet; what lies beyond an end of the chain counts as a symbol of its own. With the options `sites`,
    `template` and `reference` a fourth is the residue at its place; with `reference` a fifth is the place, which speaks
    for residues that were never seen at it, and of ``<eos>`` says where a chain ends early.

    Parameters
    ----------
    options : ProteinOptions, optional
        How letters other than the 20 standard ones are read.
    vocabulary : Vocabulary, optional
        Tokens and ids; those of ``tokenizers/protein.json`` by default.
    """

    domain: Final = "protein"
    feature_names: Final[tuple[str, ...]] = FEATURE_NAMES
    edge_kind_names: Final[tuple[str, ...]] = ("peptide bond",)

    def __init__(
        self, options: ProteinOptions | None = None, *, vocabulary: Vocabulary | None = None
    ) -> None:
        self._options = options or ProteinOptions()
        self._vocabulary = vocabulary or Vocabulary.load(catalog.find("tokenizers", "protein"))
        self._open = open_places(self._options.template)

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their ids."""
        return self._vocabulary

    @property
    def options(self) -> Mapping[str, object]:
        """The options in force as plain JSON types."""
        return self._options.model_dump()

    @property
    def context_buckets(self) -> tuple[int, ...]:
        """Sizes of the context tables."""
        places = self._options.places
        sites = (places * len(LETTERS) + 1,) if places else ()
        alone = (places + 1,) if self._options.reference else ()
        return (_LETTER_BASE**2 + 1, _HASHED_BUCKETS, _HASHED_BUCKETS, *sites, *alone)

    def read(self, text: str) -> Reading[ProteinSequence]:
        """Clean one sequence.

        Parameters
        ----------
        text : str
            One-letter code. Positions in messages count from 1 in this text, surrounding blanks stripped.

        Returns
        -------
        Reading of ProteinSequence
            Its identity is the cleaned residues; its length the number of those that become tokens.

        Raises
        ------
        UnreadableInputError
            When the sequence is empty, holds a letter that the options do not allow, has not the length of the
            template, or is longer than the reference.
        """
        given = text.strip()
        if not given:
            raise UnreadableInputError("empty sequence")
        notes: list[str] = []
        residues, units = given, np.arange(len(given), dtype=np.int64)
        if _SUSPECT[_characters(given)].any():
            residues, units = self._clean(given, notes)
        if len(residues) >= _SHORTEST_NUCLEOTIDE_SUSPECT and _NUCLEOTIDES.issuperset(residues):
            notes.append(LIKE_DNA)
        for letter, replacement in MAPPED.items():
            residues = residues.replace(letter, replacement)
        if self._options.strip_leading_met and residues.startswith("M") and len(residues) > 1:
            residues, units = residues[1:], units[1:]
            notes.append("first M left out")
        if self._options.template:
            notes += _unseen(self._options.template, residues, units)
        if self._options.reference:
            notes += _ends_early(self._options.reference, residues)
        units = units[self._shown(residues)]
        return Reading(residues, ProteinSequence(residues, units), len(units), tuple(notes))

    def encode(self, reading: Reading[ProteinSequence]) -> TokenStream:
        """Tokens of a sequence of which U residues become tokens; N = U + 2."""
        residues, vocabulary = reading.parsed.residues, self._vocabulary
        shown, letters = self._shown(residues), letter_index(residues)
        n = len(shown) + 2
        ids = np.empty(n, dtype=np.int64)
        ids[0], ids[1:-1], ids[-1] = vocabulary.cls_id, vocabulary.encode(residues)[shown], vocabulary.eos_id
        features = np.zeros((n, len(FEATURE_NAMES)), dtype=np.float32)
        features[1:-1] = feature_table()[letters[shown]]
        contexts = np.zeros((n, len(self.context_buckets)), dtype=np.int64)
        contexts[1:-1, :3] = _contexts(letters)[shown]
        contexts[1:-1, 3:] = self._sited(shown, letters[shown])
        if len(residues) < len(self._options.reference):
            contexts[-1, -1] = 1 + len(residues)
        units = np.full(n, -1, dtype=np.int64)
        units[1:-1] = reading.parsed.units
        (bonded,) = np.nonzero(np.diff(shown) == 1)
        return TokenStream(
            ids=ids,
            values=np.zeros(n, dtype=np.float32),
            positions=np.concatenate([[0], 1 + shown, [len(residues) + 1]]),
            features=features,
            contexts=contexts,
            edges=np.stack([1 + bonded, 2 + bonded], axis=1),
            edge_kinds=np.zeros(len(bonded), dtype=np.int64),
            units=units,
        )

    def _shown(self, residues: str) -> IntArray:
        """Index (U,) of each residue that becomes a token."""
        if self._options.template:
            return self._open
        if self._options.reference:
            return departures(self._options.reference[: len(residues)], residues)
        return np.arange(len(residues))

    def _sited(self, shown: IntArray, letters: IntArray) -> IntArray:
        """Contexts (U, 0 to 2) of U residues by their places; 0 beyond the places that are told apart."""
        options = self._options
        place = np.arange(len(shown)) if options.template else shown
        sited = np.where(place < options.places, 1 + place * len(LETTERS) + letters, 0)
        of_places = [sited] * bool(options.places) + [1 + place] * bool(options.reference)
        return np.stack(of_places, axis=1) if of_places else np.zeros((len(shown), 0), dtype=np.int64)

    def respell(self, reading: Reading[ProteinSequence], rng: np.random.Generator) -> TokenStream:
        """The same as `encode`, and `rng` is not used: a sequence has one spelling."""
        del rng
        return self.encode(reading)

    def places(self, reading: Reading[ProteinSequence], text: str) -> IntArray:
        """Index (L,) of each residue in the text, surrounding blanks stripped."""
        del text
        return reading.parsed.units

    def names(self, reading: Reading[ProteinSequence], text: str) -> tuple[str, ...]:
        """Letter of each residue as it stands in the text."""
        letters = text.strip()
        return tuple(letters[index] for index in reading.parsed.units)

    def _clean(self, given: str, notes: list[str]) -> tuple[str, IntArray]:
        # Upper-casing letter by letter: some letters outside ASCII become two, which would shift positions.
        upper = "".join(letter.upper() if letter.isascii() else letter for letter in given)
        if upper != given:
            notes.append("lower-case letters read as upper case")
        left_out = self._blanks_and_gaps(upper, notes)
        kept = [index for index in range(len(upper)) if index not in left_out]
        if kept and upper[kept[-1]] == "*":
            kept.pop()
            notes.append("final * (stop) left out")
        residues = "".join(upper[index] for index in kept)
        if not residues:
            raise UnreadableInputError("empty sequence", got=repr(given[:20]))
        self._check(residues, kept)
        notes += _reading_notes(residues, kept)
        return residues, np.array(kept, dtype=np.int64)

    def _blanks_and_gaps(self, upper: str, notes: list[str]) -> set[int]:
        blanks = [index for index, letter in enumerate(upper) if letter.isspace()]
        gaps = [index for index, letter in enumerate(upper) if letter in "-."]
        if gaps and self._options.gaps == "refuse":
            raise UnreadableInputError(
                f"gap {upper[gaps[0]]!r} at position {gaps[0] + 1}",
                hint="the option gaps=drop leaves gaps out",
            )
        if blanks:
            notes.append(f"blanks inside the sequence left out ({len(blanks)})")
        if gaps:
            notes.append(f"gaps left out at {_at(gaps)}")
        return {*blanks, *gaps}

    def _check(self, residues: str, kept: list[int]) -> None:
        allowed = {*LETTERS, *MAPPED} if self._options.unknown == "map" else {*STANDARD}
        for letter, index in zip(residues, kept, strict=True):
            if letter in allowed:
                continue
            if letter == "*":
                raise UnreadableInputError(f"stop '*' inside the sequence at position {index + 1}")
            known = letter in AMBIGUOUS or letter in MAPPED
            raise UnreadableInputError(
                f"{'non-standard' if known else 'unknown'} letter {letter!r} at position {index + 1}",
                hint="the option unknown=map reads it" if known else None,
            )


def _reading_notes(residues: str, kept: list[int]) -> list[str]:
    meanings = {**MAPPED, **{letter: " or ".join(meant) for letter, meant in AMBIGUOUS.items()}}
    meanings["X"] = "any residue"
    notes: list[str] = []
    for letter, meaning in meanings.items():
        places = [index for index, residue in zip(kept, residues, strict=True) if residue == letter]
        if places:
            notes.append(f"{letter} read as {meaning} at {_at(places)}")
    return notes


def _unseen(template: str, residues: str, units: IntArray) -> list[str]:
    """What of an aligned sequence is not seen; raises `UnreadableInputError` when it is not aligned."""
    if len(residues) != len(template):
        raise _not_aligned(residues, expected=f"{len(template)}")
    other = units[departures(template, residues)].tolist()
    return [f"not seen, as no sequence of the training table differs there: {_at(other)}"] if other else []


def _ends_early(reference: str, residues: str) -> list[str]:
    """Whether a variant is shorter than its reference; raises `UnreadableInputError` when it is longer."""
    if len(residues) > len(reference):
        raise _not_aligned(residues, expected=f"at most {len(reference)}")
    short = len(residues) < len(reference)
    return [f"read as ending after {len(residues)} of {len(reference)} residues"] if short else []


def _not_aligned(residues: str, *, expected: str) -> UnreadableInputError:
    what = "not aligned with the sequences of the training table"
    return UnreadableInputError(what, got=f"{len(residues)} residues", expected=expected)


def _at(indices: list[int]) -> str:
    shown = ", ".join(str(index + 1) for index in indices[:_POSITIONS_NAMED])
    more = len(indices) - _POSITIONS_NAMED
    return f"position{'s' * (len(indices) > 1)} {shown}{f' and {more} more' if more > 0 else ''}"


def letter_index(residues: str) -> IntArray:
    """Index (L,) in `LETTERS` of each residue of a cleaned sequence."""
    return _LETTER_INDEX[_characters(residues)]


def _characters(text: str) -> IntArray:
    """Code of each character, those beyond ASCII folded into 127, which is no letter."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    folded: IntArray = np.minimum(codes, 127).astype(np.int64)
    return folded


def _letter_index() -> IntArray:
    table = np.full(128, -1, dtype=np.int64)
    table[[ord(letter) for letter in LETTERS]] = range(len(LETTERS))
    return table


def _class_index() -> IntArray:
    of_letter = {letter: index for index, members in enumerate(CLASSES) for letter in members}
    return np.array([*(of_letter[letter] for letter in LETTERS), len(CLASSES)], dtype=np.int64)


_LETTER_INDEX: Final = _letter_index()
_SUSPECT: Final = ~np.isin(_LETTER_INDEX, np.arange(len(STANDARD)))
_CLASS_INDEX: Final = _class_index()


def _contexts(letters: IntArray) -> IntArray:
    """Context ids (L, 3) of L residues given as indices into `LETTERS`."""
    n = len(letters)
    around = np.full(n + 4, _LETTER_BASE - 1, dtype=np.int64)
    around[2:-2] = letters
    classes = _CLASS_INDEX[around]
    pair = letters * _LETTER_BASE + around[3 : n + 3]
    triple = around[1 : n + 1] * _LETTER_BASE**2 + pair
    five = np.zeros(n, dtype=np.int64)
    for shift in range(5):
        five = five * _CLASS_BASE + classes[shift : n + shift]
    return np.stack([1 + pair, _buckets(_LETTER_BASE**3)[triple], _buckets(_CLASS_BASE**5)[five]], axis=1)


@lru_cache(maxsize=2)
def _buckets(size: int) -> IntArray:
    """Bucket, 1 to 4095, of each code below `size`: finaliser of SplitMix64 (Steele et al., OOPSLA 2014)."""
    mixed = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    buckets: IntArray = 1 + (mixed % np.uint64(_HASHED_BUCKETS - 1)).astype(np.int64)
    buckets.setflags(write=False)
    return buckets

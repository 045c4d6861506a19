"""Molecules: tokens of the canonical SMILES, with what RDKit knows of each atom and its surroundings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from rdkit import Chem, rdBase

from gia_science import catalog
from gia_science.errors import UnreadableInputError
from gia_science.tokens.atoms import (
    BOND_KINDS,
    CONTEXT_BUCKETS,
    FEATURE_NAMES,
    atom_contexts,
    atom_features,
    bonds,
)
from gia_science.tokens.rdkit_log import error_log
from gia_science.tokens.stream import IntArray, Reading, TokenStream
from gia_science.tokens.vocabulary import Vocabulary

# RDKit writes SMILES recursively: a chain of 20,000 atoms overflows the stack and ends the process.
MAX_CHARACTERS: Final = 5000

_BARE_ATOMS: Final = frozenset(["B", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I", "*", *"bcnops"])
_STEREO_MARK: Final = re.compile(r"[@/\\]")
_ISOTOPE_MARK: Final = re.compile(r"\[[0-9]")
_EXTENSION: Final = re.compile(r"\|[^|]*\|")
_CANONICAL_ROUNDS: Final = 8
_PLACE: Final = "_place_in_text"


class SmilesOptions(BaseModel):
    """How molecules are read. The choice is stored with a model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    isotopes: Literal["fold", "keep"] = Field(
        default="fold",
        description="fold: every isotope is read as its element, deuterium as any other hydrogen. "
        "keep: isotopes make different molecules.",
    )
    fragments: Literal["keep", "largest"] = Field(
        default="keep",
        description="keep: salts and mixtures as given. largest: the fragment of most heavy atoms alone.",
    )
    stereo: Literal["keep", "ignore"] = Field(
        default="keep", description="ignore: stereoisomers are one molecule."
    )


class SmilesTokenizer:
    """Tokenizer of the SMILES domain: ``<cls>``, the tokens of the canonical SMILES, ``<eos>``.

    A bracket atom is one token; one outside the vocabulary is ``<unk>``, and its features still say what it
    is. The contexts of an atom are its Morgan environments of radius 1, 2 and 3. Atom map numbers are left
    out, and a wildcard ``*`` is an atom of no element.

    Parameters
    ----------
    options : SmilesOptions, optional
        What of a molecule counts.
    vocabulary : Vocabulary, optional
        Tokens and ids; those of ``tokenizers/smiles.json`` by default.
    """

    domain: Final = "smiles"
    feature_names: Final[tuple[str, ...]] = FEATURE_NAMES
    context_buckets: Final[tuple[int, ...]] = CONTEXT_BUCKETS
    edge_kind_names: Final[tuple[str, ...]] = BOND_KINDS

    def __init__(self, options: SmilesOptions | None = None, *, vocabulary: Vocabulary | None = None) -> None:
        self._options = options or SmilesOptions()
        self._vocabulary = vocabulary or Vocabulary.load(catalog.find("tokenizers", "smiles"))

    @property
    def vocabulary(self) -> Vocabulary:
        """Tokens and their ids."""
        return self._vocabulary

    @property
    def options(self) -> Mapping[str, object]:
        """The options in force as plain JSON types."""
        return self._options.model_dump()

    def read(self, text: str) -> Reading[Chem.Mol]:
        """Read one SMILES.

        Parameters
        ----------
        text : str
            A SMILES of at most `MAX_CHARACTERS` characters; surrounding blanks do not count. Of a CXSMILES
            extension (``|...|`` after a blank) what the canonical SMILES can say is kept, such as radicals;
            labels, coordinates and groups of stereo centres are not.

        Returns
        -------
        Reading of rdkit.Chem.Mol
            Its identity is the canonical SMILES, whose order of atoms the molecule has.

        Raises
        ------
        UnreadableInputError
            When the SMILES is empty, has a blank inside, is too long, or is refused by RDKit, whose reason is
            passed on.
        """
        given = text.strip()
        _check_text(given)
        notes: list[str] = []
        with rdBase.BlockLogs():
            mol = self._apply_options(_parse(given), given, notes)
            identity, mol = _canonical(mol)
        if "*" in identity:
            notes.append("holds a wildcard atom (*)")
        if "|" in given:
            notes.append("labels, coordinates and stereo groups of the CXSMILES extension left out")
        return Reading(identity, mol, mol.GetNumAtoms(), tuple(notes))

    def encode(self, reading: Reading[Chem.Mol]) -> TokenStream:
        """Tokens of the canonical SMILES."""
        return self._stream(reading.parsed, reading.identity, range(reading.length))

    def respell(self, reading: Reading[Chem.Mol], rng: np.random.Generator) -> TokenStream:
        """Tokens of a random SMILES of the molecule; each atom keeps its features, contexts and unit."""
        return self._stream(reading.parsed, *random_spelling(reading.parsed, rng))

    def places(self, reading: Reading[Chem.Mol], text: str) -> IntArray:
        """Index (L,) of each atom of a reading among the atoms that RDKit reads from the text itself."""
        given = text.strip()
        with rdBase.BlockLogs():
            mol = _parse(given)
            for atom in mol.GetAtoms():
                atom.SetIntProp(_PLACE, atom.GetIdx())
            mol = self._apply_options(mol, given, [])
            places = np.array([atom.GetIntProp(_PLACE) for atom in mol.GetAtoms()], dtype=np.int64)
            return places[_rewritten_order(mol, reading.identity)]

    def names(self, reading: Reading[Chem.Mol], text: str) -> tuple[str, ...]:
        """Element symbols of the atoms of a reading; ``*`` for a wildcard."""
        del text
        return tuple(atom.GetSymbol() for atom in reading.parsed.GetAtoms())

    def _apply_options(self, mol: Chem.Mol, given: str, notes: list[str]) -> Chem.Mol:
        # Looking for marks in the text first spares most molecules a pass over their atoms.
        if ":" in given and any(atom.GetAtomMapNum() for atom in mol.GetAtoms()):
            for atom in mol.GetAtoms():
                atom.SetAtomMapNum(0)
            notes.append("atom map numbers left out")
        if self._options.isotopes == "fold" and _ISOTOPE_MARK.search(given):
            mol = _fold_isotopes(mol)
            notes.append("isotopes read as their elements")
        if self._options.fragments == "largest" and "." in given:
            mol = _largest_fragment(mol, notes)
        if self._options.stereo == "ignore" and _STEREO_MARK.search(given):
            Chem.RemoveStereochemistry(mol)
            notes.append("stereochemistry left out")
        return mol

    def _stream(self, mol: Chem.Mol, smiles: str, order: Sequence[int]) -> TokenStream:
        """Stream of a spelling whose k-th atom token stands for atom ``order[k]`` of `mol`."""
        vocabulary = self._vocabulary
        atoms = np.asarray(order, dtype=np.int64)
        pieces = vocabulary.split(smiles)
        places = 1 + atom_places(pieces)
        assert len(places) == len(atoms), f"{smiles} does not write the {len(atoms)} atoms it should"
        n = len(pieces) + 2
        ids = np.empty(n, dtype=np.int64)
        ids[0], ids[1:-1], ids[-1] = vocabulary.cls_id, vocabulary.encode(smiles), vocabulary.eos_id
        features = np.zeros((n, len(FEATURE_NAMES)), dtype=np.float32)
        contexts = np.zeros((n, len(CONTEXT_BUCKETS)), dtype=np.int64)
        units = np.full(n, -1, dtype=np.int64)
        with rdBase.BlockLogs():
            features[places] = atom_features(mol)[atoms]
            contexts[places] = atom_contexts(mol)[atoms]
        units[places] = atoms
        token_of = np.empty(len(atoms), dtype=np.int64)
        token_of[atoms] = places
        ends, kinds = bonds(mol)
        return TokenStream(
            ids=ids,
            values=np.zeros(n, dtype=np.float32),
            positions=np.arange(n, dtype=np.int64),
            features=features,
            contexts=contexts,
            edges=token_of[ends],
            edge_kinds=kinds,
            units=units,
        )


def _check_text(given: str) -> None:
    if not given:
        raise UnreadableInputError("empty SMILES")
    smiles, *rest = given.split(maxsplit=1)
    if rest and not (_EXTENSION.fullmatch(rest[0]) and rest[0].isprintable()):
        raise UnreadableInputError(
            "blank inside the SMILES",
            got=repr(given[:80]),
            hint="a name after the SMILES belongs in a column of its own",
        )
    # A NUL would end the text early inside RDKit.
    foreign = next((index for index, letter in enumerate(smiles) if not "!" <= letter <= "~"), None)
    if foreign is not None:
        raise UnreadableInputError(f"unknown character {given[foreign]!r} at position {foreign + 1}")
    if len(given) > MAX_CHARACTERS:
        raise UnreadableInputError(
            "SMILES too long", got=f"{len(given)} characters", expected=f"at most {MAX_CHARACTERS}"
        )


def _parse(smiles: str) -> Chem.Mol:
    """Sanitised molecule of a SMILES, or `UnreadableInputError` with what RDKit says against it."""
    with error_log() as log:
        mol = Chem.MolFromSmiles(smiles)
    if mol is None:
        what = "SMILES" if log.messages or "|" not in smiles else "extension of the SMILES"
        raise UnreadableInputError(f"RDKit cannot read the {what}: {log.reason}")
    if mol.GetNumAtoms() == 0:
        raise UnreadableInputError("SMILES without atoms", got=repr(smiles[:80]))
    return mol


def _canonical(mol: Chem.Mol) -> tuple[str, Chem.Mol]:
    """Canonical SMILES that writes itself when read again, and its molecule.

    The SMILES of a molecule can change when it is read and written once more (where an aromatic system or a
    stereo centre is perceived differently). Where it runs into a cycle, the first of the cycle in
    alphabetical order is taken, so that all spellings end in one.
    """
    seen = [Chem.MolToSmiles(mol)]
    for _ in range(_CANONICAL_ROUNDS):
        mol = _parse(seen[-1])
        again = Chem.MolToSmiles(mol)
        if again == seen[-1]:
            return again, mol
        if again in seen:
            identity = min(seen[seen.index(again) :])
            return identity, _parse(identity)
        seen.append(again)
    return seen[-1], _parse(seen[-1])


def _fold_isotopes(mol: Chem.Mol) -> Chem.Mol:
    for atom in mol.GetAtoms():
        atom.SetIsotope(0)
    mol = Chem.RemoveHs(mol)  # those that were deuterium
    # A centre or double bond that only isotopes told apart is one no longer.
    Chem.AssignStereochemistry(mol, cleanIt=True, force=True)
    return mol


def _largest_fragment(mol: Chem.Mol, notes: list[str]) -> Chem.Mol:
    fragments = Chem.GetMolFrags(mol, asMols=True)
    if len(fragments) == 1:
        return mol
    # Ties are broken by mass and SMILES, never by the order in which the fragments were written.
    ranked = sorted(
        fragments,
        key=lambda part: (
            -part.GetNumHeavyAtoms(),
            -sum(atom.GetMass() for atom in part.GetAtoms()),
            Chem.MolToSmiles(part),
        ),
    )
    left_out = ".".join(Chem.MolToSmiles(part) for part in ranked[1:])
    notes.append(f"largest of {len(ranked)} fragments kept, {left_out} left out")
    largest: Chem.Mol = ranked[0]
    return largest


def random_spelling(mol: Chem.Mol, rng: np.random.Generator) -> tuple[str, list[int]]:
    """A random SMILES of a molecule, and its atoms in the order in which that writes them."""
    shuffled = rng.permutation(mol.GetNumAtoms()).tolist()
    with rdBase.BlockLogs():
        renumbered = Chem.RenumberAtoms(mol, shuffled)
        smiles = Chem.MolToSmiles(renumbered, canonical=False)
    return smiles, [shuffled[index] for index in _written_order(renumbered)]


def atom_places(pieces: Sequence[str]) -> IntArray:
    """Which of the pieces of a SMILES, cut by this package's vocabulary, are atoms."""
    places = [index for index, piece in enumerate(pieces) if piece in _BARE_ATOMS or piece[0] == "["]
    return np.array(places, dtype=np.int64)


def _written_order(mol: Chem.Mol) -> list[int]:
    """Atoms in the order in which the last SMILES of the molecule writes them."""
    return list(mol.GetPropsAsDict(includePrivate=True, includeComputed=True)["_smilesAtomOutputOrder"])


def _rewritten_order(mol: Chem.Mol, identity: str) -> IntArray:
    """Atoms of a molecule in the order of its canonical SMILES, followed through the rounds of `_canonical`."""
    order = np.arange(mol.GetNumAtoms(), dtype=np.int64)
    for _ in range(_CANONICAL_ROUNDS + 1):
        smiles = Chem.MolToSmiles(mol)
        written = _written_order(mol)
        again = _parse(smiles)
        if again.GetNumAtoms() < len(written):
            # Hydrogen is left out on reading where no stereochemistry needs it any more.
            written = [index for index in written if mol.GetAtomWithIdx(index).GetAtomicNum() != 1]
        order, mol = order[written], again
        if smiles == identity:
            break
    assert len(order) == mol.GetNumAtoms()
    return order

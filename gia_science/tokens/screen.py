"""Many substructure patterns on one molecule, most of them ruled out by what its atoms and bonds are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
from rdkit import Chem

from gia_science.tokens.facts import AtomKind, BondKind, MoleculeFacts

_KINDS_KEPT: Final = 4096
_MOST_MATCHES: Final = 1000  # where RDKit's GetSubstructMatches stops
_RECURSION_START: Final = re.compile(r"!?\$\(")

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Pattern:
    mol: Chem.Mol
    atoms: int
    bonds: int
    alone: int | None
    """Place of its atom query where the pattern is one atom without recursion: matches are atoms of that kind."""


class PatternScreen:
    """Counts matches of fixed patterns.

    A pattern can match only where each of its atom queries, with recursive parts taken as met, accepts some
    atom, and each of its bonds some bond between atoms that its ends accept. Which queries an atom accepts
    depends on its kind alone, so it is asked once per kind.

    Parameters
    ----------
    patterns : sequence of rdkit.Chem.Mol
        From SMARTS.
    """

    def __init__(self, patterns: Sequence[Chem.Mol]) -> None:
        self._atom_queries: dict[str, tuple[int, Chem.Atom]] = {}
        self._bond_queries: dict[str, tuple[int, Chem.Bond]] = {}
        self._links: dict[tuple[int, int, int], int] = {}
        self._relaxed: list[Chem.Mol] = []  # the queries live as long as their molecules
        self._patterns = tuple(self._compile(pattern) for pattern in patterns)
        self._first, self._bond, self._second = np.array([*self._links], dtype=np.int64).reshape(-1, 3).T
        self._of_atoms: dict[AtomKind, tuple[int, BoolArray]] = {}
        self._of_bond_kinds: dict[BondKind, BoolArray] = {}
        self._of_bonds: dict[tuple[AtomKind, BondKind, AtomKind], int] = {}

    def counts(self, facts: MoleculeFacts, *, most: int = _MOST_MATCHES) -> list[int]:
        """Number of matches of each pattern that differ in their atoms, up to `most`."""
        accepted = [self._atom_mask(atom, kind) for atom, kind in zip(facts.atoms, facts.kinds, strict=True)]
        atoms = 0
        for mask in accepted:
            atoms |= mask
        bonds = self._bond_mask(facts)
        counts = []
        for pattern in self._patterns:
            if pattern.atoms & ~atoms or pattern.bonds & ~bonds:
                counts.append(0)
            elif pattern.alone is not None:
                counts.append(min(most, sum(mask >> pattern.alone & 1 for mask in accepted)))
            elif most == 1:
                counts.append(int(facts.mol.HasSubstructMatch(pattern.mol)))
            else:
                counts.append(len(facts.mol.GetSubstructMatches(pattern.mol, maxMatches=most)))
        return counts

    def _compile(self, pattern: Chem.Mol) -> _Pattern:
        relaxed = Chem.MolFromSmarts(without_recursion(Chem.MolToSmarts(pattern)))
        self._relaxed.append(relaxed)
        places = []
        for atom in relaxed.GetAtoms():
            place, _ = self._atom_queries.setdefault(_text(atom), (len(self._atom_queries), atom))
            places.append(place)
        links = []
        for bond in relaxed.GetBonds():
            kind, _ = self._bond_queries.setdefault(_text(bond), (len(self._bond_queries), bond))
            link = (places[bond.GetBeginAtomIdx()], kind, places[bond.GetEndAtomIdx()])
            links.append(self._links.setdefault(link, len(self._links)))
        alone = len(places) == 1 and "$" not in Chem.MolToSmarts(pattern)
        return _Pattern(
            mol=pattern,
            atoms=sum(1 << place for place in set(places)),
            bonds=sum(1 << link for link in set(links)),
            alone=places[0] if alone else None,
        )

    def _atom_mask(self, atom: Chem.Atom, kind: AtomKind) -> int:
        known = self._of_atoms.get(kind)
        if known is None:
            accepts = np.array([query.Match(atom) for _, query in self._atom_queries.values()], dtype=bool)
            known = _as_mask(accepts), accepts
            _keep(self._of_atoms, kind, known)
        return known[0]

    def _bond_mask(self, facts: MoleculeFacts) -> int:
        combined, kinds = 0, facts.kinds
        for index, ((first, second), kind) in enumerate(zip(facts.ends, facts.bond_kinds, strict=True)):
            key = (kinds[first], kind, kinds[second])
            mask = self._of_bonds.get(key)
            if mask is None:
                mask = self._new_bond(facts, index)
                _keep(self._of_bonds, key, mask)
            combined |= mask
        return combined

    def _new_bond(self, facts: MoleculeFacts, index: int) -> int:
        kind = facts.bond_kinds[index]
        matches = self._of_bond_kinds.get(kind)
        if matches is None:
            bond = facts.bonds[index]
            matches = np.array([query.Match(bond) for _, query in self._bond_queries.values()], dtype=bool)
            _keep(self._of_bond_kinds, kind, matches)
        begin, end = (self._accepted(facts, atom) for atom in facts.ends[index])
        either_way = begin[self._first] & end[self._second] | end[self._first] & begin[self._second]
        return _as_mask(either_way & matches[self._bond])

    def _accepted(self, facts: MoleculeFacts, atom: int) -> BoolArray:
        kind = facts.kinds[atom]
        self._atom_mask(facts.atoms[atom], kind)
        return self._of_atoms[kind][1]


def without_recursion(smarts: str) -> str:
    """The SMARTS with every recursive part ``$(...)``, negated or not, replaced by ``*``, which all atoms meet."""
    while found := _RECURSION_START.search(smarts):
        depth, end = 1, found.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(smarts[end], 0)
            end += 1
        smarts = smarts[: found.start()] + "*" + smarts[end:]
    return smarts


def _text(query: Chem.Atom | Chem.Bond) -> str:
    return str(query.DescribeQuery())


def _as_mask(flags: BoolArray) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _keep(cache: dict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Store in a cache that is emptied when full: kinds beyond the limit mean an unusual table, not a slow one."""
    if len(cache) >= _KINDS_KEPT:
        cache.clear()
    cache[key] = value

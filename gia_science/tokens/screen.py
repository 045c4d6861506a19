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
class _Needs:
    """What a molecule must have for a pattern to match: atom and bond queries as bits, and one of each group."""

    atoms: int
    bonds: int
    groups: tuple[tuple[_Needs, ...], ...]

    def met(self, atoms: int, bonds: int) -> bool:
        if self.atoms & ~atoms or self.bonds & ~bonds:
            return False
        return all(any(choice.met(atoms, bonds) for choice in group) for group in self.groups)


@dataclass(frozen=True)
class _Pattern:
    mol: Chem.Mol
    needs: _Needs
    alone: int | None
    """Place of its atom query where the pattern is one atom without recursion: matches are atoms of that kind."""


class PatternScreen:
    """Counts matches of fixed patterns.

    A pattern can match only where each of its atom queries, with recursive parts taken as met, accepts some
    atom, and each of its bonds some bond between atoms that its ends accept; the same holds for the patterns
    in its recursive parts. Which queries an atom accepts depends on its kind alone, so it is asked once per kind.

    Parameters
    ----------
    counted : sequence of rdkit.Chem.Mol
        Patterns from SMARTS whose matches are counted.
    sought : sequence of rdkit.Chem.Mol, optional
        Patterns of which only whether they match is asked.
    """

    def __init__(self, counted: Sequence[Chem.Mol], *, sought: Sequence[Chem.Mol] = ()) -> None:
        self._atom_queries: dict[str, tuple[int, Chem.Atom]] = {}
        self._bond_queries: dict[str, tuple[int, Chem.Bond]] = {}
        self._links: dict[tuple[int, int, int], int] = {}
        self._relaxed: list[Chem.Mol] = []  # the queries live as long as their molecules
        self._counted = tuple(self._compile(pattern) for pattern in counted)
        self._sought = tuple(self._compile(pattern) for pattern in sought)
        self._first, self._bond, self._second = np.array([*self._links], dtype=np.int64).reshape(-1, 3).T
        self._of_atoms: dict[AtomKind, tuple[int, BoolArray]] = {}
        self._of_bond_kinds: dict[BondKind, BoolArray] = {}
        self._of_bonds: dict[tuple[AtomKind, BondKind, AtomKind], int] = {}

    def counts(self, facts: MoleculeFacts) -> tuple[list[int], list[bool]]:
        """Number of matches of each counted pattern that differ in their atoms; whether each sought one matches."""
        accepted = [self._atom_mask(atom, kind) for atom, kind in zip(facts.atoms, facts.kinds, strict=True)]
        atoms = 0
        for mask in accepted:
            atoms |= mask
        bonds = self._bond_mask(facts)
        counts = []
        for pattern in self._counted:
            if not pattern.needs.met(atoms, bonds):
                counts.append(0)
            elif pattern.alone is not None:
                counts.append(min(_MOST_MATCHES, sum(mask >> pattern.alone & 1 for mask in accepted)))
            else:
                counts.append(len(facts.mol.GetSubstructMatches(pattern.mol, maxMatches=_MOST_MATCHES)))
        match = facts.mol.HasSubstructMatch
        return counts, [pattern.needs.met(atoms, bonds) and match(pattern.mol) for pattern in self._sought]

    def _compile(self, pattern: Chem.Mol) -> _Pattern:
        smarts = Chem.MolToSmarts(pattern)
        needs = self._needs(smarts)
        alone = pattern.GetNumAtoms() == 1 and "$" not in smarts
        return _Pattern(pattern, needs, alone=needs.atoms.bit_length() - 1 if alone else None)

    def _needs(self, smarts: str) -> _Needs:
        relaxed = Chem.MolFromSmarts(without_recursion(smarts))
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
        return _Needs(
            atoms=sum(1 << place for place in set(places)),
            bonds=sum(1 << link for link in set(links)),
            groups=tuple(tuple(map(self._needs, group)) for group in recursive_groups(smarts)),
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
        end = _closing(smarts, found.end() - 1)
        smarts = smarts[: found.start()] + "*" + smarts[end + 1 :]
    return smarts


def recursive_groups(smarts: str) -> list[list[str]]:
    """Groups of SMARTS, of each of which one must match somewhere in a molecule that the whole SMARTS matches.

    They are recursive parts: where each of the alternatives of an atom has one, one of these is met.
    """
    groups = []
    place = 0
    while (start := smarts.find("[", place)) >= 0:
        place = _closing(smarts, start)
        for part in _split(smarts[start + 1 : place], ";"):
            found = [
                [term[2:-1] for term in _split(choice, "&") if term.startswith("$(")]
                for choice in _split(part, ",")
            ]
            if all(found):
                groups.append([terms[0] for terms in found])
    return groups


def _closing(text: str, start: int) -> int:
    """Place of the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0:
            return place
    raise AssertionError(f"brackets of {text} do not close")


def _split(text: str, separator: str) -> list[str]:
    """Parts of a text between separators outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _text(query: Chem.Atom | Chem.Bond) -> str:
    return str(query.DescribeQuery())


def _as_mask(flags: BoolArray) -> int:
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _keep(cache: dict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    """Store in a cache that is emptied when full: kinds beyond the limit mean an unusual table, not a slow one."""
    if len(cache) >= _KINDS_KEPT:
        cache.clear()
    cache[key] = value

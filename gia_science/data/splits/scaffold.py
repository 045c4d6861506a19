"""Splits of molecules by Bemis-Murcko scaffold: what is tested on has other ring systems than what is trained on.

The scaffold of a molecule is its rings with the chains between them (Bemis and Murcko, J. Med. Chem. 1996, 39, 2887).
An acyclic molecule has none: its scaffold is the empty text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem.Scaffolds import MurckoScaffold

from gia_science.data.splits.base import (
    USUAL,
    Fractions,
    Split,
    check_fractions,
    distinct_groups,
    fraction_words,
    split_of_parts,
)
from gia_science.errors import RecipeError, counted

ACYCLIC = ""


def murcko_scaffold(molecule: Chem.Mol) -> str:
    """Canonical SMILES of the scaffold without stereochemistry; empty for an acyclic molecule."""
    with rdBase.BlockLogs():
        # This module of RDKit carries no types.
        scaffold = MurckoScaffold.MurckoScaffoldSmiles(mol=molecule)  # type: ignore[no-untyped-call]
        return str(scaffold)


def scaffold_split(scaffolds: Sequence[str], *, fractions: Fractions = USUAL) -> Split:
    """Deterministic scaffold split, as DeepChem's ``ScaffoldSplitter`` makes it (Wu et al., Chem. Sci. 2018, 9, 513).

    Groups of one scaffold are taken by size, and by their first row where sizes are equal, in descending order of
    both. A group goes to training if it fits under the training share of the rows, else to validation if both parts
    then stay under their common share, else to test. All acyclic molecules share the empty scaffold and are one group.

    Parameters
    ----------
    scaffolds : sequence of str
        Scaffold of each row, see `murcko_scaffold`.
    fractions : (train, validation, test)
        Fractions of the rows.

    Raises
    ------
    RecipeError
        When nothing is left for training, or nothing for testing although a share was asked for.
    """
    check_fractions(fractions)
    distinct, first = distinct_groups(scaffolds)
    number = np.array([distinct[scaffold] for scaffold in scaffolds], dtype=np.int64)
    sizes = np.bincount(number, minlength=len(distinct))
    train_most = fractions[0] * len(scaffolds)
    held_most = (fractions[0] + fractions[1]) * len(scaffolds)
    part_of = np.zeros(len(distinct), dtype=np.int64)
    filled = [0, 0, 0]
    for group in np.lexsort((first, sizes))[::-1]:
        size = int(sizes[group])
        fits_held = filled[0] + filled[1] + size <= held_most
        part = 0 if filled[0] + size <= train_most else 1 if fits_held else 2
        part_of[group] = part
        filled[part] += size
    _require_parts(filled, fractions, scaffolds)
    notes = ("the split has no validation rows: no scaffold group fits there",)
    told = f"scaffold split {fraction_words(fractions)}, largest first; {counted(len(distinct), 'scaffold')}"
    return split_of_parts(
        part_of[number],
        f"{told} in {counted(len(scaffolds))}",
        notes if fractions[1] and not filled[1] else (),
    )


def _require_parts(filled: Sequence[int], fractions: Fractions, scaffolds: Sequence[str]) -> None:
    missing = [name for name, part in (("training", 0), ("test", 2)) if fractions[part] and not filled[part]]
    if missing:
        acyclic = sum(scaffold == ACYCLIC for scaffold in scaffolds)
        raise RecipeError(
            f"the scaffold split leaves no {missing[0]} rows",
            got=f"{counted(len(set(scaffolds)), 'scaffold')} in {counted(len(scaffolds))}, {acyclic} acyclic",
            hint="scaffold_balanced takes each acyclic molecule for a group of its own",
        )


def balanced_groups(scaffolds: Sequence[str], identities: Sequence[str]) -> list[str]:
    """Groups of the balanced form: one per scaffold, and one of its own for each acyclic molecule."""
    return [
        f"acyclic {identity}" if scaffold == ACYCLIC else scaffold
        for scaffold, identity in zip(scaffolds, identities, strict=True)
    ]

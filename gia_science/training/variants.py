"""Sequences of one length as variants or an alignment: which of their places are read, where a recipe says nothing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gia_science.data.record import LoadedTable
from gia_science.errors import UnreadableInputError
from gia_science.tokens.alignment import (
    OPEN,
    are_aligned,
    consensus_of,
    departures,
    template_of,
    usual_length,
)
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.protein import MOST_SITES
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.recipe import Recipe

logger = logging.getLogger("gia_science")
SAYS_PLACES = ("sites", "template", "reference")
"""Options of the tokens of proteins, of which each says which places there are."""
READS_MUTATIONS = ("template", "reference")
"""Those by which only residues that differ are read."""
FEWEST_ALIGNED = 50
"""Sequences of one length, below which that may be chance."""
FEW_PLACES = 0.5
"""Share of the places at which aligned sequences differ, up to which only these are read."""
FEW_DEPARTURES = 0.25
"""Share of these places at which a sequence departs from the most frequent residues, on average, up to which sequences
are variants: only their departures are read."""


def says_places(recipe: Recipe) -> bool:
    """Whether the tokens are told which places there are."""
    return any(recipe.tokens.get(name) for name in SAYS_PLACES)


def reads_mutations(recipe: Recipe) -> bool:
    """Whether the tokens are those residues alone in which sequences differ."""
    return any(recipe.tokens.get(name) for name in READS_MUTATIONS)


def recognised_places(recipe: Recipe, table: LoadedTable, known: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by which aligned sequences have their places told apart; none where the recipe says something.

    Parameters
    ----------
    recipe : Recipe
    table : LoadedTable
    known : mapping of str to object
        Input column and domain, under dotted keys.
    """
    said = {*SAYS_PLACES} & set(recipe.tokens)
    if known["data.domain"] != "protein" or said or recipe.backbone is not None:
        return {}
    place = table.position(known["data.input"])
    cells = [record.cells[place] for record in table.records if record.problem is None]
    residues = _aligned_residues(cells, make_tokenizer("protein", options=recipe.tokens))
    if len(residues) < FEWEST_ALIGNED:
        return {}
    length = max(map(len, residues))
    whole = [sequence for sequence in residues if len(sequence) == length]
    template, reference = template_of(whole), consensus_of(whole)
    differing, early = template.count(OPEN), len(residues) - len(whole)
    if not 1 < length <= MOST_SITES or not differing:
        return {}
    of_each = float(np.mean([len(departures(reference, sequence)) for sequence in whole]))
    told = f"{'nearly ' if early else ''}all sequences have {length} residues"
    if recipe.target.kind != "per_token" and of_each <= differing * FEW_DEPARTURES:
        told += f", of which {of_each:.1f} differ from the most frequent, on average"
        logger.info("%s: only these are read, as variants (tokens.reference)", told)
        return {"tokens.reference": reference}
    if early:
        return {}
    few = differing <= min(length * FEW_PLACES, recipe.network.max_length)
    if few and recipe.target.kind != "per_token":
        logger.info("%s and differ at %d places: only these are read (tokens.template)", told, differing)
        return {"tokens.template": template}
    logger.info("%s: their places are told apart (tokens.sites)", told)
    return {"tokens.sites": length}


def _aligned_residues(cells: Sequence[str], tokenizer: DomainTokenizer[Any]) -> list[str]:
    """Cleaned residues of what can be read, where they are aligned; else none, and little is read."""
    if usual_length([text for cell in cells if (text := cell.strip())]) is None:
        return []
    found: list[str] = []
    for cell in cells:
        with suppress(UnreadableInputError):
            found.append(tokenizer.read(cell).parsed.residues)
    return found if are_aligned(found) else []

"""From a recipe of a pretraining to its rows: recognised, read, checked and split."""

from __future__ import annotations

from dataclasses import dataclass

from gia_science.data.duplicates import Duplicates, find_duplicates
from gia_science.data.record import LoadedTable
from gia_science.data.rows import BadRow, Row
from gia_science.data.splits.base import Split
from gia_science.data.splits.methods import SplitInput
from gia_science.errors import RecipeError
from gia_science.tokens.domain import DOMAINS, make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Example, Featurizer
from gia_science.training.intake import open_rows, read_usable, recognise, require_rows, split_rows
from gia_science.training.notices import tell_repeats
from gia_science.training.optimizer_recipe import LANGUAGE_LENGTH, open_length
from gia_science.training.recipe import PretrainRecipe

DROPOUT = 0.1
"""On branches, where a recipe does not say."""


@dataclass(frozen=True)
class Corpus:
    """The rows of a pretraining.

    Parameters
    ----------
    recipe : PretrainRecipe
        With everything filled in that was recognised.
    featurizer : Featurizer
        Tokenizer without descriptors.
    rows : list of Row
    examples : list of Example
        One per row.
    split : Split
        Indices into `rows`.
    left_out : tuple of BadRow
        Rows that were dropped, with reasons.
    duplicates : Duplicates
    """

    recipe: PretrainRecipe
    featurizer: Featurizer
    rows: list[Row]
    examples: list[Example]
    split: Split
    left_out: tuple[BadRow, ...]
    duplicates: Duplicates

    @property
    def mask_share(self) -> float | None:
        """Share of the tokens hidden at a time; None with the causal objective."""
        return self.recipe.mask_share if self.recipe.objective == "masked" else None


def prepare_corpus(recipe: PretrainRecipe, *, table: LoadedTable | None = None) -> Corpus:
    """Read, check and split the rows of a recipe.

    Raises
    ------
    TableError
        When the data cannot be read, or rows cannot be used and are not to be dropped: all of them are listed.
    RecipeError
        When the recipe does not fit the data.
    """
    table = open_rows(recipe.data, table)
    if recipe.split.column is not None:
        table.position(recipe.split.column)
    known = recognise(recipe.data, table, input=recipe.data.input)
    filled = {"network.dropout": DROPOUT} if recipe.network.dropout is None else {}
    length = open_length(recipe.training, LANGUAGE_LENGTH)
    causal = recipe.objective == "causal"
    recipe = recipe.updated({**known, **filled, **length, "network.attention.causal": causal})
    tokenizer = make_tokenizer(str(recipe.data.domain), options=recipe.tokens)
    if causal and not DOMAINS[tokenizer.domain].ordered:
        raise RecipeError(f"a {tokenizer.domain} has no next element", hint="--objective masked")
    limit = recipe.network.max_length
    rows, bad, places = read_usable(recipe.data, table, tokenizer=tokenizer, max_length=limit)
    require_rows(rows, "", table)
    duplicates = find_duplicates(rows)
    tell_repeats(duplicates)
    split = split_rows(recipe.split, SplitInput(rows, table, places, tokenizer.domain))
    source = DescriptorSource(providers=(), columns=())
    featurizer = Featurizer(tokenizer, source=source, scalings=(), max_length=limit)
    examples = [featurizer.example(row.reading) for row in rows]
    return Corpus(recipe, featurizer, rows, examples, split, tuple(bad), duplicates)

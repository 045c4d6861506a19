"""From a recipe to the rows of an experiment: recognised, read, checked and split before any training."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.duplicates import Duplicates, find_duplicates, resolve_duplicates
from gia_science.data.inference import infer_targets
from gia_science.data.record import LoadedTable
from gia_science.data.rows import BadRow, Row
from gia_science.data.splits.base import Split
from gia_science.data.splits.methods import SplitInput
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError, Where, counted
from gia_science.model.pretrained import SavedPretrained
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.domain import require_domain
from gia_science.tokens.stream import IntArray
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.base import Base, longest_input
from gia_science.training.intake import open_rows, read_usable, require_rows, split_rows
from gia_science.training.notices import tell_duplicates, tell_missing, tell_resolved
from gia_science.training.recipe import Recipe
from gia_science.training.rotation import FOLDS, MemberRows, Unjudged, learnt_rows, member_rows
from gia_science.training.settle import settle, with_blend, with_members, with_start

logger = logging.getLogger("gia_science")
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Prepared:
    """The rows of an experiment, ready for training.

    Parameters
    ----------
    recipe : Recipe
        With everything filled in that was recognised.
    tokenizer : DomainTokenizer
    targets : Targets
        Scaling is learnt later, from training rows only.
    rows : list of Row
        Rows that can be read and have at least one target.
    split : Split
        Indices into `rows`.
    left_out : tuple of BadRow
        Rows that were dropped, with reasons.
    duplicates : Duplicates
        As they were found, before the policy.
    merged : int
        Rows that the policy made one with another.
    pretrained : SavedPretrained or None
        The network to start from.
    weights : (n,) float64 or None
        How much each row counts in the loss, 1 on average; None where all count alike.
    base : Base or None
        The model from elsewhere to adapt.
    unjudged : Unjudged or None
        How members leave out rows where there are none to judge the model by.
    """

    recipe: Recipe
    tokenizer: DomainTokenizer[Any]
    targets: Targets
    rows: list[Row]
    split: Split
    left_out: tuple[BadRow, ...]
    duplicates: Duplicates
    merged: int = 0
    pretrained: SavedPretrained | None = None
    weights: FloatArray | None = None
    base: Base | None = None
    unjudged: Unjudged | None = None

    @property
    def rotated(self) -> bool:
        """Whether training and validation rows are one pool of which each member leaves out another part.

        Not where the model is judged by its validation rows, for want of test rows: no member may have seen them.
        """
        network, split = self.recipe.network, self.split
        free = len(split.test) > 0 or (self.unjudged is not None and len(split.validation) > 0)
        return network.rotate and (network.members or 1) > 1 and free

    @property
    def learnt(self) -> IntArray:
        """Rows that some member learns from."""
        return learnt_rows(self.split, rotated=self.rotated)

    @property
    def member_rows(self) -> list[MemberRows]:
        """Rows of each member."""
        unjudged = self.unjudged
        identities = [row.reading.identity for row in self.rows] if unjudged is None else unjudged.together
        return member_rows(
            self.split,
            identities=identities,
            members=self.recipe.network.members or 1,
            rotated=self.rotated,
            seed=self.recipe.seed,
            folds=FOLDS if unjudged is None else unjudged.folds,
        )


def prepare(recipe: Recipe, *, table: LoadedTable | None = None) -> Prepared:
    """Read and check the rows of a recipe.

    Parameters
    ----------
    recipe : Recipe
    table : LoadedTable, optional
        Rows that are already in memory, instead of the recipe's file or dataset.

    Raises
    ------
    TableError
        When the data cannot be read, a column is missing, or rows cannot be used and are not to be dropped: all of
        them are listed.
    RecipeError
        When the recipe does not fit the data, or the pretrained network to start from.
    ModelFolderError
        When that network cannot be read.
    """
    recipe, pretrained, base = with_start(recipe)
    table = open_rows(recipe.data, table)
    _check_columns(recipe, table)
    recipe, tokenizer = settle(recipe, table, pretrained=pretrained, base=base)
    targets = _targets(recipe, table)
    if isinstance(tokenizer, BaseTokenizer):
        recipe = recipe.updated({"network.max_length": longest_input(recipe, tokenizer)})
        _check_units(tokenizer, targets)
    recipe = recipe.updated({"target.kind": targets.kind, "target.labels": targets.labels})
    rows, left_out, places = _read(recipe, table, tokenizer=tokenizer, targets=targets)
    tell_missing(rows, targets)
    policy = recipe.data.duplicates
    duplicates = find_duplicates(rows)
    tell_duplicates(duplicates, targets=targets, policy=policy)
    resolved = resolve_duplicates(rows, targets=targets, policy=policy, source=table.source)
    tell_resolved(resolved, policy)
    rows, places = resolved.rows, [places[index] for index in resolved.kept]
    require_rows(rows, f" left by duplicates: {policy}", table)
    recipe = with_blend(with_members(recipe, len(rows)), targets)
    split = split_rows(recipe.split, SplitInput(rows, table, places, tokenizer.domain, targets))
    return Prepared(
        recipe=recipe,
        tokenizer=tokenizer,
        targets=targets,
        rows=rows,
        split=split,
        left_out=(*left_out, *resolved.left_out),
        duplicates=duplicates,
        merged=resolved.merged,
        pretrained=pretrained,
        base=base,
    )


def _check_units(tokenizer: BaseTokenizer, targets: Targets) -> None:
    if targets.kind == "per_token" and not tokenizer.token_per_unit:
        raise RecipeError(
            "labels of single residues or atoms need a token for each, which this pretrained model has not"
        )


def _check_columns(recipe: Recipe, table: LoadedTable) -> None:
    """Every column that the recipe names is there, and none is both known and to be predicted."""
    data, targets = recipe.data, recipe.target.names
    if data.domain is not None:
        require_domain(data.domain)
    if table.format == "fasta" and not set(targets) <= set(table.columns):
        raise TableError(
            "a FASTA file holds no measurements",
            expected=f"a table with the column {targets[0]!r}",
            hint="train on a CSV with a sequence and a target column; FASTA is for gia pretrain, predict and embed",
            where=Where(file=table.source),
        )
    known_columns = [*data.columns, *([data.input] if data.input else [])]
    for name in (*targets, *known_columns, *([recipe.split.column] if recipe.split.column else [])):
        table.position(name)
    for name in targets:
        if name in known_columns:
            raise RecipeError(
                "a column cannot be predicted and given at once",
                got=repr(name),
                hint="name it as --target only, and the input with --input",
            )


def _targets(recipe: Recipe, table: LoadedTable) -> Targets:
    names = recipe.target.names
    # In a row with too many or too few cells, another column's content may stand under the target.
    sound = [record.cells for record in table.records if record.problem is None]
    cells = [[row[place] for row in sound] for place in map(table.position, names)]
    texts = [row[table.position(str(recipe.data.input))] for row in sound]
    targets = infer_targets(
        names,
        cells,
        domain=str(recipe.data.domain),
        lengths=[len(text.strip()) for text in texts],
        kind=recipe.target.kind,
        labels=recipe.target.labels,
        units=recipe.target.units,
    )
    told = "numbers"
    if targets.labels:
        shown = ", ".join(targets.labels[:10]) + (", ..." if len(targets.labels) > 10 else "")
        told = f"{targets.kind} with labels {shown}"
    logger.info("target: %s, %s", ", ".join(names), told)
    return targets


def _read(
    recipe: Recipe, table: LoadedTable, *, tokenizer: DomainTokenizer[Any], targets: Targets
) -> tuple[list[Row], tuple[BadRow, ...], list[int]]:
    """Usable rows, rows left out, and the place of each usable row in the table."""
    rows, bad, places = read_usable(
        recipe.data, table, tokenizer=tokenizer, max_length=recipe.network.max_length, targets=targets
    )
    measured = [not np.isnan(row.target).all() for row in rows]
    empty = [
        BadRow(row.line, row.id, "no target") for row, has in zip(rows, measured, strict=True) if not has
    ]
    if empty:
        logger.info("%s without a target left out", counted(len(empty)))
    kept = [index for index, has in enumerate(measured) if has]
    usable = [rows[index] for index in kept]
    require_rows(usable, f" with a value of {', '.join(targets.names)}", table)
    return usable, (*bad, *empty), [places[index] for index in kept]

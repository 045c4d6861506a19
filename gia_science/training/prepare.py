"""From a recipe to the rows of an experiment: recognised, read, checked and split before any training."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gia_science.data.record import LoadedTable
from gia_science.data.rows import BadRow, Duplicates, Row, find_duplicates
from gia_science.data.split import Split
from gia_science.data.targets import Targets, TaskKind, find_labels, infer_kind, is_missing, is_number
from gia_science.errors import RecipeError, TableError, Where, counted
from gia_science.model.pretrained import SavedPretrained, load_pretrained
from gia_science.settings import validate
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS, PROVIDERS, provider
from gia_science.tokens.domain import guess_column, make_tokenizer, require_domain
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.intake import open_rows, read_usable, recognise, require_rows, split_rows
from gia_science.training.notices import tell_duplicates, tell_missing
from gia_science.training.recipe import REGULARISATION, Recipe
from gia_science.training.start import adopt

logger = logging.getLogger("gia_science")


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
    pretrained : SavedPretrained or None
        The network to start from.
    """

    recipe: Recipe
    tokenizer: DomainTokenizer[Any]
    targets: Targets
    rows: list[Row]
    split: Split
    left_out: tuple[BadRow, ...]
    duplicates: Duplicates
    pretrained: SavedPretrained | None = None


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
    pretrained = None
    if recipe.pretrained is not None:
        pretrained = load_pretrained(recipe.pretrained.folder)
        recipe = adopt(recipe, pretrained)
    table = open_rows(recipe.data, table)
    _check_columns(recipe, table)
    recipe = _resolve(recipe, table)
    tokenizer = make_tokenizer(
        str(recipe.data.domain),
        options=recipe.tokens,
        vocabulary=None if pretrained is None else pretrained.featurizer.tokenizer.vocabulary,
    )
    targets = _targets(recipe, table)
    recipe = recipe.updated({"target.kind": targets.kind, "target.labels": targets.labels})
    rows, left_out, places = _read(recipe, table, tokenizer=tokenizer, targets=targets)
    tell_missing(rows, targets)
    duplicates = find_duplicates(rows)
    tell_duplicates(duplicates, rows=rows, targets=targets)
    strata = [_stratum(row) for row in rows] if targets.kind in ("binary", "multiclass") else None
    split = split_rows(recipe.split, table, rows=rows, places=places, strata=strata)
    return Prepared(recipe, tokenizer, targets, rows, split, left_out, duplicates, pretrained)


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


def _resolve(recipe: Recipe, table: LoadedTable) -> Recipe:
    known = recognise(recipe.data, table, input=recipe.data.input or _only_column(recipe, table))
    if known["data.input"] in (*recipe.target.names, *recipe.data.columns):
        raise RecipeError(
            "a column cannot be input and something else at once",
            got=repr(known["data.input"]),
            hint="say the input column with --input",
        )
    domain = str(known["data.domain"])
    descriptors = recipe.descriptors if recipe.descriptors is not None else DOMAIN_DEFAULTS.get(domain, ())
    _check_descriptors(descriptors, domain)
    hidden = {
        f"network.{name}": value
        for name, value in REGULARISATION[domain].items()
        if getattr(recipe.network, name) is None
    }
    return recipe.updated({**hidden, **known, "descriptors": list(descriptors)})


def _check_descriptors(names: Sequence[str], domain: str) -> None:
    for name in names:
        if provider(name).domain != domain:
            known = [other for other in PROVIDERS if provider(other).domain == domain]
            raise RecipeError(
                f"the descriptors {name} are not for {domain} input",
                expected=" or ".join(known),
                hint="leave descriptors out to get the usual ones",
            )


def _only_column(recipe: Recipe, table: LoadedTable) -> str | None:
    """The one column without another use, where no name tells which column is the input."""
    used = {*recipe.target.names, *recipe.data.columns, recipe.split.column}
    left = [column for column in table.columns if column not in used]
    return left[0] if len(left) == 1 and guess_column(table.columns) is None else None


def _targets(recipe: Recipe, table: LoadedTable) -> Targets:
    names = recipe.target.names
    # In a row with too many or too few cells, another column's content may stand under the target.
    sound = [record.cells for record in table.records if record.problem is None]
    cells = [[row[place] for row in sound] for place in map(table.position, names)]
    texts = [row[table.position(str(recipe.data.input))] for row in sound]
    per_token = recipe.data.domain == "protein" and len(names) == 1 and _label_per_residue(cells[0], texts)
    kind: TaskKind = recipe.target.kind or ("per_token" if per_token else infer_kind(cells))
    if kind == "per_token" and recipe.data.domain != "protein":
        raise RecipeError(
            "labels for each residue need protein input",
            got=str(recipe.data.domain),
            hint="--kind multiclass?",
        )
    count = len(names)
    units = recipe.target.units or ("",) * count
    if kind == "regression":
        logger.info("target: %s, numbers", ", ".join(names))
        return Targets(names=names, kind=kind, mean=(0.0,) * count, scale=(1.0,) * count, units=units)
    if count > 1 and kind != "multilabel":
        raise RecipeError(f"a {kind} task has one target", got=", ".join(names))
    labels = recipe.target.labels or find_labels(kind, cells, names=names)
    shown = ", ".join(labels[:10]) + (", ..." if len(labels) > 10 else "")
    logger.info("target: %s, %s with labels %s", ", ".join(names), kind, shown)
    described = {"names": names, "kind": kind, "labels": labels, "units": units}
    return validate(Targets, described, error=RecipeError, what="the target")


def _label_per_residue(cells: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether nearly all cells are a word as long as the input beside it, as labels of residues are."""
    pairs = [(cell.strip(), text.strip()) for cell, text in zip(cells, texts, strict=True)]
    known = [(cell, text) for cell, text in pairs if not is_missing(cell) and len(text) > 1]
    if len({len(text) for _, text in known}) < 2 or any(is_number(cell) for cell, _ in known):
        return False
    return sum(len(cell) == len(text) for cell, text in known) >= 0.9 * len(known)


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


def _stratum(row: Row) -> int:
    return -1 if math.isnan(row.target[0]) else int(row.target[0])

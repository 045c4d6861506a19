"""From a recipe to the rows of an experiment: recognised, read, checked and split before any training."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gia_science.data.duplicates import Duplicates, find_duplicates, resolve_duplicates
from gia_science.data.inference import infer_targets
from gia_science.data.record import LoadedTable
from gia_science.data.rows import BadRow, Row
from gia_science.data.source import only_column, refuse_two_uses
from gia_science.data.splits.base import Split
from gia_science.data.splits.methods import SplitInput
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError, TableError, UnreadableInputError, Where, counted
from gia_science.model.pretrained import SavedPretrained, load_pretrained
from gia_science.tokens.alignment import (
    OPEN,
    are_aligned,
    consensus_of,
    departures,
    template_of,
    usual_length,
)
from gia_science.tokens.base_tokenizer import BaseTokenizer
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS, PROVIDERS, provider
from gia_science.tokens.domain import make_tokenizer, require_domain
from gia_science.tokens.protein import MOST_SITES
from gia_science.tokens.stream import IntArray
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.base import Base, adopt_base, is_own, longest_input, look_at_base
from gia_science.training.intake import open_rows, read_usable, recognise, require_rows, split_rows
from gia_science.training.network_recipe import ALIGNED, READS_DESCRIPTORS, REGULARISATION, usual_members
from gia_science.training.notices import tell_duplicates, tell_missing, tell_resolved
from gia_science.training.optimizer_recipe import LENGTHS, open_length
from gia_science.training.recipe import Recipe
from gia_science.training.rotation import FOLDS, MemberRows, Unjudged, learnt_rows, member_rows
from gia_science.training.start import adopt

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
    recipe = _with_blend(with_members(recipe, len(rows)), targets)
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


def with_members(recipe: Recipe, rows: int) -> Recipe:
    """The recipe with the usual number of networks, where neither it nor a time to train in decides that."""
    if recipe.network.members is not None or recipe.training.time is not None:
        return recipe
    return recipe.updated({"network.members": usual_members(rows)})


def _with_blend(recipe: Recipe, targets: Targets) -> Recipe:
    """The recipe with a forest beside the networks, where it says nothing and there can be one.

    Descriptors say of variants which residues there are, not where, which the networks know: a forest is no help there.
    Descriptors that neither networks nor a forest would read are not computed.
    """
    wanted = recipe.network.blend
    if wanted is None:
        variants = any(recipe.tokens.get(name) for name in READS_MUTATIONS)
        told = recipe.data.columns or (recipe.descriptors and not variants)
        possible = recipe.backbone is None and recipe.target.loss != "quantile" and targets.can_blend
        wanted = bool(told) and possible
    read = recipe.descriptors if wanted else recipe.network.descriptors
    return recipe.updated({"network.blend": wanted, "descriptors": list(read or ())})


def with_start(recipe: Recipe) -> tuple[Recipe, SavedPretrained | None, Base | None]:
    """What training starts from, a pretrained network or a model from elsewhere, and the recipe with what it decides.

    Raises
    ------
    RecipeError, ModelFolderError, BaseModelError
        When it cannot be read, or the recipe sets something else.
    """
    backbone = recipe.backbone
    if backbone is not None:
        if not is_own(backbone.pretrained):
            base = look_at_base(backbone.pretrained)
            return adopt_base(recipe, base), None, base
        members = {} if "members" in recipe.network.model_fields_set else {"network.members": 1}
        recipe = recipe.updated({"pretrained.folder": backbone.pretrained, **members})
    if recipe.pretrained is None:
        return recipe, None, None
    pretrained = load_pretrained(recipe.pretrained.folder)
    return adopt(recipe, pretrained), pretrained, None


def settle(
    recipe: Recipe, table: LoadedTable, *, pretrained: SavedPretrained | None, base: Base | None = None
) -> tuple[Recipe, DomainTokenizer[Any]]:
    """The recipe with everything that is recognised from the table filled in, and its tokenizer.

    Raises
    ------
    TableError, RecipeError
        When the input column or its domain is not clear, or descriptors are of another domain.
    """
    recipe = _resolve(recipe, table)
    known = None if pretrained is None else pretrained.featurizer.tokenizer.vocabulary
    vocabulary = known if base is None else base.vocabulary
    return recipe, make_tokenizer(str(recipe.data.domain), options=recipe.tokens, vocabulary=vocabulary)


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


def _resolve(recipe: Recipe, table: LoadedTable) -> Recipe:
    used = {*recipe.target.names, *recipe.data.columns, recipe.split.column}
    known = recognise(recipe.data, table, input=recipe.data.input or only_column(table, used))
    refuse_two_uses(known["data.input"], used - {recipe.split.column})
    domain = str(known["data.domain"])
    descriptors = recipe.descriptors if recipe.descriptors is not None else DOMAIN_DEFAULTS[domain]
    _check_descriptors(descriptors, domain)
    places = _aligned(recipe, table, known)
    aligned = places or any(recipe.tokens.get(name) for name in SAYS_PLACES)
    usual: dict[str, Any] = {
        f"network.{name}": value
        for name, value in (ALIGNED if aligned else REGULARISATION[domain]).items()
        if getattr(recipe.network, name) is None
    }
    usual["network.descriptors"] = _read_by_networks(recipe, descriptors, domain)
    usual |= open_length(recipe.training, LENGTHS[domain])
    return recipe.updated({**usual, **known, **places, "descriptors": list(descriptors)})


def _read_by_networks(recipe: Recipe, descriptors: Sequence[str], domain: str) -> list[str]:
    """The descriptors that the networks read: those asked for, or all where the recipe names them, else the usual."""
    asked = recipe.network.descriptors
    if asked is None:
        usual = descriptors if recipe.descriptors is not None else READS_DESCRIPTORS[domain]
        return [name for name in descriptors if name in usual]
    strange = sorted(set(asked) - set(descriptors))
    if strange:
        raise RecipeError(
            "network.descriptors: networks read only what is among the descriptors",
            got=", ".join(strange),
            expected=", ".join(descriptors) or "none",
            hint="name them in descriptors too",
        )
    return list(asked)


def _aligned(recipe: Recipe, table: LoadedTable, known: Mapping[str, Any]) -> dict[str, Any]:
    """Sequences of one length are variants, or an alignment: their places are told apart where nothing is said."""
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


def _check_descriptors(names: Sequence[str], domain: str) -> None:
    for name in names:
        if provider(name).domain != domain:
            known = [other for other in PROVIDERS if provider(other).domain == domain]
            raise RecipeError(
                f"the descriptors {name} are not for {domain} input",
                expected=" or ".join(known),
                hint="leave descriptors out to get the usual ones",
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

"""Training on rows in memory, with targets and weights as numbers: the networks of `run` without its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from gia_science.data.duplicates import find_duplicates
from gia_science.data.record import LoadedTable
from gia_science.data.rows import Row
from gia_science.data.splits.at_random import random_split
from gia_science.data.splits.base import Split, split_of_parts
from gia_science.data.splits.groups import group_split
from gia_science.data.splits.stored import split_record
from gia_science.data.splits.strata import class_strata
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError
from gia_science.model.folder import SavedModel
from gia_science.model.pretrained import SavedPretrained
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.base import Base
from gia_science.training.blend import blended
from gia_science.training.budget import within_time
from gia_science.training.card import unscored_card
from gia_science.training.encode import encode
from gia_science.training.members import fit_members
from gia_science.training.prepare import Prepared
from gia_science.training.recipe import Recipe
from gia_science.training.rotation import Unjudged
from gia_science.training.settle import settle, with_members, with_start

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Settled:
    """A recipe with everything filled in, and what the networks start from.

    Parameters
    ----------
    recipe : Recipe
    tokenizer : DomainTokenizer
    pretrained : SavedPretrained or None
    start : SavedModel or None
        A trained model to go on from.
    base : Base or None
        A model from elsewhere to adapt.
    """

    recipe: Recipe
    tokenizer: DomainTokenizer[Any]
    pretrained: SavedPretrained | None = None
    start: SavedModel | None = None
    base: Base | None = None


@dataclass(frozen=True)
class Measured:
    """Rows with their targets, and how much each counts.

    Parameters
    ----------
    rows : sequence of Row
    weights : (n,) float64
        Not negative, not all 0.
    groups : sequence of str, optional
        Rows of one group are not parted by the inner split.
    """

    rows: Sequence[Row]
    weights: FloatArray
    groups: Sequence[str] | None = None


def settle_arrays(
    settings: Mapping[str, Any], table: LoadedTable, *, start: SavedModel | None = None
) -> Settled:
    """Fill in a recipe for rows in memory.

    Parameters
    ----------
    settings : mapping
        Settings of a `Recipe` by their dotted names.
    table : LoadedTable
        The rows, with the input and numeric columns that the settings name.
    start : SavedModel, optional
        A trained model to go on from: it decides the domain, the columns and all of the network but its members.

    Raises
    ------
    RecipeError
        When a setting is not valid, or not that of what training starts from.
    TableError
        When the domain is not clear.
    """
    if start is not None:
        settings = {**settings, **_decided(settings, start)}
    recipe, pretrained, base = with_start(Recipe.build(settings))
    if start is not None:
        tokenizer: DomainTokenizer[Any] = start.featurizer.tokenizer
        return Settled(recipe, tokenizer, start=start)
    recipe, tokenizer = settle(recipe, table, pretrained=pretrained, base=base)
    return Settled(recipe, tokenizer, pretrained=pretrained, base=base)


def fit_arrays(
    settled: Settled,
    measured: Measured,
    *,
    targets: Targets,
    validation: float,
    progress: bool | None = None,
) -> SavedModel:
    """Train the networks of a recipe on rows in memory.

    Rows that are the same in input, numbers and targets become one row with the sum of their weights, and rows are put
    in an order of their own. So a row of weight 2 is exactly the row standing twice, one of weight 0 is exactly no row,
    and the order of the rows changes nothing.

    Parameters
    ----------
    settled : Settled
    measured : Measured
    targets : Targets
        Not scaled yet.
    validation : float
        Share of the different inputs that choose the epoch; none where that is less than one input. Of several members
        each leaves out another such share, as `Prepared.rotated` tells.
    progress : bool, optional
        As in `fit_network`.

    Raises
    ------
    TrainingError
        When a loss is no longer finite.
    """
    measured = merge_equal(measured)
    recipe = with_members(settled.recipe, len(measured.rows))
    split = inner_split(measured, targets, fraction=validation, seed=recipe.split.seed)
    rows = list(measured.rows)
    prepared = Prepared(
        recipe=recipe,
        tokenizer=settled.tokenizer,
        targets=targets,
        rows=rows,
        split=split,
        left_out=(),
        duplicates=find_duplicates(rows),
        pretrained=settled.pretrained,
        base=settled.base,
        weights=relative_weights(measured.weights),
        unjudged=Unjudged(validation, kept_together(measured)) if validation else None,
    )
    start = settled.start
    encoded = encode(prepared, featurizer=None if start is None else start.featurizer)
    prepared = within_time(prepared, encoded)
    trained = None if start is None else start.network
    members = fit_members(prepared, encoded, start=trained, progress=progress)
    network, targets = blended(prepared, encoded, members)
    parameters = sum(member.parameters for member in members)
    return SavedModel(
        network=network,
        targets=targets,
        featurizer=encoded.featurizer,
        data=recipe.data,
        recipe=prepared.recipe.to_yaml(),
        split=split_record(rows, split),
        metrics={"parameters": parameters, "members": [member.to_json() for member in members]},
        card=unscored_card(prepared, targets=targets, parameters=parameters),
    )


def merge_equal(measured: Measured) -> Measured:
    """Equal rows as one with the sum of their weights, rows of weight 0 left out, in an order of their own."""
    first: dict[tuple[str, bytes, bytes, str], int] = {}
    sums: dict[tuple[str, bytes, bytes, str], float] = {}
    groups = measured.groups
    for place, (row, weight) in enumerate(zip(measured.rows, measured.weights.tolist(), strict=True)):
        if weight == 0:
            continue
        group = "" if groups is None else groups[place]
        key = row.reading.identity, row.numbers.tobytes(), row.target.tobytes(), group
        first.setdefault(key, place)
        sums[key] = sums.get(key, 0.0) + weight
    order = sorted(first)
    return Measured(
        [measured.rows[first[key]] for key in order],
        np.array([sums[key] for key in order]),
        None if groups is None else [key[3] for key in order],
    )


def relative_weights(weights: FloatArray) -> FloatArray | None:
    """Weights with a mean of 1; None where they are all equal."""
    if (weights == weights[0]).all():
        return None
    # By the largest first, so that the sum of huge weights stays finite.
    shares = weights / weights.max()
    relative: FloatArray = shares / shares.mean()
    return relative


def inner_split(measured: Measured, targets: Targets, *, fraction: float, seed: int) -> Split:
    """Rows to train on, and rows that choose the epoch: whole inputs, and whole groups where there are groups.

    Parameters
    ----------
    measured : Measured
    targets : Targets
        Of classes each part has its share.
    fraction : float
        Share of the different inputs or groups; none are held out where that is less than one.
    seed : int
    """
    together = kept_together(measured)
    if int(len(set(together)) * fraction) == 0:
        return split_of_parts(np.zeros(len(together), dtype=np.int64), "no rows held out")
    fractions = (1 - fraction, fraction, 0.0)
    if measured.groups is not None:
        return group_split(together, fractions=fractions, seed=seed)
    return random_split(together, fractions=fractions, seed=seed, strata=class_strata(measured.rows, targets))


def kept_together(measured: Measured) -> list[str]:
    """Label of each row ``(n,)``, shared by the rows that no inner split parts."""
    identities = [row.reading.identity for row in measured.rows]
    return identities if measured.groups is None else linked(identities, measured.groups)


def linked(identities: Sequence[str], groups: Sequence[str]) -> list[str]:
    """Label (n,) of each row such that rows that share an input or a group share it, over any number of steps."""
    count = len(identities)
    _, input_of = np.unique(np.array(identities, dtype=object), return_inverse=True)
    _, group_of = np.unique(np.array(groups, dtype=object), return_inverse=True)
    edges = coo_array((np.ones(count), (input_of, count + group_of)), shape=(2 * count, 2 * count))
    _, label = connected_components(edges, directed=False)
    return [str(number) for number in label[input_of].tolist()]


def _decided(settings: Mapping[str, Any], start: SavedModel) -> dict[str, Any]:
    """Settings that a trained model decides; raises `RecipeError` where others are asked for."""
    config, featurizer = start.network.config, start.featurizer
    decided: dict[str, Any] = {
        "data.domain": featurizer.tokenizer.domain,
        "data.columns": list(featurizer.source.columns),
        "tokens": dict(featurizer.tokenizer.options),
        "descriptors": [provider.name for provider in featurizer.source.providers],
        "network.width": config.width,
        "network.layers": config.layers,
        "network.expansion": config.expansion,
        "network.attention": config.attention.model_dump(mode="json"),
        "network.pooling": config.pooling,
        "network.dropout": config.dropout,
        "network.token_dropout": config.token_dropout,
        "network.context_dropout": config.context_dropout,
        "network.descriptor_dropout": config.descriptor_dropout,
        "network.max_length": featurizer.max_length,
    }
    for name, value in settings.items():
        section = name.split(".")[0]
        fixed = name in decided or section in ("network", "tokens", "descriptors")
        if fixed and name != "network.members" and value != decided.get(name):
            raise RecipeError(
                f"{name} is not that of the model to start from",
                got=str(value),
                expected=str(decided.get(name)),
                hint="leave it out",
            )
    return decided

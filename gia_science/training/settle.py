"""A recipe with everything filled in that it leaves open: from the table, and from what training starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gia_science.data.record import LoadedTable
from gia_science.data.source import only_column, refuse_two_uses
from gia_science.data.targets import Targets
from gia_science.errors import RecipeError
from gia_science.model.pretrained import SavedPretrained, load_pretrained
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS, PROVIDERS, provider
from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.tokenizer import DomainTokenizer
from gia_science.training.base import Base, adopt_base, is_own, look_at_base
from gia_science.training.intake import recognise
from gia_science.training.network_recipe import ALIGNED, READS_DESCRIPTORS, REGULARISATION, usual_members
from gia_science.training.optimizer_recipe import LENGTHS, open_length
from gia_science.training.recipe import Recipe
from gia_science.training.start import adopt
from gia_science.training.variants import reads_mutations, recognised_places, says_places


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


def _resolve(recipe: Recipe, table: LoadedTable) -> Recipe:
    used = {*recipe.target.names, *recipe.data.columns, recipe.split.column}
    known = recognise(recipe.data, table, input=recipe.data.input or only_column(table, used))
    refuse_two_uses(known["data.input"], used - {recipe.split.column})
    domain = str(known["data.domain"])
    descriptors = recipe.descriptors if recipe.descriptors is not None else DOMAIN_DEFAULTS[domain]
    _check_descriptors(descriptors, domain)
    places = recognised_places(recipe, table, known)
    aligned = places or says_places(recipe)
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


def _check_descriptors(names: Sequence[str], domain: str) -> None:
    for name in names:
        if provider(name).domain != domain:
            known = [other for other in PROVIDERS if provider(other).domain == domain]
            raise RecipeError(
                f"the descriptors {name} are not for {domain} input",
                expected=" or ".join(known),
                hint="leave descriptors out to get the usual ones",
            )


def with_members(recipe: Recipe, rows: int) -> Recipe:
    """The recipe with the usual number of networks, where neither it nor a time to train in decides that."""
    if recipe.network.members is not None or recipe.training.time is not None:
        return recipe
    return recipe.updated({"network.members": usual_members(rows)})


def with_blend(recipe: Recipe, targets: Targets) -> Recipe:
    """The recipe with a forest beside the networks, where it says nothing and there can be one.

    Descriptors say of variants which residues there are, not where, which the networks know: a forest is no help there.
    Descriptors that neither networks nor a forest would read are not computed.
    """
    wanted = recipe.network.blend
    if wanted is None:
        told = recipe.data.columns or (recipe.descriptors and not reads_mutations(recipe))
        possible = recipe.backbone is None and recipe.target.loss != "quantile" and targets.can_blend
        wanted = bool(told) and possible
    read = recipe.descriptors if wanted else recipe.network.descriptors
    return recipe.updated({"network.blend": wanted, "descriptors": list(read or ())})

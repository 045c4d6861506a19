"""What the package knows of a domain, it knows of every domain: no table leaves one out, no help keeps one back."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import gia_science
from gia_science.cli import options
from gia_science.data.card_schema import DatasetCard
from gia_science.data.source import DataSource
from gia_science.tokens.domain import DOMAINS

ROOT = Path(__file__).parent.parent
SOME = {
    "tokens.policies._WORDS",
    "tokens.policies._ALWAYS",
    "tokens.descriptors.DOMAIN_DEFAULTS",
    "data.splits.methods.FAMILIES",
    "evaluation.similarity.MEASURES",
    "evaluation.baselines.nearest._MATRIX",
    "evaluation.baselines.registry._LINEAR",
    "evaluation.graph_figure._FIGURES",
    "training.network_recipe.REGULARISATION",
    "training.blend.TRIED_OF_CLASSES",
    "training.network_recipe.READS_DESCRIPTORS",
    "training.optimizer_recipe.LENGTHS",
    "prediction.graph._UNIT_KINDS",
}
"""Tables that the search has to find, or it finds nothing."""


def tables() -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Every mapping at the head of a module that has more than one domain among its keys."""
    for info in pkgutil.walk_packages(gia_science.__path__, "gia_science."):
        if not info.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(info.name)).items():
                if isinstance(value, Mapping) and len(DOMAINS.keys() & value.keys()) > 1:
                    yield f"{info.name.partition('.')[2]}.{name}", value


def test_no_table_by_domain_leaves_a_domain_out() -> None:
    found = dict(tables())
    assert found.keys() >= SOME
    lacking = {name: sorted(DOMAINS.keys() - table.keys()) for name, table in found.items()}
    assert {name: domains for name, domains in lacking.items() if domains} == {}


def test_dataset_cards_may_be_of_every_domain() -> None:
    assert set(get_args(DatasetCard.model_fields["domain"].annotation)) == set(DOMAINS)


def test_whoever_asks_for_a_domain_is_told_all_of_them() -> None:
    (option,) = get_args(options.Domain)[1:]
    page = (ROOT / "docs" / "howto" / "own_data.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"`--domain (\S+\|\S+)`", page)
    for text in (option.help, DataSource.model_fields["domain"].description, listed):
        assert DOMAINS.keys() <= set(re.findall(r"\w+", text)), text

"""Every option of every domain has words, for each of its values."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import get_args

import pytest

from gia_science.tokens.domain import DOMAINS, make_tokenizer
from gia_science.tokens.policies import describe_options

VALUES: Mapping[object, tuple[object, ...]] = {bool: (False, True), int: (0, 1), str: ("", "M?K")}
PLACES = ("sites", "template", "reference")
"""Of these at most one may be given."""


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_choice_is_described_and_no_two_alike(domain: str) -> None:
    fields = DOMAINS[domain].options.model_fields
    values = [get_args(field.annotation) or VALUES[field.annotation] for field in fields.values()]
    given = [dict(zip(fields, choice, strict=True)) for choice in product(*values)]
    for options in given:
        if options.get("reference"):
            options["reference"] = "MRK"
    possible = [options for options in given if sum(bool(options.get(name)) for name in PLACES) < 2]
    described = set()
    for choice in possible:
        options = make_tokenizer(domain, options=choice).options
        lines = describe_options(domain, options)
        assert len(lines) > len(fields)
        for name, value in options.items():
            shown = str(value).lower() if isinstance(value, bool) else value
            assert sum(line.endswith(f"(`{name}: {shown}`)") for line in lines) == 1
        described.add(tuple(lines))
    assert len(described) == len(possible)


def test_a_long_template_is_cut_in_the_card() -> None:
    (line,) = [
        line for line in describe_options("protein", {"template": "?" + "MK" * 200}) if "template:" in line
    ]
    assert line.endswith("MKM...`)")
    assert len(line) < 300

"""Every option of every domain has words, for each of its values."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from gia_science.tokens.domain import DOMAINS, make_tokenizer
from gia_science.tokens.policies import describe_options


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_choice_is_described_and_no_two_alike(domain: str) -> None:
    fields = DOMAINS[domain].options.model_fields
    values = [get_args(field.annotation) or (False, True) for field in fields.values()]
    described = set()
    for choice in product(*values):
        options = make_tokenizer(domain, options=dict(zip(fields, choice, strict=True))).options
        lines = describe_options(domain, options)
        assert len(lines) > len(fields)
        for name, value in options.items():
            assert sum(line.endswith(f"(`{name}: {str(value).lower()}`)") for line in lines) == 1
        described.add(tuple(lines))
    assert len(described) == len(list(product(*values)))

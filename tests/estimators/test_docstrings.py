"""The examples that users read run, and give what they say."""

from __future__ import annotations

import doctest

import pytest

from gia_science.estimators import embedder, supervised


@pytest.mark.parametrize("module", [embedder, supervised], ids=lambda module: module.__name__)
def test_the_examples_run(module) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 3
    assert result.failed == 0

"""Pictures of the graph of an input: every domain has one of its own kind."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.image import imread

from gia_science.evaluation.graph_figure import input_figure
from gia_science.tokens.domain import DOMAINS, make_tokenizer

TEXTS = {"smiles": "CC(=O)Nc1ccc(O)cc1", "protein": "MKTAYIAKQR", "composition": "Hg0.7Cd0.3Te"}


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_graph_of_every_domain_is_drawn_and_depends_on_the_weights(domain: str) -> None:
    tokenizer, text = make_tokenizer(domain), TEXTS[domain]
    reading = tokenizer.read(text)
    labels, rng = tokenizer.names(reading, text), np.random.default_rng(0)
    pictures = [
        imread(io.BytesIO(input_figure(domain, reading.parsed, labels, weights, title="weights")))
        for weights in rng.random((2, len(labels), len(labels)))
    ]
    assert min(pictures[0].shape[:2]) > 500
    assert pictures[0].shape == pictures[1].shape
    assert not np.array_equal(*pictures)

"""A real pretrained model, AntiBERTy: its numbers make sense, and fine-tuning works on it from end to end."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.antiberty import FetchError, fetch
from gia_science.data.source import dataset_table
from gia_science.model.base_weights import quiet_transformers
from gia_science.prediction.api import load
from gia_science.tokens.domain import make_tokenizer
from gia_science.training.api import finetune
from gia_science.training.base import look_at_base

pytestmark = pytest.mark.slow
HEAVY_CHAIN = (
    "EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAEDTAVYYCSRWGGDGFYAMDYWGQ"
    "GTLVTVSS"
)
"""Variable domain of the heavy chain of trastuzumab (PDB 1N8Z, chain B)."""


@pytest.fixture(scope="module")
def base() -> Path:
    try:
        return fetch()
    except FetchError as error:
        pytest.skip(str(error))


def perplexity(folder: Path, residues: str) -> float:
    """Of every third residue, each hidden alone, by the heads that the checkpoint has."""
    from transformers import AutoModelForMaskedLM

    looked = look_at_base(str(folder))
    tokenizer = make_tokenizer("protein", vocabulary=looked.vocabulary)
    stream = tokenizer.encode(tokenizer.read(residues))
    assert looked.vocabulary.unknown_share([stream]) == 0
    with quiet_transformers():
        model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True, weights_only=True).eval()
    ids = torch.from_numpy(stream.ids)
    places = torch.from_numpy(np.flatnonzero(stream.units >= 0)[::3])
    hidden = ids.repeat(len(places), 1)
    hidden[torch.arange(len(places)), places] = looked.vocabulary.ids["[MASK]"]
    with torch.no_grad():
        scores = model(input_ids=hidden).logits[torch.arange(len(places)), places]
    return math.exp(torch.nn.functional.cross_entropy(scores, ids[places]))


def test_an_antibody_is_no_surprise_and_its_shuffled_residues_are(base: Path) -> None:
    """Of twenty equally likely residues it is 20; a wrong vocabulary or wrong special tokens come near that."""
    shuffled = "".join(np.random.default_rng(0).permutation(list(HEAVY_CHAIN)))
    assert perplexity(base, HEAVY_CHAIN) < 3
    assert perplexity(base, shuffled) > 10


def test_peptides_are_fine_tuned_predicted_and_embedded(base: Path, tmp_path: Path) -> None:
    table = dataset_table("amp")
    places = [*range(40), *range(4600, 4620)]
    rows = pd.DataFrame([table.records[place].cells for place in places], columns=list(table.columns))
    epoch = {"training.epochs": 1, "training.min_steps": 1, "baselines": []}
    options = {"target": "label", "settings": epoch, "progress": False}
    model = finetune(rows, base=base, adapter="sparse-gin", out=tmp_path / "model", **options)
    again = load(tmp_path / "model")
    sequences = list(rows["sequence"][:5])
    assert np.array_equal(model.embed(sequences), again.embed(sequences))
    assert [len(vectors) for vectors in again.embed(sequences, tokens=True)] == [len(x) for x in sequences]
    assert again.predict(sequences)["status"].tolist() == ["ok"] * 5
    assert sum(path.stat().st_size for path in (tmp_path / "model").iterdir()) < 5_000_000

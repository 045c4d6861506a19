"""Nearest neighbours: equal inputs have similarity 1, values are the plain definitions', chunks change nothing."""

from __future__ import annotations

from operator import ne
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

from gia_science.evaluation import similarity
from gia_science.evaluation.similarity import nearest
from gia_science.tokens.domain import DOMAINS, make_tokenizer

TEXTS = {
    "smiles": ["CCO", "c1ccccc1", "CCN", "CC(=O)O", "c1ccncc1"],
    "protein": ["GIGKFLHSAKKFGKAFVGEIMNS", "MKVLAWW", "JJJJXX", "RRWWRRWW", "A"],
    "composition": ["NaCl", "Fe2O3", "TiO2", "GaAs", "FeO"],
}


def readings(domain: str, texts: list[str]) -> list:
    tokenizer = make_tokenizer(domain)
    return [tokenizer.read(text) for text in texts]


@pytest.mark.parametrize("domain", DOMAINS)
def test_an_equal_input_has_similarity_one_and_others_have_less(domain) -> None:
    rows = readings(domain, TEXTS[domain])
    assert nearest(domain, rows, rows).similarity == pytest.approx(np.ones(5))
    apart = nearest(domain, rows[:2], rows[2:]).similarity
    assert ((apart >= 0) & (apart < 1)).all()


def test_molecules_are_compared_by_tanimoto_of_morgan_bits() -> None:
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    one, *others = (generator.GetFingerprint(Chem.MolFromSmiles(text)) for text in TEXTS["smiles"])
    expected = max(DataStructs.TanimotoSimilarity(one, other) for other in others)
    rows = readings("smiles", TEXTS["smiles"])
    assert nearest("smiles", rows[:1], rows[1:]).similarity.tolist() == [expected]


def test_compositions_are_compared_by_what_they_share() -> None:
    (found,) = nearest(
        "composition", readings("composition", ["Fe0.7Ni0.3"]), readings("composition", ["FeNi"])
    ).similarity
    assert found == pytest.approx(0.8)


def test_identity_is_counted_by_the_sequence_that_is_held_out() -> None:
    whole = "GIGKFLHSAKKFGKAFVGEIMNSWWYY"
    rows = readings("protein", [whole[:20], whole[:10] + "A" * 10])
    found = nearest("protein", rows, readings("protein", ["DDDDEEEE", whole])).similarity
    assert found[0] == 1
    assert 0.5 <= found[1] < 0.7
    (short,) = nearest("protein", rows[:1], readings("protein", ["GI"])).similarity
    assert short == 0.1


AMINO = "ACDEFGHIKLMNPQRSTVWY"


@given(
    st.text(AMINO, min_size=20, max_size=120),
    st.lists(st.tuples(st.integers(0), st.sampled_from(AMINO)), max_size=2),
)
def test_variants_taken_as_they_stand_are_about_as_near_as_their_alignment_says(parent, mutations) -> None:
    residues = list(parent)
    for place, residue in mutations:
        residues[place % len(residues)] = residue
    variant = "".join(residues)
    rows = readings("protein", [variant, parent])
    aligned = similarity._aligner().align(variant, parent)[0].counts().identities / len(variant)
    (found,) = nearest("protein", rows[:1], rows[1:]).similarity
    assert found == pytest.approx(aligned, abs=len(mutations) / len(parent))
    assert found == pytest.approx(1 - sum(map(ne, variant, parent)) / len(parent))


def test_only_sequences_that_differ_in_more_are_aligned(monkeypatch) -> None:
    """Alignments of thousands of variants took longer than the training on them."""
    calls: list[str] = []

    class Counting:
        def align(self, one: str, other: str) -> Any:
            calls.append(one)
            return aligner.align(one, other)

    aligner = similarity._aligner()
    monkeypatch.setattr(similarity, "_aligner", Counting)
    parent = "GIGKFLHSAKKFGKAFVGEI"
    close, apart, longer = parent[:-1] + "W", "W" * 3 + parent[3:], parent + "W"
    rows = readings("protein", [close, apart, longer, parent])
    found = nearest("protein", rows[:3], rows[3:]).similarity
    assert calls == [apart, longer]
    assert found.tolist() == pytest.approx([0.95, 0.85, 20 / 21])


@pytest.mark.parametrize("domain", ["protein", "composition"])
def test_small_chunks_change_nothing(domain, monkeypatch) -> None:
    rows = readings(domain, TEXTS[domain])
    whole = nearest(domain, rows[:3], rows[3:]).similarity
    monkeypatch.setattr(similarity, "CHUNK_CELLS", 1)
    assert nearest(domain, rows[:3], rows[3:]).similarity.tolist() == whole.tolist()


def test_many_rows_are_sampled_by_the_seed(monkeypatch) -> None:
    monkeypatch.setattr(similarity, "MOST_ROWS", 4)
    rows = readings("smiles", ["C" * n for n in range(1, 21)])
    found = nearest("smiles", rows, rows, seed=1)
    assert len(found.rows) == len(found.similarity) == 4
    assert found.rows.tolist() == sorted(set(found.rows.tolist()))
    assert nearest("smiles", rows, rows, seed=1).rows.tolist() == found.rows.tolist()
    assert nearest("smiles", rows, rows, seed=2).rows.tolist() != found.rows.tolist()


def test_long_sequences_are_aligned_for_fewer_rows(monkeypatch) -> None:
    monkeypatch.setattr(similarity, "ALIGNED_CELLS", 0)
    rows = readings("protein", [letter + "ACDE" for letter in "ACDEFGHIKLMNPQRSTVWY" for _ in range(6)])
    assert len(nearest("protein", rows, rows[:5]).rows) == 100

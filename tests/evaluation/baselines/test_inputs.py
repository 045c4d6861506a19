"""What baselines see is what it says, and does not depend on how an input is written."""

from __future__ import annotations

import numpy as np
import pytest
from Bio.SeqUtils.ProtParam import ProteinAnalysis
from rdkit.Chem import Descriptors

from gia_science.errors import EvaluationError
from gia_science.evaluation.baselines.inputs import Inputs
from gia_science.tokens.domain import DOMAINS
from gia_science.tokens.residues import STANDARD


def test_molecules_are_morgan_counts_and_descriptors_whatever_their_spelling(make) -> None:
    table = make("smiles", ["OCC", "CCO", "c1ccccc1"]).descriptors
    assert table.shape == (3, 2048 + len(Descriptors.descList))
    np.testing.assert_array_equal(table[0], table[1])
    assert (table[0] != table[2]).any()
    counts = np.expm1(table[2, :2048])
    assert sorted(counts[counts > 0].round(6)) == [6, 6, 6], "six equal atoms with radius 0, 1 and 2"


def test_protein_features_are_composition_length_charge_and_hydropathy(make) -> None:
    sequence = "GLWSKIKEVGKEAAKAAAKAAGKAALGAVSEAV"
    (features,) = make("protein", [sequence]).descriptors
    analysis = ProteinAnalysis(sequence)
    assert features[:20] == pytest.approx([sequence.count(r) / len(sequence) for r in STANDARD])
    assert features[20:22].tolist() == [33, 6 - 3]
    assert features[22] == pytest.approx(analysis.gravy())


def test_unknown_residues_count_for_length_only(make) -> None:
    some, none = make("protein", ["KX", "XX"]).descriptors
    assert some[STANDARD.index("K")] == 0.5
    assert some[22] == pytest.approx(-3.9)
    assert none[20] == 2
    assert np.isnan(none[22])


def test_compositions_are_sets(make) -> None:
    inputs = make("composition", ["Na Cl", "Cl Na", "Fe"])
    np.testing.assert_allclose(inputs.descriptors[0], inputs.descriptors[1])
    np.testing.assert_array_equal(inputs.fractions.sum(axis=1), 1)
    assert inputs.fractions[2, 25] == 1.0


def test_numeric_columns_are_appended(make) -> None:
    table = make("protein", ["AC", "GG"], np.array([[310.0], [np.nan]])).descriptors
    assert table.shape == (2, 24)
    assert table[0, -1] == 310
    assert np.isnan(table[1, -1])


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_rows_give_a_table_of_the_same_width(make, domain: str) -> None:
    text = {"smiles": "C", "protein": "A", "composition": "Fe"}[domain]
    assert make(domain, []).descriptors.shape == (0, make(domain, [text]).descriptors.shape[1])


def test_an_unknown_domain_is_an_error() -> None:
    with pytest.raises(EvaluationError, match="'image'"):
        Inputs.of("image", [])

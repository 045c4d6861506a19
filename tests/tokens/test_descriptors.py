"""Whole-input descriptors: right where they are defined, NaN elsewhere, the same for the same thing."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from Bio.SeqUtils.ProtParam import ProteinAnalysis
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem
from rdkit.Chem import Descriptors

from gia_science.errors import DefinitionError
from gia_science.tokens.composition import CompositionTokenizer
from gia_science.tokens.descriptors import DOMAIN_DEFAULTS, PROVIDERS, DescriptorScaling, provider
from gia_science.tokens.elements import INDEX, element_table
from gia_science.tokens.stream import Reading

UBIQUITIN = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"
RDKIT, MORGAN, PROTPARAM = provider("rdkit2d"), provider("morgan_counts"), provider("protparam")
DIPEPTIDES, ELEMENTS = provider("dipeptides"), provider("element_stats")
FRACTIONS = provider("element_fractions")
COMPOSITIONS = CompositionTokenizer()


@dataclass
class Chain:
    residues: str


def molecule(smiles: str) -> Reading[Chem.Mol]:
    parsed = Chem.MolFromSmiles(smiles)
    return Reading(identity=Chem.MolToSmiles(parsed), parsed=parsed, length=parsed.GetNumAtoms())


def chain(residues: str) -> Reading[Chain]:
    return Reading(identity=residues, parsed=Chain(residues), length=len(residues))


def named(item, reading) -> dict[str, float]:
    return dict(zip(item.names, item.compute(reading).tolist(), strict=True))


def test_every_provider_is_known_by_its_own_name_and_domain():
    for name in PROVIDERS:
        item = provider(name)
        assert item.name == name
        assert item.domain in DOMAIN_DEFAULTS
        assert len(set(item.names)) == len(item.names)
    for domain, names in DOMAIN_DEFAULTS.items():
        assert {provider(name).domain for name in names} == {domain}


def test_an_unknown_provider_is_refused_with_a_suggestion():
    with pytest.raises(DefinitionError, match="did you mean 'rdkit2d'"):
        provider("rdkit2D")
    with pytest.raises(DefinitionError, match="there are: rdkit2d"):
        provider("xyz")


READINGS = [
    (RDKIT, molecule("CCO")),
    (MORGAN, molecule("CCO")),
    (PROTPARAM, chain("MKT")),
    (DIPEPTIDES, chain("MKT")),
    (ELEMENTS, COMPOSITIONS.read("NaCl")),
    (FRACTIONS, COMPOSITIONS.read("NaCl")),
]


@pytest.mark.parametrize(("item", "reading"), READINGS, ids=[item.name for item, _ in READINGS])
def test_one_float64_per_name_and_the_same_twice(item, reading):
    values = item.compute(reading)
    assert values.dtype == np.float64
    assert values.shape == (len(item.names),)
    np.testing.assert_array_equal(values, item.compute(reading))


@pytest.mark.parametrize(
    "smiles", ["C", "[Na+]", "[Na+].[Cl-]", "[Cu+2].[O-]S(=O)(=O)[O-]", "*CC", "C" * 300]
)
def test_rdkit_descriptors_are_finite_or_missing_and_quiet(smiles: str, capfd):
    values = RDKIT.compute(molecule(smiles))
    assert not np.isinf(values).any()
    assert np.isfinite(values).mean() > 0.9
    assert np.nanmax(np.abs(values)) < 1e5
    assert capfd.readouterr() == ("", "")


def test_rdkit_descriptors_are_rdkits_in_its_order():
    reading = molecule("CC(=O)Oc1ccccc1C(=O)O")
    found = named(RDKIT, reading)
    assert len(found) == len(Descriptors.descList)
    for name, function in Descriptors.descList:
        if name == "Ipc":
            assert found["log1p_Ipc"] == pytest.approx(math.log1p(function(reading.parsed)))
        else:
            assert found[name] == pytest.approx(function(reading.parsed)), name


def test_charge_descriptors_that_rdkit_cannot_compute_are_missing():
    assert math.isnan(named(RDKIT, molecule("[Na+]"))["BCUT2D_MWHI"])
    assert named(RDKIT, molecule("[Na+]"))["MolWt"] == pytest.approx(22.99, abs=0.01)


def test_descriptors_leave_the_molecule_as_it_was():
    reading = molecule("CCO")
    RDKIT.compute(reading)
    assert not any(atom.HasProp("_GasteigerCharge") for atom in reading.parsed.GetAtoms())


def test_morgan_counts_are_logarithms_of_counts_that_sum_to_the_environments():
    counts = np.expm1(MORGAN.compute(molecule("CCO")))
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-12)
    assert counts.sum() == pytest.approx(
        6
    )  # 3 atoms, 2 bond-ends and their centre: C, C, O; CH3-, -CH2-, -OH


def test_morgan_counts_do_not_depend_on_the_spelling():
    np.testing.assert_array_equal(MORGAN.compute(molecule("OCC")), MORGAN.compute(molecule("CCO")))


def test_protparam_is_biopythons():
    found, oracle = named(PROTPARAM, chain(UBIQUITIN)), ProteinAnalysis(UBIQUITIN)
    assert found["log_length"] == pytest.approx(math.log(76))
    assert found["molecular_weight"] == pytest.approx(oracle.molecular_weight())
    assert found["aromaticity"] == pytest.approx(oracle.aromaticity())
    assert found["instability_index"] == pytest.approx(oracle.instability_index())
    assert found["isoelectric_point"] == pytest.approx(oracle.isoelectric_point())
    assert found["gravy"] == pytest.approx(oracle.gravy())
    assert found["charge_ph7"] == pytest.approx(oracle.charge_at_pH(7.0))
    fractions = [found[f"{kind}_fraction"] for kind in ("helix", "turn", "sheet")]
    assert fractions == pytest.approx(list(oracle.secondary_structure_fraction()))
    extinction = (found["extinction_reduced"], found["extinction_cystines"])
    assert extinction == oracle.molar_extinction_coefficient()
    assert found["mean_flexibility"] == pytest.approx(np.mean(oracle.flexibility()))
    assert found["fraction_K"] == pytest.approx(7 / 76)


def test_aliphatic_index_and_hydrophobic_moment_by_hand():
    found = named(PROTPARAM, chain("AVIL"))
    assert found["aliphatic_index"] == pytest.approx(25 * (1 + 2.9 + 2 * 3.9))
    angles = np.radians(100) * np.arange(4)
    scale = np.array([0.62, 1.08, 1.38, 1.06])
    moment = np.hypot((scale * np.sin(angles)).sum(), (scale * np.cos(angles)).sum()) / 4
    assert found["hydrophobic_moment"] == pytest.approx(moment)


def test_an_amphipathic_helix_has_a_larger_moment_than_its_shuffle():
    magainin, shuffled = "GIGKFLHSAKKFGKAFVGEIMNS", "GGGGKKKKSSHNEFFFLIIVMAA"
    moment = "hydrophobic_moment"
    assert named(PROTPARAM, chain(magainin))[moment] > 1.5 * named(PROTPARAM, chain(shuffled))[moment]


def test_ambiguous_residues_are_left_out_of_everything_but_the_length():
    found, clean = named(PROTPARAM, chain("MKXXTBZJAOU")), named(PROTPARAM, chain("MKTA"))
    assert found.pop("log_length") == pytest.approx(math.log(11))
    del clean["log_length"]
    assert found == pytest.approx(clean, nan_ok=True)


def test_only_ambiguous_residues_leave_the_length():
    values = PROTPARAM.compute(chain("XBZ"))
    assert np.isfinite(values).tolist() == [True] + [False] * (len(values) - 1)


def test_a_single_residue_has_no_neighbour_descriptors():
    found = named(PROTPARAM, chain("W"))
    assert {name for name, value in found.items() if math.isnan(value)} == {
        "instability_index",
        "mean_flexibility",
    }
    assert np.isnan(DIPEPTIDES.compute(chain("W"))).all()


def test_dipeptides_are_fractions_of_standard_pairs():
    found = named(DIPEPTIDES, chain("AAGXAG"))
    assert (found["AA"], found["AG"]) == pytest.approx((1 / 3, 2 / 3))
    assert sum(found.values()) == pytest.approx(1)
    assert np.isnan(DIPEPTIDES.compute(chain("AXA"))).all()


@given(st.text(alphabet="ACDEFGHIKLMNPQRSTVWYBJOUXZ", min_size=1, max_size=40))
def test_protein_descriptors_are_never_infinite(residues: str):
    assert not np.isinf(PROTPARAM.compute(chain(residues))).any()
    assert not np.isinf(DIPEPTIDES.compute(chain(residues))).any()


def test_element_statistics_of_iron_oxide_by_hand():
    found = named(ELEMENTS, COMPOSITIONS.read("Fe2O3"))
    mean = 0.4 * 1.83 + 0.6 * 3.44
    expected = {
        "mean_electronegativity": mean,
        "deviation_electronegativity": 0.4 * (mean - 1.83) + 0.6 * (3.44 - mean),
        "min_electronegativity": 1.83,
        "max_electronegativity": 3.44,
        "range_electronegativity": 1.61,
        "mode_electronegativity": 3.44,
        "mean_atomic_number": 0.4 * 26 + 0.6 * 8,
        "n_elements": 2,
        "max_fraction": 0.6,
        "norm2": math.sqrt(0.52),
        "norm3": (0.4**3 + 0.6**3) ** (1 / 3),
        "mean_s_valence_share": 0.4 * 2 / 8 + 0.6 * 2 / 6,
        "deviation_d_valence_share": 0.4 * (0.75 - 0.3) + 0.6 * 0.3,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)


def test_an_element_without_a_property_is_left_out_and_the_weights_renormalised():
    table = element_table()
    modulus = table.raw[INDEX["As"], table.raw_names.index("bulk_modulus")]
    found = named(ELEMENTS, COMPOSITIONS.read("Ga3As"))
    assert found["mean_bulk_modulus"] == pytest.approx(modulus)
    assert found["range_bulk_modulus"] == 0
    assert math.isnan(found["mode_bulk_modulus"])


def test_a_property_that_no_element_has_is_missing():
    found = named(ELEMENTS, COMPOSITIONS.read("Ar"))
    for statistic in ("mean", "deviation", "min", "max", "range", "mode"):
        assert math.isnan(found[f"{statistic}_electronegativity"])


def test_several_most_abundant_elements_share_the_mode():
    assert named(ELEMENTS, COMPOSITIONS.read("NaCl"))["mode_atomic_number"] == pytest.approx(14)


@given(st.permutations(["Fe2", "O3", "Ar0.31", "Og7", "U1e-3"]))
def test_element_statistics_do_not_depend_on_the_order(parts: list[str]):
    expected = ELEMENTS.compute(COMPOSITIONS.read("Fe2O3Ar0.31Og7U1e-3"))
    np.testing.assert_array_equal(ELEMENTS.compute(COMPOSITIONS.read("".join(parts))), expected)


def test_element_fractions_are_those_of_the_formula():
    found = named(FRACTIONS, COMPOSITIONS.read("Fe2O3"))
    assert found["fraction_Fe"] == pytest.approx(0.4)
    assert found["fraction_O"] == pytest.approx(0.6)
    assert sum(found.values()) == pytest.approx(1)
    assert len(found) == len(INDEX)


def test_columns_are_fixed_at_training():
    """Trained on oxides, a salt alone has the same columns, and the numbers it has in a batch."""
    rows = np.stack([ELEMENTS.compute(COMPOSITIONS.read(text)) for text in ("Fe2O3", "MgO", "TiO2", "NaCl")])
    scaling = DescriptorScaling.fit(rows[:3], ELEMENTS.names)
    alone = scaling.transform(rows[3:], names=ELEMENTS.names)
    assert alone.shape == (1, len(scaling.names))
    np.testing.assert_array_equal(alone[0], scaling.transform(rows)[3])
    assert "range_electronegativity" in scaling.names
    assert "n_elements" in scaling.dropped


@pytest.mark.parametrize("length", [2, 9, 10, 11, 300, 1000])
def test_protein_descriptors_of_any_length_are_biopythons(length: int):
    residues = "".join(np.random.default_rng(length).choice([*"ACDEFGHIKLMNPQRSTVWY"], length))
    found, oracle = named(PROTPARAM, chain(residues)), ProteinAnalysis(residues)
    assert found["instability_index"] == pytest.approx(oracle.instability_index())
    assert found["gravy"] == pytest.approx(oracle.gravy())
    flexibility = oracle.flexibility()
    expected = np.mean(flexibility) if flexibility else math.nan
    assert found["mean_flexibility"] == pytest.approx(expected, nan_ok=True)
    pairs = named(DIPEPTIDES, chain(residues))
    for pair in ("AC", "YY", residues[:2]):
        count = sum(residues[place : place + 2] == pair for place in range(length - 1))
        assert pairs[pair] == pytest.approx(count / (length - 1))

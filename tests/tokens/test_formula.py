"""Reading formulas: what is one, what it means, and why something is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymatgen.core import Composition

from gia_science.errors import UnreadableInputError
from gia_science.tokens.elements import SYMBOLS
from gia_science.tokens.formula import MAX_TEXT, read_formula


def amounts(text: str, **expected: float) -> None:
    """The formula's fractions are those of the expected amounts."""
    total = sum(expected.values())
    found = dict(read_formula(text).fractions)
    assert found == pytest.approx({symbol: amount / total for symbol, amount in expected.items()}, abs=1e-6)


@pytest.mark.parametrize("text", ["CuSO4.5H2O", "CuSO4·5H2O", "CuSO4*5H2O", "CuSO4 . 5H2O", "CuSO4.5(H2O)"])
def test_waters_after_a_dot_are_a_hydrate_and_said_so(text: str):
    amounts(text, Cu=1, S=1, O=9, H=10)
    assert read_formula(text).notes == ("read as a hydrate: CuSO4 with 5 H2O",)


def test_other_hydrates():
    amounts("CaSO4.0.5H2O", Ca=1, S=1, O=4.5, H=1)
    amounts("CuSO4.H2O", Cu=1, S=1, O=5, H=2)
    amounts("Na0.3CoO2.1.3H2O", Na=0.3, Co=1, O=3.3, H=2.6)
    amounts("CuSO4·5D2O", Cu=1, S=1, O=9, H=10)


def test_a_decimal_point_before_water_is_not_a_hydrate():
    amounts("Fe0.5H2O", Fe=0.5, H=2, O=1)
    assert read_formula("Fe0.5H2O").notes == ()


def test_hydrates_can_be_refused():
    with pytest.raises(UnreadableInputError, match=r"CuSO4\(H2O\)5"):
        read_formula("CuSO4.5H2O", hydrates="refuse")
    assert read_formula("CuSO4(H2O)5", hydrates="refuse") == read_formula("CuSO4(H2O)5")


def test_brackets_of_three_kinds_nested_with_fractions():
    amounts("(NH4)2[FeCl5(H2O)]", N=2, H=10, Fe=1, Cl=5, O=1)
    amounts("{Fe(CN)6}2Zn3", Fe=2, C=12, N=12, Zn=3)
    amounts("((Fe0.5Ni0.5)0.5Co)2", Fe=0.5, Ni=0.5, Co=2)
    amounts("Fe(CO)5", Fe=1, C=5, O=5)


@pytest.mark.parametrize("text", ["(Fe", "Fe)", "(Fe]", "[(Fe])", "()Fe", "Fe()", ")("])
def test_unbalanced_and_empty_brackets_are_refused(text: str):
    with pytest.raises(UnreadableInputError, match=r"bracket .*at position \d"):
        read_formula(text)


def test_exponents():
    amounts("Nb1O1.9S1e-1", Nb=1, O=1.9, S=0.1)
    amounts("Fe1E-5Ni", Fe=1e-5, Ni=1)
    amounts("(Fe0.5Ni0.5)1e-1Co", Fe=0.05, Ni=0.05, Co=1)


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("Madeupstuff", "'Madeupstuff'"),
        ("XO2", "'X'"),
        ("M2O3", "'M'"),
        ("VacO2", "'Vac'"),
        ("NA", "'A'"),
        ("None", "'None'"),
        ("QFeJ2", "'Q', 'J'"),
    ],
)
def test_unknown_symbols_are_listed(text: str, symbols: str):
    with pytest.raises(UnreadableInputError) as caught:
        read_formula(text)
    assert caught.value.reason == f"unknown element symbols: got {symbols}"


@pytest.mark.parametrize(
    ("text", "meant"), [("FE2O3", "Fe2O3"), ("fe2o3", "Fe2O3"), ("nacl", "NaCl"), ("(nh4)2so4", "(NH4)2SO4")]
)
def test_wrong_case_is_refused_with_a_suggestion(text: str, meant: str):
    with pytest.raises(UnreadableInputError) as caught:
        read_formula(text)
    assert caught.value.hint == f"{meant}?"


def test_nan_is_sodium_nitride():
    amounts("NaN", Na=1, N=1)
    with pytest.raises(UnreadableInputError, match="not an element symbol"):
        read_formula("nan")


@pytest.mark.parametrize("text", ["D2O", "HDO", "T2O"])
def test_isotopes_are_hydrogen_with_a_note(text: str):
    assert read_formula(text).fractions == read_formula("H2O").fractions
    assert read_formula(text).identity == read_formula("H2O").identity
    assert read_formula(text).notes[0].startswith("read as hydrogen")


@pytest.mark.parametrize("text", ["Na+", "SO4-2", "Fe3+2O2-3", "SO4^2-", "SO4²⁻", "Cl−", "Ba-1Cu"])
def test_charges_and_negative_amounts_are_refused(text: str):
    with pytest.raises(UnreadableInputError, match="charges are not part of a composition"):
        read_formula(text)


@pytest.mark.parametrize(
    "text", ["La2-xSrxCuO4", "YBa2Cu3O7-y", "YBa2Cu3O7-δ", "SiOx", "(CH2)n", "Cu2O6=z", "NixO", "Fe1-xO"]
)
def test_variable_amounts_are_named_as_such(text: str):
    with pytest.raises(UnreadableInputError, match="variable amount"):
        read_formula(text)


@pytest.mark.parametrize(
    "text", ["FeNi", "Fe50Ni50", "Fe0.3Ni0.3", "NiFe", "Ni1Fe1", "(FeNi)7", "Fe0.1Ni1e-1", "Fe 3 Ni 3."]
)
def test_one_composition_has_one_identity(text: str):
    reference = read_formula("Fe0.5Ni0.5")
    assert (read_formula(text).identity, read_formula(text).fractions) == ("Fe0.5Ni0.5", reference.fractions)


@pytest.mark.parametrize("text", ["", "  ", "\t"])
def test_empty_text_is_refused(text: str):
    with pytest.raises(UnreadableInputError, match="empty"):
        read_formula(text)


def test_zero_amounts_are_left_out_with_a_note_or_refused():
    assert read_formula("Fe0Ni").fractions == (("Ni", 1.0),)
    assert read_formula("Fe0Ni").notes == ("left out because the amount is 0: Fe",)
    with pytest.raises(UnreadableInputError, match="all amounts are 0"):
        read_formula("Fe0Ni0.0")


def test_subscripts_are_read_with_a_note():
    assert read_formula("H₂O").fractions == read_formula("H2O").fractions
    assert read_formula("H₂O").notes == ("subscript digits read as amounts",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Fe0,5Ni", "decimal sign is a point"),
        ("CaO.5Al2O3", "write 0.5 in full"),
        ("MgO·Al2O3", "joined formulas in brackets"),
        ("2H2O", "an amount stands without an element: got '2' at position 1"),
        ("CuSO4 5H2O", "an amount stands without an element: got '5' at position 7"),
        ("Fe2O3(s)", "'s' at position 7"),
        ("СО2", "position 1"),
        ("Y2Br0.5!1.5", "'!' at position 8"),
        ("Fe1e999999999", "out of range"),
        ("Fe" * MAX_TEXT, "too long"),
    ],
)
def test_other_text_is_refused_with_its_place(text: str, reason: str):
    with pytest.raises(UnreadableInputError) as caught:
        read_formula(text)
    assert reason in caught.value.reason


def test_deeply_nested_brackets_are_read():
    assert read_formula("(" * 400 + "Fe" + ")2" * 150 + ")" * 250 + "Ni0").fractions == (("Fe", 1.0),)


AMOUNTS = st.one_of(st.integers(1, 99), st.decimals("0.01", 50, places=2).map(float))
ATOMS = st.dictionaries(st.sampled_from(SYMBOLS), AMOUNTS, min_size=1, max_size=6)


def written(atoms: dict[str, float]) -> str:
    return "".join(f"{symbol}{amount}" for symbol, amount in atoms.items())


@given(ATOMS)
def test_agrees_with_pymatgen_on_plain_formulas(atoms: dict[str, float]):
    oracle = Composition(written(atoms)).fractional_composition.get_el_amt_dict()
    assert dict(read_formula(written(atoms)).fractions) == pytest.approx(oracle, rel=1e-5)


@given(ATOMS, st.randoms(use_true_random=False), st.integers(2, 9))
def test_order_scale_and_brackets_do_not_matter(atoms: dict[str, float], random, scale: int):
    items = list(atoms.items())
    random.shuffle(items)
    again = f"({written(dict(items))}){scale}"
    expected, found = read_formula(written(atoms)), read_formula(again)
    assert (found.identity, found.fractions) == (expected.identity, expected.fractions)
    assert sum(fraction for _, fraction in found.fractions) == pytest.approx(1, abs=1e-12)


@given(st.text(alphabet="FeOXaz0159.eE+-()[]{} ·*H2", max_size=20))
def test_any_text_is_a_formula_or_an_unreadable_input(text: str):
    try:
        formula = read_formula(text)
    except UnreadableInputError:
        return
    assert sum(fraction for _, fraction in formula.fractions) == pytest.approx(1)

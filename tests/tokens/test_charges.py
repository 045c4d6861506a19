"""Charge balance: least costs are those of all assignments, salts balance and alloys do not, however it is written."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.tokens.charges import (
    MOST,
    PRICES,
    TOP,
    ChargeBalance,
    assignments,
    oxidation_states,
)
from gia_science.tokens.composition import CompositionTokenizer
from gia_science.tokens.elements import SYMBOLS

BALANCE = ChargeBalance()
COMPOSITIONS = CompositionTokenizer()


def balance(formula: str) -> dict[str, float]:
    return dict(zip(BALANCE.names, BALANCE.compute(COMPOSITIONS.read(formula)), strict=True))


@pytest.mark.parametrize("formula", ["NaCl", "CaTiO3", "Fe2O3", "GaAs", "LiFePO4", "Cu2ZnSnS4", "Ca(OH)2"])
def test_usual_ions_of_salts_and_semiconductors_cancel(formula: str) -> None:
    found = balance(formula)
    assert found["charge_0.05"] == pytest.approx(0, abs=1e-5)
    assert found["balance_0.05"] < 0.1


@pytest.mark.parametrize("formula", ["Cu3Au", "NiTi", "Fe", "MgZn2", "CrMnFeCoNi", "Fe0.97C0.03"])
def test_alloys_are_all_the_same(formula: str) -> None:
    """How far they are from salts says nothing of them: a table of alloys has no balance to be read."""
    assert list(balance(formula).values()) == [TOP, TOP, 0] * len(PRICES)


def test_a_salt_short_of_an_anion_is_left_with_its_charge() -> None:
    found = balance("NaCl0.9")
    assert found["charge_0.2"] == pytest.approx(0.1 / 1.9, abs=1e-5)
    assert found["unusual_0.2"] == 0


def test_two_states_of_one_element_leave_what_one_alone_leaves() -> None:
    """Iron has two in Fe3O4."""
    assert balance("Fe3O4")["charge_0.2"] == pytest.approx((3 * 3 - 4 * 2) / 7, abs=1e-5)


@pytest.mark.parametrize("formula", ["FeS2", "TlInS2", "Cu5FeS4", "Mn2SbGe"])
def test_costs_are_the_least_of_all_assignments(formula: str) -> None:
    """Written out, state by state."""
    fractions = COMPOSITIONS.read(formula).parsed
    every = []
    for states in itertools.product(
        *(range(len(oxidation_states()[symbol].charges)) for symbol in fractions)
    ):
        charge = unusual = 0.0
        ions = True
        for (symbol, fraction), state in zip(fractions.items(), states, strict=True):
            known = oxidation_states()[symbol]
            charge += fraction * known.charges[state]
            unusual += fraction * known.unusual[state]
            ions = ions and known.charges[state] != 0
        if ions:
            every.append((charge, unusual))
    found = balance(formula)
    for price in PRICES:
        least = min(abs(charge) + price * unusual for charge, unusual in every)
        assert least < TOP
        assert found[f"balance_{price}"] == pytest.approx(least)
        paid = abs(found[f"charge_{price}"]) + price * found[f"unusual_{price}"]
        assert paid == pytest.approx(least)


@given(st.permutations(["Fe2", "O3", "Sb0.31", "Au7", "U1e-3"]), st.sampled_from(["", "2", "0.5"]))
def test_order_and_scale_do_not_matter(parts: list[str], times: str) -> None:
    expected = BALANCE.compute(COMPOSITIONS.read("Fe2O3Sb0.31Au7U1e-3"))
    found = BALANCE.compute(COMPOSITIONS.read(f"({''.join(parts)}){times}"))
    np.testing.assert_array_equal(found, expected)


def test_every_element_has_states_and_a_most_usual_one() -> None:
    for symbol in SYMBOLS:
        states = oxidation_states()[symbol]
        assert states.unusual.min() == 0
        assert np.all(np.diff(states.charges) > 0)
    assert set(oxidation_states()["O"].charges) >= {-2, -1, 0}
    assert set(oxidation_states()["Au"].charges) == {3}, "common, though not among the counts"


def test_noble_gases_are_neutral_and_no_hindrance() -> None:
    for formula in ("Ar", "NaClAr"):
        assert list(balance(formula).values()) == pytest.approx([0] * len(BALANCE.names), abs=1e-5)


def test_work_is_bounded_for_alloys_of_many_elements() -> None:
    text = "".join(f"{symbol}{count}" for count, symbol in enumerate(SYMBOLS[20:60], start=1))
    assert len(assignments(COMPOSITIONS.read(text).parsed).charge) == MOST
    assert np.isfinite(BALANCE.compute(COMPOSITIONS.read(text))).all()

"""The element table: true values, honest gaps, and features without any."""

import numpy as np
import pytest

from gia_science.tokens.elements import INDEX, SYMBOLS, element_table

TABLE = element_table()


def raw(symbol: str, name: str) -> float:
    return float(TABLE.raw[INDEX[symbol], TABLE.raw_names.index(name)])


def test_every_element_has_its_row():
    assert TABLE.symbols == SYMBOLS
    assert (SYMBOLS[0], SYMBOLS[25], SYMBOLS[117]) == ("H", "Fe", "Og")
    assert TABLE.raw.shape == (118, len(TABLE.raw_names))
    assert TABLE.features.shape == (118, len(TABLE.feature_names))
    assert len(set(TABLE.feature_names)) == len(TABLE.feature_names)


@pytest.mark.parametrize(
    ("symbol", "name", "value"),
    [
        ("Fe", "electronegativity", 1.83),
        ("Fe", "melting_point", 1811),
        ("Fe", "s_valence", 2),
        ("Fe", "d_valence", 6),
        ("Fe", "d_unfilled", 4),
        ("O", "p_unfilled", 2),
        ("Pd", "s_valence", 0),
        ("O", "min_common_oxidation_state", -2),
        ("Cu", "group", 11),
        ("He", "s_unfilled", 0),
        ("Gd", "is_lanthanoid", 1),
    ],
)
def test_known_values(symbol: str, name: str, value: float):
    assert raw(symbol, name) == pytest.approx(value)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("Ar", "electronegativity"),
        ("Ga", "bulk_modulus"),
        ("H", "ionic_radius"),
        ("He", "max_common_oxidation_state"),
        ("Og", "s_valence"),
        ("Ds", "ionization_energy"),
    ],
)
def test_what_is_not_known_is_missing_and_not_zero(symbol: str, name: str):
    assert np.isnan(raw(symbol, name))
    row = TABLE.features[INDEX[symbol]]
    assert row[TABLE.feature_names.index(name)] == 0
    assert row[TABLE.feature_names.index(f"missing_{name}")] == 1


def test_physical_values_are_never_zero():
    for name in ("electronegativity", "atomic_radius", "ionic_radius", "bulk_modulus", "melting_point"):
        column = TABLE.raw[:, TABLE.raw_names.index(name)]
        assert (column[np.isfinite(column)] > 0).all()


def test_features_are_finite_and_standardised_over_known_values():
    assert np.isfinite(TABLE.features).all()
    for index in range(len(TABLE.raw_names)):
        known = TABLE.features[np.isfinite(TABLE.raw[:, index]), index].astype(np.float64)
        assert abs(known.mean()) < 1e-5
        assert known.std() == pytest.approx(1, abs=1e-5)


def test_only_incomplete_properties_have_an_indicator():
    indicators = TABLE.feature_names[len(TABLE.raw_names) :]
    incomplete = [
        name for name, column in zip(TABLE.raw_names, TABLE.raw.T, strict=True) if np.isnan(column).any()
    ]
    assert list(indicators) == [f"missing_{name}" for name in incomplete]
    assert "missing_atomic_number" not in indicators


def test_the_shared_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        element_table().features[0, 0] = 1

"""A time to train in decides how many networks there are; the stored recipe then holds numbers, and no time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gia_science.errors import RecipeError
from gia_science.training import budget
from gia_science.training.budget import MOST_MEMBERS, seconds_of
from gia_science.training.encode import encode
from gia_science.training.prepare import prepare
from gia_science.training.recipe import Recipe
from gia_science.training.run import run
from tests.training.conftest import ACIDS, ALCOHOLS

Write = Callable[..., Path]
Build = Callable[..., Recipe]


@pytest.fixture
def lengths(table: Write) -> Path:
    smiles = ALCOHOLS + ACIDS
    return table(smiles=smiles, y=[float(len(text)) for text in smiles])


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1.5 h", 5400), ("2M", 120)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["5", "m", "-3m", "0s", "five minutes", "5 m 3 s"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="not a duration"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("seconds", "time", "members", "epochs"),
    [(10.0, "35s", 3, 2), (10.0, "1h", MOST_MEMBERS, 2), (120.0, "1m", 1, 1)],
)
def test_as_many_networks_as_fit(
    lengths: Path,
    recipe: Build,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    time: str,
    members: int,
    epochs: int,
) -> None:
    monkeypatch.setattr(budget, "_seconds_of_one", lambda *_: (seconds, 2))
    asked = recipe(
        lengths, training__epochs=2, training__min_steps=1, training__time=time, network__members=None
    )
    model = run(asked).model
    stored = Recipe.parse(yaml.safe_load(model.saved.recipe))
    assert model.members == stored.network.members == members
    assert stored.training.epochs == epochs
    assert stored.training.time is None


def test_a_number_that_is_given_stays(lengths: Path, recipe: Build) -> None:
    assert run(recipe(lengths, training__time="1h", network__members=1)).model.members == 1


def test_one_network_is_timed(lengths: Path, recipe: Build) -> None:
    """The time that is found is that of real passes: more epochs take longer."""
    prepared = prepare(recipe(lengths, training__time="1m", training__min_steps=1, training__epochs=1))
    seconds, epochs = budget._seconds_of_one(prepared, encode(prepared))
    assert epochs == 1
    assert 0 < seconds < 60

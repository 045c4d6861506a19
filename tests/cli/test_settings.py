"""Options of a command become settings of its recipe; none is lost on the way."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from gia_science.cli.finetune import finetune
from gia_science.cli.pretrain import pretrain
from gia_science.cli.settings import SETTINGS, option_settings
from gia_science.cli.train import train
from gia_science.errors import RecipeError

RUN = {"out", "split", "fold", "setting", "device", "devices", "nodes", "threads", "overwrite"}
BASELINES = {"baseline", "no_baseline"}


@pytest.mark.parametrize(
    ("command", "others"),
    [
        (train, RUN | BASELINES | {"task"}),
        (finetune, RUN | BASELINES | {"task", "adapter", "keep_base"}),
        (pretrain, RUN | {"recipe"}),
    ],
)
def test_every_option_is_a_setting_or_seen_to_otherwise(
    command: Callable[..., None], others: set[str]
) -> None:
    assert set(inspect.signature(command).parameters) - set(SETTINGS) == others


def test_what_is_said_is_set_and_all_else_left_to_the_recipe() -> None:
    said = {"data": "a.csv", "header": False, "seed": 0, "kind": None, "fold": 1}
    assert option_settings(said) == {"data.file": "a.csv", "data.header": False, "seed": 0}


def test_no_baseline_is_an_empty_list_and_no_word_is_no_setting() -> None:
    assert option_settings({"baseline": None, "no_baseline": True}) == {"baselines": []}
    assert option_settings({"baseline": ["linear"], "no_baseline": False}) == {"baselines": ["linear"]}
    assert option_settings({"baseline": None, "no_baseline": False}) == {}
    with pytest.raises(RecipeError, match="exclude each other"):
        option_settings({"baseline": ["linear"], "no_baseline": True})

"""Outputs of every kind of task, and a loss that is its definition."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.batching import collate
from gia_science.data.target_spec import TaskKind
from gia_science.model.heads import activate, task_loss

KINDS: dict[TaskKind, tuple[str, ...]] = {
    "regression": (),
    "binary": ("no", "yes"),
    "multilabel": ("no", "yes"),
    "multiclass": ("a", "b", "c"),
    "per_token": ("C", "E", "H"),
}
NAN = math.nan


def plain_loss(kind: TaskKind, outputs: list, targets: list) -> float:
    """Mean over the known targets, written out number by number."""

    def cross_entropy(logits: list[float], label: int) -> float:
        return math.log(sum(math.exp(logit) for logit in logits)) - logits[label]

    losses = []
    for row, wanted in zip(outputs, targets, strict=True):
        for place, target in enumerate(wanted):
            if math.isnan(target):
                continue
            if kind == "regression":
                error = abs(row[place] - target)
                losses.append(error**2 if error < 0.5 else error - 0.25)
            elif kind in ("binary", "multilabel"):
                chance = 1 / (1 + math.exp(-row[place]))
                losses.append(-math.log(chance if target == 1 else 1 - chance))
            else:
                losses.append(cross_entropy(row if kind == "multiclass" else row[place], int(target)))
    return sum(losses) / len(losses) if losses else 0.0


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_the_loss_is_the_mean_over_the_targets_that_are_there(kind: TaskKind, data: st.DataObject) -> None:
    rows, places = data.draw(st.integers(1, 4)), 1 if kind in ("binary", "multiclass") else 3
    numbers = st.floats(-5, 5, width=32)
    known = numbers if kind == "regression" else st.integers(0, 2).map(float)
    if kind in ("binary", "multilabel"):
        known = st.integers(0, 1).map(float)
    targets = data.draw(
        st.lists(
            st.lists(st.one_of(known, st.just(NAN)), min_size=places, max_size=places),
            min_size=rows,
            max_size=rows,
        )
    )
    shape = {"multiclass": (rows, 3), "per_token": (rows, places, 3)}.get(kind, (rows, places))
    outputs = torch.tensor(
        data.draw(st.lists(numbers, min_size=math.prod(shape), max_size=math.prod(shape)))
    ).reshape(shape)
    loss = task_loss(kind, outputs, torch.tensor(targets))
    assert float(loss) == pytest.approx(plain_loss(kind, outputs.tolist(), targets), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "outputs", "targets"),
    [
        ("regression", (2, 3), (2, 3)),
        ("binary", (2, 1), (2, 1)),
        ("multilabel", (2, 3), (2, 3)),
        ("multiclass", (2, 3), (2, 1)),
        ("per_token", (2, 5, 3), (2, 5)),
    ],
)
def test_where_every_target_is_missing_loss_and_gradient_are_zero(
    kind: TaskKind, outputs: tuple[int, ...], targets: tuple[int, ...]
) -> None:
    values = torch.randn(outputs, requires_grad=True)
    loss = task_loss(kind, values, torch.full(targets, NAN))
    loss.backward()
    assert loss.item() == 0.0
    assert values.grad is not None
    assert not values.grad.any()


def test_a_missing_target_has_no_gradient_and_does_not_thin_the_others() -> None:
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    task_loss("regression", values, torch.tensor([[0.0, NAN], [NAN, NAN]])).backward()
    assert values.grad is not None
    assert values.grad.tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_far_logits_do_not_overflow() -> None:
    far = torch.tensor([[200.0], [-200.0]])
    assert float(task_loss("binary", far, torch.tensor([[1.0], [0.0]]))) == 0.0
    assert float(task_loss("binary", far, torch.tensor([[0.0], [1.0]]))) == 200.0


def test_outputs_become_what_users_read() -> None:
    logits = torch.tensor([[0.0, 2.0, -1.0]])
    assert activate("regression", logits) is logits
    for kind in ("binary", "multilabel"):
        torch.testing.assert_close(activate(kind, logits), 1 / (1 + (-logits).exp()))
    for kind in ("multiclass", "per_token"):
        torch.testing.assert_close(activate(kind, logits), logits.exp() / logits.exp().sum())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_has_outputs_of_its_shape(make_saved, kind: TaskKind) -> None:
    names = ("y", "z") if kind == "multilabel" else ("y",)
    saved = make_saved("protein", kind=kind, labels=KINDS[kind], names=names)
    examples = [saved.featurizer.example(saved.featurizer.read(text)) for text in ("MKT", "MKTAY")]
    batch = collate(examples)
    outputs = saved.network(batch)
    expected = (2, 7, 3) if kind == "per_token" else (2, saved.targets.outputs)
    assert outputs.shape == expected
    targets = torch.zeros(2, 7) if kind == "per_token" else torch.zeros(2, len(names))
    loss = task_loss(kind, outputs, targets)
    loss.backward()
    missing = [name for name, weight in saved.network.named_parameters() if weight.grad is None]
    assert not [name for name in missing if not name.startswith("pool")], "every weight takes part"
    assert saved.network.embed(batch).shape == (2, 16)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_two_descends_as_it_would_twice(kind: TaskKind) -> None:
    """With weights of mean 1: the weighted mean over three rows is the plain one over four, one of them twice."""
    torch.manual_seed(0)
    places = {"per_token": (5, 3), "multiclass": (3,), "binary": (1,)}.get(kind, (2,))
    outputs = torch.randn(3, *places)
    wanted = (3, 5) if kind == "per_token" else (3, 1) if kind in ("multiclass", "binary") else (3, 2)
    targets = torch.randint(0, 2, wanted).float()
    rows = torch.tensor([0, 1, 1, 2])
    weights = torch.tensor([1.0, 2.0, 1.0]) * 3 / 4
    weighted = task_loss(kind, outputs, targets, weights=weights)
    torch.testing.assert_close(weighted, task_loss(kind, outputs[rows], targets[rows]))

"""Two processes train as one does: the same rows, once each, the same losses, the same weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from gia_science.training.devices import ONE_DEVICE, Devices
from gia_science.training.distributed import batch_loss, deal
from tests.training import recorded as script
from tests.training.recorded import CHECKED, EPOCHS, ROWS, recorded

ROOT = Path(__file__).parents[2]


@given(st.integers(1, 40), st.integers(1, 9))
def test_every_row_of_a_batch_is_dealt_to_one_process_and_each_gets_something(
    size: int, processes: int
) -> None:
    batch = np.random.default_rng(size).permutation(100)[:size]
    shares = [deal(batch, rank=rank, processes=processes) for rank in range(processes)]
    assert all(shares)
    real = [index for share in shares for index in share if index >= 0]
    assert sorted(real) == sorted(batch.tolist())
    stand_ins = [index for share in shares for index in share if index < 0]
    assert stand_ins == [~int(batch[0])] * max(0, processes - size)
    sizes = [sum(index >= 0 for index in share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_the_loss_of_one_process_is_left_as_it_is() -> None:
    loss = torch.tensor(0.1, requires_grad=True)
    shared = batch_loss(loss, known=torch.tensor(3), processes=1)
    assert shared.descended is loss
    assert torch.equal(shared.whole, loss.detach())
    assert shared.known == 3


def test_the_mean_of_the_gradients_of_the_shares_is_the_gradient_of_the_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shares of 3, 1 and no known targets."""
    weight = torch.tensor(2.0, requires_grad=True)
    targets = [torch.tensor([1.0, 4.0, 5.0]), torch.tensor([10.0]), torch.tensor([])]
    whole = ((weight - torch.cat(targets)) ** 2).mean()
    sums = torch.tensor([float(whole.detach()) * 4, 4.0], dtype=torch.float64)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda tensor: tensor.copy_(sums))
    gradients = []
    for share in targets:
        loss = ((weight - share) ** 2).sum() / max(1, len(share))
        shared = batch_loss(loss, known=torch.tensor(len(share)), processes=3)
        assert shared.known == 4
        torch.testing.assert_close(shared.whole, whole.detach())
        gradients.append(torch.autograd.grad(shared.descended, weight)[0])
    torch.testing.assert_close(torch.stack(gradients).mean(), torch.autograd.grad(whole, weight)[0])


def test_two_processes_see_each_row_once_and_end_with_the_weights_of_one(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script.__file__), "2", str(tmp_path)]
    subprocess.run(command, check=True, env=environment, cwd=tmp_path, timeout=120)
    alone, _ = recorded(Devices("cpu"))
    told = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1)]
    seen = Counter(told[0]["seen"]) + Counter(told[1]["seen"])
    wanted = [*range(1, ROWS + 1), *(-row for row in range(1, CHECKED + 1))]
    assert seen == dict.fromkeys(map(float, wanted), EPOCHS)
    assert min(len(process["seen"]) for process in told) > EPOCHS * (ROWS + CHECKED) / 3
    for rank in (0, 1):
        assert told[rank]["best_epoch"] == alone.best_epoch
        assert len(told[rank]["history"]) == len(alone.history)
        for point, (train, validation) in zip(told[rank]["history"], alone.history, strict=True):
            assert point["train_loss"] == pytest.approx(train, rel=1e-4)
            assert point["val_loss"] == pytest.approx(validation, rel=1e-4)
    weights = [safetensors.torch.load_file(tmp_path / f"{rank}.safetensors") for rank in (0, 1)]
    for name, value in alone.network.state_dict().items():
        assert torch.equal(weights[0][name], weights[1][name]), name
        torch.testing.assert_close(weights[0][name], value, rtol=0, atol=1e-4)


def test_one_process_sees_each_row_once_too() -> None:
    _, seen = recorded(ONE_DEVICE)
    assert Counter(seen) == dict.fromkeys([*range(1, ROWS + 1), *range(-CHECKED, 0)], EPOCHS)

"""The devices that a network is trained on, and the processes that share the work."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
import torch.distributed
from lightning_fabric.utilities.exceptions import MisconfigurationException

from gia_science.errors import RecipeError, TrainingError, counted
from gia_science.training.processes import (
    announce_parent,
    end_with_parent,
    is_further,
    is_under_torchrun,
    torchrun_size,
)


@dataclass(frozen=True)
class Devices:
    """One process per device, on one or several machines.

    Parameters
    ----------
    accelerator : str, default "auto"
        ``"cpu"``, ``"gpu"`` or ``"auto"``, as Lightning has it.
    per_node : int, default 1
        Processes on each machine: one per GPU, or sharing the cores.
    nodes : int, default 1
        Machines.
    """

    accelerator: str = "auto"
    per_node: int = 1
    nodes: int = 1

    @property
    def processes(self) -> int:
        """Number of processes over all machines."""
        return self.per_node * self.nodes

    def trainer(self, **options: Any) -> pl.Trainer:
        """A trainer on these devices; several work by distributed data parallelism.

        Raises
        ------
        RecipeError
            When Lightning cannot use them.
        """
        if self.processes == 1:
            return pl.Trainer(accelerator=self.accelerator, devices=1, **options)
        try:
            trainer = pl.Trainer(
                accelerator=self.accelerator,
                devices=self.per_node,
                num_nodes=self.nodes,
                strategy="ddp",
                # Rows are dealt out by `deal`, which repeats none.
                use_distributed_sampler=False,
                **options,
            )
            environment = getattr(trainer.strategy, "cluster_environment", None)
            assert environment is not None
            environment.validate_settings(num_devices=self.per_node, num_nodes=self.nodes)
        except (MisconfigurationException, ValueError) as error:
            raise RecipeError("cannot train on these devices", hint=str(error)) from error
        return trainer


ONE_DEVICE = Devices()
"""Whichever there is."""


def choose_devices(
    accelerator: str = "auto", *, devices: int | None = None, nodes: int | None = None
) -> Devices:
    """Devices that a user asked for, checked before any work.

    Parameters
    ----------
    accelerator : str, default "auto"
        ``"cpu"``, ``"gpu"`` or ``"auto"``.
    devices, nodes : int, optional
        Processes on each machine, and machines; by default one, or those that torchrun started.

    Raises
    ------
    RecipeError
        When they are not there, do not fit what torchrun started, or cannot be reached from where this runs.
    """
    started = torchrun_size()
    if started is not None:
        asked = (started[0] if devices is None else devices, started[1] if nodes is None else nodes)
        if asked != started:
            raise RecipeError(
                "the devices are not those that torchrun started",
                got=_described(*asked),
                expected=_described(*started),
                hint="leave --devices and --nodes out",
            )
        devices, nodes = started
    chosen = Devices(accelerator, devices or 1, nodes or 1)
    if chosen.processes == 1:
        return chosen
    if accelerator == "auto" and not torch.cuda.is_available():
        chosen = Devices("cpu", chosen.per_node, chosen.nodes)
    _check_gpus(chosen)
    if started is None:
        _check_startable(chosen)
    if torch.distributed.is_initialized():
        raise RecipeError(
            "a process can train on several devices once", hint="train the others from scripts of their own"
        )
    return chosen


def check_rereadable(file: str | None, devices: Devices) -> None:
    """Refuse standard input and pipes where several processes have to read the rows; raises `RecipeError`."""
    if file is None or devices.processes == 1:
        return
    if file == "-" or (Path(file).exists() and not Path(file).is_file()):
        raise RecipeError(
            "several devices cannot read standard input or a pipe: each process reads the rows itself",
            got=repr(file),
            hint="write the rows to a file first",
        )


@contextmanager
def working_together(devices: Devices) -> Iterator[None]:
    """Training by one of several processes: what they all find out together, the first of a machine tells.

    The others end quietly: at an error of training, at Ctrl-C, and when a process is lost.

    Raises
    ------
    TrainingError
        Training's own; or when another process is gone.
    """
    if devices.processes == 1:
        yield
        return
    try:
        yield
    except BaseException as error:
        lost, interrupted = _is_lost(error), not isinstance(error, Exception)
        common = lost or interrupted or isinstance(error, TrainingError)
        if common and is_further() and torch.distributed.is_initialized():
            sys.exit(0)
        if lost:
            raise TrainingError(
                "a process of the training is gone", hint="what it said stands above, or on its machine"
            ) from error
        raise


def _is_lost(error: BaseException) -> bool:
    """Whether a collective operation failed because a process is gone; Gloo has no class of errors of its own."""
    return isinstance(error, torch.distributed.DistError) or (
        isinstance(error, RuntimeError) and "gloo" in str(error)
    )


def enter(devices: Devices) -> None:
    """Before any work: a process that is not the first of its machine falls silent, and does not outlive the first."""
    if devices.processes == 1:
        return
    if is_further():
        logging.getLogger("gia_science").setLevel(logging.ERROR)
    if is_under_torchrun():
        return
    if is_further():
        end_with_parent()
    else:
        announce_parent()


def first_goes_on(devices: Devices) -> None:
    """After training: the first process goes on, all others end here with exit code 0."""
    if devices.processes > 1 and torch.distributed.get_rank() > 0:
        sys.exit(0)


def _described(devices: int, nodes: int) -> str:
    return f"{counted(devices, 'device')} on {counted(nodes, 'machine')}"


def _check_gpus(chosen: Devices) -> None:
    found = torch.cuda.device_count()
    if chosen.accelerator != "cpu" and chosen.per_node > found:
        raise RecipeError(
            "there are not so many GPUs",
            got=f"{chosen.per_node} asked for",
            expected=f"at most {found}",
            hint="--device cpu trains on the cores of the processor",
        )


def _check_startable(chosen: Devices) -> None:
    """Further processes are started by running the same command again: there must be one, and a way to meet."""
    if hasattr(sys, "ps1") or not Path(sys.argv[0]).is_file():
        raise RecipeError(
            "several devices need a command or a script, which every process runs",
            hint="gia train --devices, or a script in a file; a notebook trains on one device",
        )
    meeting = ("MASTER_ADDR", "MASTER_PORT", "NODE_RANK")
    if chosen.nodes > 1 and "SLURM_NTASKS" not in os.environ and not all(map(os.environ.get, meeting)):
        raise RecipeError(
            "the machines do not know of each other",
            hint=f"start the command with torchrun on each, or set {', '.join(meeting)}",
        )

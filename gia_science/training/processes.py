"""Which process this is of those that train together, as the environment tells that it was started with."""

from __future__ import annotations

import os
import threading
import time

from gia_science.errors import RecipeError

_PARENT = "GIA_SCIENCE_PARENT"


def is_further() -> bool:
    """Whether another process of this machine is its first: that one speaks for both."""
    return os.environ.get("LOCAL_RANK", "0") != "0"


def is_under_torchrun() -> bool:
    """Whether torchrun started this process, and not the user or Lightning."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def torchrun_size() -> tuple[int, int] | None:
    """Processes per machine and machines that torchrun started; None without it.

    Raises
    ------
    RecipeError
        When it started more processes on one machine than on another.
    """
    if not is_under_torchrun():
        return None
    here, machines, all_of_them = (
        int(os.environ[name]) for name in ("LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "WORLD_SIZE")
    )
    if here * machines != all_of_them:
        raise RecipeError(
            "torchrun has to start as many processes on each machine",
            got=f"{here} of {all_of_them} on this of {machines}",
        )
    return here, machines


def announce_parent() -> None:
    """Tell the processes that Lightning is to start, with a copy of the environment, who their parent is."""
    os.environ[_PARENT] = str(os.getpid())


def end_with_parent() -> None:
    """End this process as soon as the one that started it, and announced so, is gone.

    A collective operation may wait for a lost process for minutes. Lightning watches its children, but nothing
    watches for them.
    """
    parent = os.environ.get(_PARENT)
    if parent is None:
        return

    def watch() -> None:
        while str(os.getppid()) == parent:
            time.sleep(1.0)
        os._exit(0)

    threading.Thread(target=watch, daemon=True, name="parent-observer").start()

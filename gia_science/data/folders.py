"""Folders that appear under their name only when they are whole."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: str | Path) -> Iterator[Path]:
    """A new folder to fill, which gets its name when the block ends without an error, and is gone otherwise.

    Parameters
    ----------
    folder : path
        What stands there is replaced. A link is followed: what it points to is written or replaced.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    final = Path(os.path.realpath(folder))
    unfinished = final.with_name(f".{final.name}-{secrets.token_hex(4)}.part")
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        _put_in_place(unfinished, final)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _put_in_place(unfinished: Path, final: Path) -> None:
    """Give a whole folder its name. What had the name before is there until then, and comes back on failure."""
    old = unfinished.with_suffix(".old")
    if final.exists():
        final.replace(old)
    try:
        unfinished.replace(final)
    finally:
        if old.exists() and not final.exists():
            old.replace(final)
    shutil.rmtree(old, ignore_errors=True)

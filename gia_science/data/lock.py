"""A folder that one process holds at a time."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_LOCK = "lock"
_TRIES = 20
logger = logging.getLogger("gia_science")


class FolderLock:
    """Makes a folder and holds it against other processes, with a lock of the system on a file in it (`flock`).

    A process that dies leaves no lock behind. On Windows nothing is locked.

    Parameters
    ----------
    folder : Path
        Made where it is not there; the folder above it must be.

    Raises
    ------
    BlockingIOError
        When another process holds it.
    OSError
        When it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / _LOCK
        self._stream = self._acquire()

    def release(self, *, remove: bool) -> None:
        """Let go; with `remove` also delete the folder, unless there is something else in it."""
        if remove:
            self._path.unlink(missing_ok=True)
        self._stream.close()
        if remove:
            # Another process may have taken it over by now, or the user keeps files in it.
            with suppress(OSError):
                self._folder.rmdir()

    def _acquire(self) -> BinaryIO:
        for _ in range(_TRIES):
            try:
                self._folder.mkdir(exist_ok=True)
                stream = self._path.open("ab")
            except FileNotFoundError:
                continue  # another process has just removed it
            try:
                _lock(stream)
                if self._is_of(stream):
                    return stream
            except BlockingIOError:
                stream.close()
                raise
            stream.close()
        raise BlockingIOError

    def _is_of(self, stream: BinaryIO) -> bool:
        """Whether the locked file is still in the folder: the lock of a removed one holds nobody off."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(stream.fileno()))
        except FileNotFoundError:
            return False


def _lock(stream: BinaryIO) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        # Some network file systems have none.
        logger.warning(
            "%s: the file system has no locks; start no second process on this output", stream.name
        )

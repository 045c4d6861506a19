"""Files of datasets: from a mirror, from the cache, or downloaded into it, always with the checksum on the card."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import sys
from pathlib import Path
from typing import BinaryIO, Literal

from gia_science.data.card_remote import RemoteFile
from gia_science.errors import TableError, Where

logger = logging.getLogger("gia_science")

CACHE = "GIA_CACHE"
"""Environment variable with the folder of the cache, instead of the user's own."""
MIRROR = "GIA_DATA_MIRROR"
"""Environment variable with a folder or an http address, where files are looked for first, by name."""
TIMEOUT = 30.0
"""Seconds without any bytes after which a download is given up."""
_MARGIN = 1 << 20
"""Bytes beyond the expected size after which a download is cut short."""
_CHUNK = 1 << 14

Place = Literal["mirror", "cached", "download"]


def cache_folder() -> Path:
    """Folder of downloaded files: ``GIA_CACHE``, or the user's cache folder."""
    chosen = os.environ.get(CACHE)
    if chosen:
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("gia-science"))


def place_of(file: RemoteFile) -> Place:
    """Where a file would be taken from, judged by name and size alone."""
    folder = _mirror_folder()
    if folder is not None and any(_size(path) == file.size for path in _in_mirror(file, folder)):
        return "mirror"
    return "cached" if _size(_in_cache(file)) == file.size else "download"


def fetch(file: RemoteFile, *, dataset: str, progress: bool | None = None) -> Path:
    """Path of a file with the checksum on the card; downloaded, and told, where it is not there.

    A folder named by ``GIA_DATA_MIRROR`` is looked at first, and those right below it; then the cache; then the
    mirror where it is an address; then the address on the card. In the cache a file is whole or not there.

    Parameters
    ----------
    file : RemoteFile
    dataset : str
        Name of the dataset, for messages.
    progress : bool, optional
        Draw a progress bar; by default on a terminal.

    Raises
    ------
    TableError
        When the file cannot be had, or is another one than on the card.
    """
    folder = _mirror_folder()
    if folder is not None:
        found = list(_in_mirror(file, folder))
        checked = next((path for path in found if _mismatch(path, file) is None), None)
        if checked is not None:
            return checked
        if found:
            raise _wrong_file(
                file, _mismatch(found[0], file), Where(file=str(found[0])), f"mend or unset {MIRROR}"
            )
    place = _in_cache(file)
    if place.is_file():
        damage = _mismatch(place, file)
        if damage is None:
            return place
        place.unlink()
        logger.warning("%s: the file in the cache is damaged (%s) and was removed", place, damage)
    for url, may_lack in _addresses(file):
        logger.info("%s: downloading %s (%s bytes) from %s", dataset, file.name, f"{file.size:,}", url)
        try:
            _download(url, file, place, progress=sys.stderr.isatty() if progress is None else progress)
        except _NotThereError as error:
            if not may_lack:
                raise
            logger.info("%s", error)
        else:
            return place
    raise AssertionError("the last address is not one that may lack the file")


class _NotThereError(TableError):
    """The server says that it has no such file."""


def _mirror_address() -> str | None:
    mirror = os.environ.get(MIRROR, "")
    return mirror.rstrip("/") if mirror.startswith(("http://", "https://")) else None


def _mirror_folder() -> Path | None:
    mirror = os.environ.get(MIRROR)
    if not mirror or _mirror_address() is not None:
        return None
    folder = Path(mirror).expanduser()
    if not folder.is_dir():
        raise TableError(f"{MIRROR} names no folder", got=repr(mirror), hint="or an http address")
    return folder


def _in_mirror(file: RemoteFile, folder: Path) -> list[Path]:
    return [path for path in (folder / file.name, *sorted(folder.glob(f"*/{file.name}"))) if path.is_file()]


def _in_cache(file: RemoteFile) -> Path:
    # Two cards may call different files by one name.
    return cache_folder() / f"{file.sha256[:16]}-{file.name}"


def _addresses(file: RemoteFile) -> list[tuple[str, bool]]:
    """Addresses in order, and whether the next one is tried where the file is not there."""
    mirror = _mirror_address()
    return [*([] if mirror is None else [(f"{mirror}/{file.name}", True)]), (file.url, False)]


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _mismatch(path: Path, file: RemoteFile) -> str | None:
    """What a file is instead of that on the card; None where it is the one."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return None if digest == file.sha256 else _identity(digest, path.stat().st_size)


def _identity(digest: str, size: int) -> str:
    return f"sha256 {digest}, {size:,} bytes"


def _wrong_file(file: RemoteFile, got: str | None, where: Where, hint: str) -> TableError:
    return TableError(
        "not the file on the dataset card",
        got=got,
        expected=_identity(file.sha256, file.size),
        hint=hint,
        where=where,
    )


class _Received:
    """Writes what comes in, counts and hashes it, and stops where it is far too much."""

    def __init__(self, stream: BinaryIO, *, most: int) -> None:
        self._stream = stream
        self._most = most
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, chunk: bytes) -> int:
        self.size += len(chunk)
        if self.size > self._most:
            raise _TooMuchError
        self._hash.update(chunk)
        return self._stream.write(chunk)

    def flush(self) -> None:
        self._stream.flush()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class _TooMuchError(Exception):
    """More bytes came in than the file can have."""


def _download(url: str, file: RemoteFile, place: Path, *, progress: bool) -> None:
    """Download to a file of another name, and give it its own once its checksum is right."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = f"name another folder with {CACHE}"
        where = Where(file=str(place.parent))
        raise TableError("cannot make the cache", got=error.strerror, hint=hint, where=where) from error
    part = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as stream:
            received = _Received(stream, most=file.size + _MARGIN)
            _receive(url, file, received, progress=progress)
        if received.digest != file.sha256:
            got = _identity(received.digest, received.size)
            raise _wrong_file(file, got, Where(file=url), "the file was removed")
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _receive(url: str, file: RemoteFile, received: _Received, *, progress: bool) -> None:
    import pooch
    import requests

    where = Where(file=url)
    answers: list[requests.Response] = []

    def keep(answer: requests.Response, *_: object, **__: object) -> None:
        answers.append(answer)

    download = pooch.HTTPDownloader(
        progressbar=progress, chunk_size=_CHUNK, timeout=TIMEOUT, hooks={"response": keep}
    )
    try:
        download(url, received, None)
    except _TooMuchError:
        raise _wrong_file(file, f"more than {received.size:,} bytes", where, "the file was removed") from None
    except requests.HTTPError as error:
        answer = error.response
        assert answer is not None
        kind = _NotThereError if answer.status_code in (404, 410) else TableError
        got = f"{answer.status_code} {answer.reason}"
        raise kind("the server does not give the file", got=got, where=where) from error
    except requests.RequestException as error:
        raise _broken(error, file, received, where) from error
    finally:
        # pooch leaves the connection open where a download fails.
        for answer in answers:
            answer.close()


def _broken(error: Exception, file: RemoteFile, received: _Received, where: Where) -> TableError:
    """What went wrong on the way, in words for the user."""
    hint = f"try again later, or name a mirror with {MIRROR}"
    # A wait for the first bytes and a wait for more of them end in different errors of requests.
    if "timed out" in str(error):
        return TableError(
            "the server does not answer",
            got=f"no bytes for {TIMEOUT:g} seconds after {received.size:,} of {file.size:,}",
            hint=hint,
            where=where,
        )
    if received.size:
        came = f"{received.size:,} of {file.size:,} bytes"
        return TableError("the connection broke off", got=came, hint=hint, where=where)
    return TableError("the server cannot be reached", got=_first_cause(error), hint=hint, where=where)


def _first_cause(error: BaseException) -> str:
    """The innermost reason of a chain of errors: the outer ones repeat the address and name classes."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__

"""What commands that can be resumed have in common: shards, whether parts are kept, what a job is known by."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from gia_science.errors import RecipeError

if TYPE_CHECKING:
    from gia_science.data.parts import PartStore
    from gia_science.data.shards import Shard


def shard_target(shard: str | None, out: str) -> tuple[Shard, str]:
    """The share of the rows that ``--shard`` asks for, and the file that it goes to; all rows without it."""
    from gia_science.data.shards import Shard

    share = Shard.parse(shard or "1/1")
    return share, out if shard is None or out == "-" else str(share.path(out))


def keep_parts(out: str, data: str, *, resume: bool) -> AbstractContextManager[PartStore | None]:
    """Store of the parts of an output; None where nothing could go on from them.

    That is where the input can be read only once, or the output is not a regular file.

    Raises
    ------
    RecipeError
        When `resume` is asked for there.
    """
    from gia_science.data.parts import PartStore

    final = Path(os.path.realpath(out))
    again = data != "-" and (Path(data).is_file() or not Path(data).exists())
    if again and out != "-" and (final.is_file() or not final.exists()):
        return PartStore(out)
    if resume:
        raise RecipeError(
            "--resume is not possible",
            got="an output that is no file" if again else "an input that can be read only once",
            hint="write to a file with -o" if again else "save the input to a file first",
        )
    return nullcontext()


def resumed_threads(parts: PartStore | None, *, resume: bool) -> int | None:
    """Number of threads of the job that is resumed: with another the last bits could differ."""
    stored = parts.stored if parts is not None and resume else None
    threads = (stored or {}).get("threads")
    return threads if isinstance(threads, int) and threads > 0 else None


def start_job(
    parts: PartStore | None, model: Path, data: str, *, resume: bool, window: int, **options: object
) -> int:
    """Begin the parts of an output of `window` rows each, or go on with them; the number of rows that are done."""
    if parts is None:
        return 0
    parts.start(describe_job(model, data, rows_of_a_part=window, **options), resume=resume)
    return parts.count * window


def describe_job(model: Path, data: str, **options: object) -> dict[str, object]:
    """All that decides what an output holds: model, input, software, and the given options by their names."""
    from gia_science.data.parts import file_digest
    from gia_science.model.files import checksum
    from gia_science.model.folder import CHECKED
    from gia_science.model.store import CONFIG, made_with

    return {
        "model": {name: checksum(model / name) for name in (CONFIG, *CHECKED)},
        "input file": file_digest(data),
        "version of the software": made_with(),
        **{name.replace("_", " "): value for name, value in options.items()},
    }

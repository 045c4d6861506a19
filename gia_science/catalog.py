"""Finds the definitions of the repository: tokenizers, dataset cards and task recipes.

Definitions are files, not Python. In an installed wheel they lie in ``gia_science/_definitions``, in a checkout
at the root, and a user can name a folder of their own.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from gia_science.errors import DefinitionError

Kind = Literal["tokenizers", "datasets", "tasks"]
SUFFIXES: dict[Kind, str] = {"tokenizers": ".json", "datasets": ".yaml", "tasks": ".yaml"}
_PACKAGE = Path(__file__).parent


def folder(kind: Kind) -> Path:
    """Folder that holds the shipped definitions of one kind."""
    installed = _PACKAGE / "_definitions" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind


def names(kind: Kind, *, extra: Path | None = None) -> tuple[str, ...]:
    """Names of all definitions of one kind, sorted; those of the folder `extra` included."""
    folders = [folder(kind)] + ([extra] if extra is not None else [])
    return tuple(sorted({path.stem for place in folders for path in place.glob(f"*{SUFFIXES[kind]}")}))


def find(kind: Kind, name: str, *, extra: Path | None = None) -> Path:
    """Path of a definition by its name; the folder `extra`, where given, is looked at first.

    Raises
    ------
    DefinitionError
        When there is none of that name. The message suggests the nearest one.
    """
    known = names(kind, extra=extra)
    if name not in known:
        raise DefinitionError(
            f"no such definition in {kind}",
            got=repr(name),
            hint=suggestion(name, known) or f"there are: {', '.join(known)}",
        )
    places = ([extra] if extra is not None else []) + [folder(kind)]
    return next(path for place in places if (path := place / f"{name}{SUFFIXES[kind]}").is_file())


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """``did you mean 'x'?`` for the nearest known name, or None where nothing is near."""
    # Compared without case: LOGS is near logS.
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    near = difflib.get_close_matches(name.casefold(), list(folded), n=1)
    return f"did you mean {folded[near[0]]!r}?" if near else None

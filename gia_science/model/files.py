"""Files of a model folder: text and JSON, read strictly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gia_science.errors import ModelFolderError, Where


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_bytes(path: Path) -> bytes:
    """Content of a file; raises `ModelFolderError`, as all readers here do."""
    where = Where(file=str(path))
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelFolderError("the folder is incomplete", got=f"no {path.name}", where=where) from error
    except OSError as error:
        raise ModelFolderError("cannot be read", got=error.strerror or str(error), where=where) from error


def read_text(path: Path) -> str:
    """Text of a file in UTF-8."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFolderError("damaged: not text", where=Where(file=str(path))) from error


def read_json(path: Path) -> dict[str, Any]:
    """Object of a JSON file."""
    text = read_text(path)
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFolderError("damaged: not JSON", got=str(error), where=Where(file=str(path))) from error
    if not isinstance(data, dict):
        raise ModelFolderError("damaged", expected="a JSON object", where=Where(file=str(path)))
    return data


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write an object of plain types as JSON."""
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")

"""What RDKit says against an input: its error log caught, and its reason in one line."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rdkit import rdBase

_LOCK: Final = threading.Lock()
_TIMESTAMP: Final = re.compile(r"^\[\d\d:\d\d:\d\d\] ", re.MULTILINE)
# A failed check inside RDKit: its kind, its message, then source file and stack.
_VIOLATION: Final = re.compile(r"\*{4}\n(?P<kind>.+)\n(?P<message>.+)\nViolation occurred")
_SMILES_PREFIX: Final = "SMILES Parse Error: "
_CONSEQUENCES: Final = (
    "Failed parsing",
    "Could not sanitize molecule ending on line",
    "moving to the beginning of the next molecule",
)


class ErrorLog:
    """Holds what RDKit wrote to its error log, once the block of `error_log` has ended."""

    def __init__(self) -> None:
        self.messages = ""

    @property
    def reason(self) -> str:
        """RDKit's reason in one line, without clock times, the echo of the input and the drawing of the place."""
        text = _TIMESTAMP.sub("", self.messages)
        violation = _VIOLATION.search(text)
        if violation is not None:
            kind, message = violation["kind"], violation["message"]
            return message if kind.endswith("Violation") else f"{kind}: {message}"
        lines = text.splitlines()
        told = [line.removeprefix(_SMILES_PREFIX) for line in lines if line.startswith(_SMILES_PREFIX)]
        kept = [
            re.split(r" while parsing: | for input: ", line.removeprefix("ERROR: "))[0].strip(" :")
            for line in told or lines
        ]
        causes = (line for line in kept if line and not line.startswith(_CONSEQUENCES))
        return "; ".join(dict.fromkeys(causes)) or "no reason given"


@contextmanager
def error_log() -> Iterator[ErrorLog]:
    """Catch RDKit's errors, and keep its warnings from the terminal, for a block that must be short."""
    # Capturing redirects RDKit's one error log, so two threads must not do it at once. RDKit before 2026.03
    # cannot capture; there the reason stays unknown.
    capture = getattr(rdBase, "CaptureErrorLog", rdBase.BlockLogs)
    log = ErrorLog()
    with _LOCK:
        with rdBase.BlockLogs(), capture() as caught:
            yield log
        # Before another thread captures, and what was written is gone.
        try:
            log.messages = getattr(caught, "messages", "")
        # RDKit quotes its input by bytes, and may cut a letter in two.
        except UnicodeDecodeError:
            log.messages = "a character that is not ASCII"

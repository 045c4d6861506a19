"""The packages of the extra ``hf``, imported where they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gia_science.errors import AdapterError


def import_hf(name: str) -> Any:
    """Import a module of transformers or peft.

    Raises
    ------
    AdapterError
        When it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise AdapterError(
            f"Hugging Face models and their adapters need {name.partition('.')[0]}, which is not installed",
            hint='pip install "gia-science[hf]"',
        ) from error

"""Tensors of a file held against those that are wanted."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor


def misfit_of(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str | None:
    """The first way in which names, shapes or types differ, and how many more there are; None where none does."""
    problems = [f"{name} is missing" for name in wanted if name not in found]
    problems += [f"{name} is not known" for name in found if name not in wanted]
    problems += [
        f"{name} is {_kind(found[name])}, not {_kind(wanted[name])}"
        for name in wanted
        if name in found and _kind(found[name]) != _kind(wanted[name])
    ]
    if not problems:
        return None
    return problems[0] + (f" and {len(problems) - 1} more" if len(problems) > 1 else "")


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"

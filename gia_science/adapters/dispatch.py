"""The way into any transformers model: an attention function and a mask function of our own.

Each stands before one of the functions that transformers has, gets the very same arguments and returns the very same
result, so that what the model computes does not change by a bit. A module that carries a watcher has it told of the
queries, keys and mask that it calls attention with.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from gia_science.adapters.extra import import_hf
from gia_science.errors import AdapterError

_WATCHER = "_gia_watcher"
_PREFIX = "gia_"
_WRAPPED = ("sdpa", "eager")


@dataclass(frozen=True, slots=True)
class AttentionCall:
    """What a model calls its attention function with.

    Parameters
    ----------
    core : torch.nn.Module
        The module that calls.
    query : (B, H, N, d_h)
    key : (B, H / g, M, d_h)
        With grouped queries, one head for g heads of queries; M > N with a key-value cache.
    mask : broadcastable to (B, H, N, M), bool or float, optional
        True for what is visible, or what is added to the scores.
    options : dict
        The rest: scaling, dropout and others.
    """

    core: nn.Module
    query: Tensor
    key: Tensor
    mask: Tensor | None
    options: dict[str, Any]


class Watcher(Protocol):
    """What is told of a module's attention."""

    def attend(self, call: AttentionCall) -> bool:
        """Look at one call; false makes the module's result zero, for probing."""
        ...


def watch(core: nn.Module, watcher: Watcher) -> None:
    """Have a watcher told of a module's attention."""
    setattr(core, _WATCHER, watcher)


def unwatch(core: nn.Module) -> None:
    """Undo `watch`."""
    core.__dict__.pop(_WATCHER, None)


def switch(model: Any) -> str:
    """Put our functions before those that a model uses.

    Returns
    -------
    str
        The name of what it used, for `switch_back`.

    Raises
    ------
    AdapterError
        When the model does not dispatch its attention, or through functions that cannot be stood before.
    """
    used = str(getattr(model.config, "_attn_implementation", None))
    if not model._can_set_attn_implementation():
        raise outside_dispatch(model)
    if used not in _WRAPPED:
        raise AdapterError(
            "the attention graph cannot be read from this implementation of attention",
            got=used,
            expected=" or ".join(_WRAPPED),
            hint='load the model with attn_implementation="sdpa"',
        )
    _register()
    model.set_attn_implementation(_PREFIX + used)
    return used


def switch_back(model: Any, used: str) -> None:
    """Undo `switch`."""
    model.set_attn_implementation(used)


@contextmanager
def switched(model: Any) -> Iterator[None]:
    """`switch` for the length of a block."""
    used = switch(model)
    try:
        yield
    finally:
        switch_back(model, used)


def outside_dispatch(model: nn.Module) -> AdapterError:
    """The error for families whose attention cannot be seen."""
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    return AdapterError(
        "the attention of this kind of model cannot be reached through transformers' attention interface",
        got=str(kind),
        hint="lora where peft knows the model or with `targets`, frozen and full work on it",
    )


def probabilities(call: AttentionCall) -> tuple[Tensor, Tensor | None]:
    """Attention probabilities, without dropout, and what is visible.

    Returns
    -------
    probabilities : (B, H, N, N)
        In float32 at least; rows that see nothing are without meaning.
    seen : (B or 1, 1, N or 1, N) bool, or None
        None where everything is visible.
    """
    seen, bias = _split_mask(call)
    scores = _scores(call)
    if call.options.get("softcap") is not None:
        scores = call.options["softcap"] * torch.tanh(scores / call.options["softcap"])
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    for term in (bias, call.options.get("position_bias")):
        if term is not None:
            scores = scores + term
    if seen is not None:
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1), seen


def _scores(call: AttentionCall) -> Tensor:
    """``(B, H, N, N)``; with grouped queries one head of keys serves several of queries."""
    scaling = call.options.get("scaling")
    B, H, N, width = call.query.shape
    shared = call.key.shape[1]
    grouped = call.query.reshape(B, shared, H // shared, N, width)
    grouped = grouped * (width**-0.5 if scaling is None else scaling)
    return torch.matmul(grouped, call.key[:, :, None].transpose(-1, -2)).flatten(1, 2)


def _split_mask(call: AttentionCall) -> tuple[Tensor | None, Tensor | None]:
    """What is visible, and what is added to the scores, from the mask that a model passes to its attention."""
    mask = call.mask
    if mask is None:
        causal = call.options.get("is_causal")
        if not (getattr(call.core, "is_causal", True) if causal is None else causal):
            return None, None
        size = call.query.shape[-2]
        return torch.ones(1, 1, size, size, dtype=torch.bool, device=call.query.device).tril(), None
    if mask.dtype == torch.bool:
        return mask, None
    # A hidden pair has the least finite number or less, and perhaps a bias besides.
    return (mask > torch.finfo(mask.dtype).min / 2).all(dim=1, keepdim=True), mask


def _register() -> None:
    transformers, masking = import_hf("transformers"), import_hf("transformers.masking_utils")
    for name in _WRAPPED:
        transformers.AttentionInterface.register(_PREFIX + name, partial(_attention, name))
        # Without a mask function of the same name models are given no mask at all: padding and future would be seen.
        transformers.AttentionMaskInterface.register(_PREFIX + name, getattr(masking, f"{name}_mask"))


def _attention(
    wrapped: str,
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    watcher: Watcher | None = module.__dict__.get(_WATCHER)
    function = _function(wrapped, module)
    out: tuple[Tensor, Tensor | None] = function(module, query, key, value, attention_mask, **options)
    if watcher is None or watcher.attend(AttentionCall(module, query, key, attention_mask, options)):
        return out
    return torch.zeros_like(out[0]), out[1]


def _function(wrapped: str, module: nn.Module) -> Any:
    if wrapped == "sdpa":
        return import_hf("transformers.integrations.sdpa_attention").sdpa_attention_forward
    # The eager form is each family's own, and by transformers' convention stands beside its attention class.
    return import_hf(type(module).__module__).eager_attention_forward

"""Where adapters go: found by structure and by one small probe, the same way for every family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from gia_science.adapters import dispatch
from gia_science.attention import GraphAttention
from gia_science.errors import AdapterError

_PROBE_TOKENS = 5
_PROBE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Place:
    """The point between attention and feed-forward of one layer.

    Parameters
    ----------
    layer : torch.nn.Module
        Its first tensor of hidden states is the residual stream.
    branch : torch.nn.Module
        Direct child of the layer that holds the attention, with its output projection.
    outlet : torch.nn.Module
        What yields the branch's contribution: the branch, or a norm or dropout of the layer that follows it directly.
    core : torch.nn.Module
        The module that calls attention.
    residual : bool
        Whether the outlet's output is the hidden state after the residual connection, or what is added to the stream.
    width : int
        d.
    heads : int
        H.
    """

    layer: nn.Module
    branch: nn.Module
    outlet: nn.Module
    core: nn.Module
    residual: bool
    width: int
    heads: int


def find_places(model: nn.Module) -> tuple[Place, ...]:
    """Places of all layers, in the order in which the model calls them.

    Raises
    ------
    AdapterError
        When the model's layers or their attention cannot be found.
    """
    own = [module for module in model.modules() if isinstance(module, GraphAttention)]
    if own:
        return tuple(_own_place(model, core) for core in own)
    config = getattr(model, "config", None)
    if not hasattr(model, "set_attn_implementation"):
        raise AdapterError(
            "adapters go on transformers models and on this package's own networks",
            got=type(model).__name__,
            hint="frozen and full work on any module, lora with `targets`",
        )
    if getattr(config, "is_encoder_decoder", False):
        raise AdapterError(
            "models of encoder and decoder are not supported",
            got=str(getattr(config, "model_type", "")),
            hint="use its encoder alone, or lora",
        )
    return _probe(model)


def first_tensor(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Tensor:
    """The hidden states among the arguments of a layer."""
    found = args[0] if args else kwargs.get("hidden_states", kwargs.get("x"))
    if not isinstance(found, Tensor):
        raise AdapterError("a layer of this model is not called with hidden states first")
    return found


def output_tensor(output: Any) -> Tensor:
    """The hidden states in what a module returns, alone or first of several."""
    found: Tensor = output[0] if isinstance(output, tuple | list) else output
    return found


def _own_place(model: nn.Module, core: GraphAttention) -> Place:
    layer, branch = _layer_of(model, core)
    # Blocks of this package add the branch to the stream themselves.
    return Place(layer, branch, branch, core, residual=False, width=core.width, heads=core.config.heads)


def _layer_of(model: nn.Module, core: nn.Module) -> tuple[nn.Module, nn.Module]:
    """The innermost element of a module list that holds a core, and the element's child that does."""
    name = next(name for name, module in model.named_modules() if module is core)
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        parent = model.get_submodule(".".join(parts[: end - 1]))
        if isinstance(parent, nn.ModuleList):
            layer = parent.get_submodule(parts[end - 1])
            return layer, layer.get_submodule(parts[end])
    raise AdapterError(
        "the attention of this model lies in no list of layers",
        got=type(model).__name__,
        hint="lora with `targets`, frozen and full work on it",
    )


@dataclass
class _Probe:
    """Watches a forward pass in which no token takes anything from another."""

    cores: dict[nn.Module, int] = field(default_factory=dict)
    """The number of heads of each core, in the order of calls."""
    calls: dict[nn.Module, list[tuple[nn.Module, Tensor | None, Tensor]]] = field(default_factory=dict)
    """What the children of each layer were given and returned, in the order of calls."""

    def attend(self, call: dispatch.AttentionCall) -> bool:
        self.cores.setdefault(call.core, call.query.shape[1])
        return False

    def see(self, layer: nn.Module, child: nn.Module, args: Sequence[Any], output: Any) -> None:
        given = args[0] if args and isinstance(args[0], Tensor) else None
        self.calls.setdefault(layer, []).append((child, given, output_tensor(output)))


def _probe(model: Any) -> tuple[Place, ...]:
    """Two passes with a few tokens: which modules call attention, and what their layers do with the result.

    Attention is made to yield zeros. A branch whose output is then the same for all tokens does not hold the residual
    stream, in which they differ; any other does. This asks nothing of how a family names or orders its modules.
    """
    probe = _Probe()
    with dispatch.switched(model), _watched(model, probe):
        _run(model)
        if not probe.cores:
            raise dispatch.outside_dispatch(model)
        owners = {core: _layer_of(model, core) for core in probe.cores}
        layers = [layer for layer, _ in owners.values()]
        if len(set(layers)) != len(layers):
            raise AdapterError("layers with several attentions are not supported", got=type(model).__name__)
        with _seen_children(layers, probe):
            _run(model)
    return tuple(_place(*owners[core], core, probe) for core in probe.cores)


@contextmanager
def _watched(model: nn.Module, probe: _Probe) -> Iterator[None]:
    modules = list(model.modules())
    modes = [module.training for module in modules]
    for module in modules:
        dispatch.watch(module, probe)
    model.eval()
    try:
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            dispatch.unwatch(module)
            module.training = mode


@contextmanager
def _seen_children(layers: Sequence[nn.Module], probe: _Probe) -> Iterator[None]:
    handles = [
        child.register_forward_hook(
            lambda child, args, output, layer=layer: probe.see(layer, child, args, output)
        )
        for layer in layers
        for child in layer.children()
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _run(model: Any) -> None:
    device = next(model.parameters()).device
    ids = torch.arange(_PROBE_TOKENS, device=device)[None] % model.config.vocab_size
    with torch.no_grad():
        model.base_model(input_ids=ids, attention_mask=torch.ones_like(ids))


def _place(layer: nn.Module, branch: nn.Module, core: nn.Module, probe: _Probe) -> Place:
    calls = probe.calls[layer]
    at = next(place for place, (child, _, _) in enumerate(calls) if child is branch)
    outlet, _, output = calls[at]
    spread = (output - output[:, :1]).abs().amax()
    residual = bool(spread > _PROBE_TOLERANCE * output.abs().amax())
    if not residual:
        # A norm or dropout between the branch and the residual would act on what an adapter adds.
        for child, given, result in calls[at + 1 :]:
            if given is not output or result.shape != output.shape:
                break
            outlet, output = child, result
    return Place(layer, branch, outlet, core, residual, width=output.shape[-1], heads=probe.cores[core])

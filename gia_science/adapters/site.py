"""One adapter at its place: it reads the graph, and adds what it makes of it to the hidden states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from gia_science.adapters import dispatch
from gia_science.adapters.config import SparseGINConfig
from gia_science.adapters.edges import edge_weights
from gia_science.adapters.places import Place, first_tensor, output_tensor
from gia_science.attention import GraphAttention
from gia_science.attention.adjacency import visible
from gia_science.errors import AdapterError


class Site:
    """An adapter hooked to a layer.

    The graph is data: probabilities are computed without gradient, as they are those of the frozen model. What reaches
    the layer through adapters below changes them, as it changes attention, but no gradient comes back through A~.
    Attention itself stays with the model's own fused kernel; its probabilities are computed once more beside it, which
    costs less than a graph of N x N numbers per head in the backward pass.

    Hooks are bound methods, so that a deep copy of the model has adapters that work on the copy.

    Parameters
    ----------
    place : Place
    adapter : torch.nn.Module
        Called with hidden states and edges.
    graph : SparseGINConfig, optional
        How edges are made; none for adapters without a graph.
    """

    def __init__(self, place: Place, adapter: nn.Module, *, graph: SparseGINConfig | None) -> None:
        self.place = place
        self.adapter = adapter
        self.graph = graph
        self.enabled = True
        self.record: list[Tensor] | None = None
        self._stream: Tensor | None = None
        self._edges: Tensor | None = None

    def hook(self) -> list[Any]:
        """Hook to the layer; the handles that undo it."""
        handles = [self.place.outlet.register_forward_hook(self._after_outlet)]
        if not self.place.residual:
            handles.append(self.place.layer.register_forward_pre_hook(self._before_layer, with_kwargs=True))
        if self.graph is not None and isinstance(self.place.core, GraphAttention):
            handles.append(
                self.place.core.register_forward_pre_hook(self._before_own_attention, with_kwargs=True)
            )
        elif self.graph is not None:
            dispatch.watch(self.place.core, self)
        return handles

    def attend(self, call: dispatch.AttentionCall) -> bool:
        """Take the graph from a call of attention."""
        if not self.enabled or self.graph is None:
            return True
        if call.query.shape[-2] != call.key.shape[-2]:
            raise AdapterError(
                "a Sparse-GIN adapter needs the hidden states of all tokens, which a key-value cache has not",
                hint="use_cache=False",
            )
        if call.options.get("s_aux") is not None:
            raise AdapterError("attention with sinks is not supported", got=type(call.core).__name__)
        with torch.no_grad():
            self._take(*dispatch.probabilities(call))
        return True

    def _take(self, probabilities: Tensor, seen: Tensor | None) -> None:
        assert self.graph is not None
        self._edges = edge_weights(probabilities, seen, self.graph)
        if self.record is not None:
            self.record.append(self._edges)

    def _before_own_attention(self, core: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not self.enabled:
            return
        assert isinstance(core, GraphAttention)
        hidden, mask = first_tensor(args, kwargs), kwargs.get("mask")
        real = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device) if mask is None else mask
        with torch.no_grad():
            weights = core.adjacency(*args, **kwargs)
            self._take(weights, visible(real, causal=core.config.causal)[:, None])

    def _before_layer(self, _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.enabled:
            self._stream = first_tensor(args, kwargs)

    def _after_outlet(self, _: nn.Module, __: tuple[Any, ...], output: Any) -> Any:
        if not self.enabled:
            return None
        stream, edges, self._stream, self._edges = self._stream, self._edges, None, None
        attended = output_tensor(output)
        hidden = attended
        if not self.place.residual:
            assert stream is not None
            hidden = stream + attended
        changed = attended + self.adapter(hidden, edges)
        return (changed, *output[1:]) if isinstance(output, tuple) else changed

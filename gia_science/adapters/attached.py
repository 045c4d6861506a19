"""An adapter on its model: what trains, its weights, on and off, and away again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gia_science.adapters import dispatch
from gia_science.adapters.config import AdapterConfig
from gia_science.adapters.site import Site
from gia_science.data.tensors import misfit_of
from gia_science.errors import AdapterError, Where, listed

MODULES = "gia_adapter"
"""Name under which a model holds the modules that it was given."""
_MARK = "_gia_attached"


class Attached(ABC):
    """A model with an adapter in it. Made by `attach` or `load_adapter`.

    Parameters
    ----------
    model : torch.nn.Module
        The model itself, changed in place.
    config : AdapterConfig
        Kind and sizes of the adapter.
    """

    def __init__(self, model: nn.Module, config: AdapterConfig) -> None:
        self.model = model
        self.config = config
        self._wanted_gradients = [(item, item.requires_grad) for item in model.parameters()]
        setattr(model, _MARK, config.kind)

    def trainable(self) -> list[tuple[str, nn.Parameter]]:
        """Names, as in the adapter's file, and parameters of what is trained."""
        return []

    def parameters_count(self) -> int:
        """Number of trained parameters."""
        return sum(parameter.numel() for _, parameter in self.trainable())

    def state(self) -> dict[str, Tensor]:
        """The adapter's weights, detached; a change of the model changes them too."""
        return {name: parameter.detach() for name, parameter in self.trainable()}

    def load_state(self, state: Mapping[str, Tensor], *, where: Where | None) -> None:
        """Take over weights.

        Parameters
        ----------
        state : mapping of str to Tensor
            As of `state`.
        where : Where or None
            File they come from, for messages.

        Raises
        ------
        AdapterError
            When a tensor is missing, unknown, or of another shape or type. Nothing is changed then.
        """
        wanted = dict(self.trainable())
        misfit = misfit_of(state, wanted)
        if misfit is not None:
            raise AdapterError("the weights do not fit the adapter and its base", got=misfit, where=where)
        with torch.no_grad():
            for name, parameter in wanted.items():
                parameter.copy_(state[name])

    @abstractmethod
    def enable(self) -> None:
        """Put the adapter to work, as it is from the start."""

    @abstractmethod
    def disable(self) -> None:
        """Have the model compute what the base does."""

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """The base model, for the length of a block."""
        self.disable()
        try:
            yield
        finally:
            self.enable()

    def remove(self) -> nn.Module:
        """Take the adapter out.

        Returns
        -------
        torch.nn.Module
            The base model, its weights and its structure as they were before.
        """
        self._detach()
        self._forget()
        return self.model

    def merge(self) -> nn.Module:
        """Fold the adapter into the base weights, where it is a change of them.

        Returns
        -------
        torch.nn.Module
            A model of the base's structure, that computes what the adapted one did.

        Raises
        ------
        AdapterError
            When no change of the base's weights does what the adapter does.
        """
        raise AdapterError(
            f"a {self.config.kind} adapter cannot be merged into the base weights",
            got=self._why_unmerged(),
            hint="keep base and adapter side by side",
        )

    def _why_unmerged(self) -> str:
        return "a step of its own between attention and feed-forward, which the base has no weights for"

    @abstractmethod
    def _detach(self) -> None: ...

    def _forget(self) -> None:
        for parameter, wanted in self._wanted_gradients:
            parameter.requires_grad_(wanted)
        self.model.__dict__.pop(_MARK, None)


class AttachedSites(Attached):
    """Modules of our own between attention and feed-forward.

    Parameters
    ----------
    model : torch.nn.Module
    config : AdapterConfig
    sites : dict of int to Site
        By the number of the layer.
    dispatched : bool
        Whether the model's attention must be stood before.
    """

    def __init__(
        self, model: nn.Module, config: AdapterConfig, sites: Mapping[int, Site], *, dispatched: bool
    ) -> None:
        super().__init__(model, config)
        self.sites = dict(sites)
        self._used = dispatch.switch(model) if dispatched else None
        model.requires_grad_(False)
        self.layers = nn.ModuleDict({str(layer): site.adapter for layer, site in sites.items()})
        model.add_module(MODULES, self.layers)
        self._handles: list[Any] = [handle for site in sites.values() for handle in site.hook()]

    def trainable(self) -> list[tuple[str, nn.Parameter]]:
        """Parameters of all layers: ``layers.3.down.weight``."""
        return [(f"layers.{name}", parameter) for name, parameter in self.layers.named_parameters()]

    def enable(self) -> None:
        for site in self.sites.values():
            site.enabled = True

    def disable(self) -> None:
        for site in self.sites.values():
            site.enabled = False

    @contextmanager
    def recording(self) -> Iterator[list[Tensor]]:
        """Keep the graphs of the forward passes inside a block.

        Yields
        ------
        list of (B, G, N, N)
            Weights A~ of the edges, layer by layer as the model calls them.
        """
        graphs: list[Tensor] = []
        for site in self.sites.values():
            site.record = graphs
        try:
            yield graphs
        finally:
            for site in self.sites.values():
                site.record = None

    def _why_unmerged(self) -> str:
        if self.config.kind == "sparse-gin":
            return "messages between tokens over a graph that changes with every input, which no fixed weights pass"
        return super()._why_unmerged()

    def _detach(self) -> None:
        for handle in self._handles:
            handle.remove()
        for site in self.sites.values():
            dispatch.unwatch(site.place.core)
        if self._used is not None:
            dispatch.switch_back(self.model, self._used)
        delattr(self.model, MODULES)


class AttachedNothing(Attached):
    """A frozen base: nothing is put in, nothing trains."""

    def __init__(self, model: nn.Module, config: AdapterConfig) -> None:
        super().__init__(model, config)
        model.requires_grad_(False)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def merge(self) -> nn.Module:
        """The base model; there is nothing to fold."""
        return self.remove()

    def _detach(self) -> None: ...


class AttachedFull(Attached):
    """A base of which all weights train; a copy of what they were is kept."""

    def __init__(self, model: nn.Module, config: AdapterConfig) -> None:
        super().__init__(model, config)
        model.requires_grad_(True)
        self._others = {name: value.detach().clone() for name, value in model.named_parameters()}
        self._enabled = True

    def trainable(self) -> list[tuple[str, nn.Parameter]]:
        """All parameters of the model."""
        return list(self.model.named_parameters())

    def enable(self) -> None:
        if not self._enabled:
            self._swap()

    def disable(self) -> None:
        if self._enabled:
            self._swap()

    def state(self) -> dict[str, Tensor]:
        """The trained weights, whether they are in the model or the base's are."""
        return super().state() if self._enabled else dict(self._others)

    def load_state(self, state: Mapping[str, Tensor], *, where: Where | None) -> None:
        """Take over weights, as `Attached.load_state` does."""
        enabled = self._enabled
        self.enable()
        try:
            super().load_state(state, where=where)
        finally:
            if not enabled:
                self.disable()

    def merge(self) -> nn.Module:
        """The trained model; the copy of the base is let go."""
        self.enable()
        self._forget()
        return self.model

    def _swap(self) -> None:
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                other = self._others[name].to(parameter.device, copy=True)
                self._others[name].copy_(parameter)
                parameter.copy_(other)
        self._enabled = not self._enabled

    def _detach(self) -> None:
        self.disable()


def require_free(model: nn.Module) -> None:
    """Refuse a model that has an adapter already."""
    kind = model.__dict__.get(_MARK)
    if kind is not None:
        raise AdapterError("the model has an adapter already", got=str(kind), hint="remove() that first")


def chosen(layers: Sequence[int] | None, depth: int) -> tuple[int, ...]:
    """The layers that get an adapter."""
    if layers is None:
        return tuple(range(depth))
    wrong = [str(layer) for layer in layers if not 0 <= layer < depth]
    if wrong or len(set(layers)) != len(layers):
        raise AdapterError(
            "the adapter names layers that are not there, or twice",
            got=listed(wrong or [str(layer) for layer in layers]),
            expected=f"0 to {depth - 1}, each once",
        )
    return tuple(sorted(layers))

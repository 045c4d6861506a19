"""A pretrained transformers model in the place of `GIATransformer`."""

from __future__ import annotations

from typing import Any, Self

import torch
from torch import Tensor, nn

from gia_science.adapters import AdapterConfig, attach
from gia_science.data.batching import Batch
from gia_science.model.config import BaseConfig


class HuggingFaceBackbone(nn.Module):
    """Batches of token streams to hidden states, by a pretrained model with an adapter.

    While the adapter is trained, the frozen model stays as in prediction, without dropout. That of the adapter acts,
    and that of a model that is fine-tuned as a whole.

    Parameters
    ----------
    config : BaseConfig
    model : torch.nn.Module
        As transformers has it, without heads.
    """

    special: Tensor

    def __init__(self, config: BaseConfig, *, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.padding = config.padding
        self.register_buffer("special", torch.tensor(config.special, dtype=torch.long), persistent=False)
        self.frozen_names: frozenset[str] = frozenset()
        self._added: list[nn.Module] | None = None

    def adapt(self, adapter: AdapterConfig) -> None:
        """Put an adapter on the model; all but the adapter is frozen, unless all is to be trained."""
        if adapter.kind == "full":
            self.model.requires_grad_(True)
            return
        before, theirs = set(self.model.modules()), {id(tensor) for tensor in _tensors(self).values()}
        attach(self.model, adapter)
        self.frozen_names = frozenset(name for name, tensor in _tensors(self).items() if id(tensor) in theirs)
        self._added = [module for module in self.model.modules() if module not in before]

    def freeze_unused(self) -> None:
        """Freeze what the states do not depend on, such as heads that a family always has: it gets no gradient."""
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        if not weights:
            return
        states = self.model(input_ids=torch.tensor([[1, 2]])).last_hidden_state
        found = torch.autograd.grad(states.sum(), weights, allow_unused=True)
        for weight, gradient in zip(weights, found, strict=True):
            weight.requires_grad_(gradient is not None)

    def train(self, mode: bool = True) -> Self:
        """Training mode of what is trained."""
        super().train(mode)
        if self._added is not None:
            self.model.eval()
            for module in self._added:
                module.training = mode
        return self

    def forward(self, batch: Batch, *, layer: int | None = None) -> tuple[Tensor, Tensor]:
        """Hidden states of all tokens.

        Parameters
        ----------
        batch : Batch
        layer : int, optional
            As in `GIATransformer.forward`; the last has gone through the model's final norm where it has one.

        Returns
        -------
        hidden : (B, N, d) float
        mask : (B, N) bool
            True for tokens that stand for a part of the text; false for padding and special tokens.
        """
        config: Any = self.model.config
        ids = torch.where(batch.mask, batch.ids, self.padding)
        inner = layer is not None and layer < config.num_hidden_layers
        options: dict[str, Any] = {"output_hidden_states": True} if inner else {}
        if getattr(config, "use_cache", None) is not None:
            options["use_cache"] = False
        output = self.model(input_ids=ids, attention_mask=batch.mask.long(), **options)
        hidden: Tensor = output.hidden_states[layer] if inner else output.last_hidden_state
        return hidden, batch.mask & ~torch.isin(ids, self.special)


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = module.state_dict(keep_vars=True)
    return tensors

"""Which base model an adapter belongs to."""

from __future__ import annotations

import hashlib

import torch
from pydantic import Field
from torch import Tensor, nn

from gia_science.adapters.attached import MODULES
from gia_science.settings import Strict

_POOLER = "pooler"


class BaseReference(Strict):
    """A base model, by name and by its weights.

    Parameters
    ----------
    name_or_path : str
        Path or id that it was loaded from; never opened by this package of itself.
    sha256 : str
        As of `weights_sha256`.
    """

    name_or_path: str = Field(description="Path or id that it was loaded from.")
    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="Hash of its weights.")


def weights_sha256(model: nn.Module) -> str:
    """SHA-256 over names, types, shapes and bytes of a model's weights.

    Heads and poolers of a transformers model are left out, as is an adapter: adapters act below heads, and loading a
    checkpoint without them makes them anew at random.

    Parameters
    ----------
    model : torch.nn.Module
        With an adapter or without; full fine-tuning changes the weights, and so their hash.
    """
    base = getattr(model, "base_model", model)
    digest = hashlib.sha256()
    for name, tensor in sorted(_tensors(base).items()):
        kind = f"{name} {tensor.dtype} {tuple(tensor.shape)}\n"
        digest.update(kind.encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        digest.update(flat.numpy().data)
    return digest.hexdigest()


def _tensors(base: nn.Module) -> dict[str, Tensor]:
    named = {name.replace(".base_layer.", "."): tensor for name, tensor in base.state_dict().items()}
    return {name: tensor for name, tensor in named.items() if not _left_out(name.split("."))}


def _left_out(parts: list[str]) -> bool:
    return parts[0] in (_POOLER, MODULES) or any(part.startswith("lora_") for part in parts)

"""Sparse-GIN and its controls on pretrained models."""

from gia_science.adapters.attach import attach, inject
from gia_science.adapters.attached import Attached
from gia_science.adapters.config import (
    AdapterConfig,
    BottleneckConfig,
    FrozenConfig,
    FullConfig,
    LoRAConfig,
    SparseGINConfig,
)
from gia_science.adapters.folder import load_adapter, save_adapter
from gia_science.adapters.reference import BaseReference, weights_sha256
from gia_science.adapters.sizes import rank_for

__all__ = [
    "AdapterConfig",
    "Attached",
    "BaseReference",
    "BottleneckConfig",
    "FrozenConfig",
    "FullConfig",
    "LoRAConfig",
    "SparseGINConfig",
    "attach",
    "inject",
    "load_adapter",
    "rank_for",
    "save_adapter",
    "weights_sha256",
]

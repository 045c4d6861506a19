"""Attention as a graph: scores, adjacency, aggregation."""

from gia_science.attention.base import GraphAttention
from gia_science.attention.config import AttentionConfig
from gia_science.attention.layers import (
    GINAttention,
    PlainAttention,
    PNAAttention,
    build_attention,
)
from gia_science.attention.prior import edge_matrix, with_hops
from gia_science.attention.rotary import rotary

__all__ = [
    "AttentionConfig",
    "GINAttention",
    "GraphAttention",
    "PNAAttention",
    "PlainAttention",
    "build_attention",
    "edge_matrix",
    "rotary",
    "with_hops",
]

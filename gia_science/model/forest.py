"""A forest of decision trees as tensors: stored and loaded like weights, evaluated like a layer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from gia_science.data.targets import every_class
from gia_science.settings import Strict


class ForestConfig(Strict):
    """Shape of a forest."""

    trees: int = Field(ge=1, description="Number of trees T.")
    nodes: int = Field(ge=1, description="Nodes of the largest tree K.")
    outputs: int = Field(ge=1, description="Numbers that a leaf holds.")
    features: int = Field(ge=1, description="Numbers that the trees see D.")


class Forest(nn.Module):
    """Mean of the leaves that an input falls into.

    A forest that scikit-learn has fitted is kept as it is, node by node, as tensors instead of a pickle.

    Parameters
    ----------
    config : ForestConfig
    """

    feature: Tensor
    threshold: Tensor
    right: Tensor
    value: Tensor

    def __init__(self, config: ForestConfig) -> None:
        super().__init__()
        self.config = config
        shape = (config.trees, config.nodes)
        # (T, K): the feature that a node looks at, -1 at leaves; the left child is the next node.
        self.register_buffer("feature", torch.full(shape, -1, dtype=torch.int32))
        self.register_buffer("threshold", torch.zeros(shape))
        self.register_buffer("right", torch.zeros(shape, dtype=torch.int32))
        self.register_buffer("value", torch.zeros(*shape, config.outputs))

    @classmethod
    def of(cls, fitted: Any, *, features: int, classes: int | None = None, binary: bool = False) -> Self:
        """A forest of scikit-learn, fitted on `features` numbers: a regressor, or a classifier of one target.

        Of a classifier a leaf holds the probabilities of all classes, with `binary` that of the second alone.
        `classes` is the number of classes, numbered from 0, where the forest may not have seen all of them: the others
        have no share.
        """
        trees = [estimator.tree_ for estimator in fitted.estimators_]
        seen = getattr(fitted, "classes_", None)
        values = [_leaf_values(tree, seen=seen, classes=classes)[:, int(binary) :] for tree in trees]
        config = ForestConfig(
            trees=len(trees),
            nodes=max(tree.node_count for tree in trees),
            outputs=values[0].shape[1],
            features=features,
        )
        forest = cls(config)
        for number, (tree, value) in enumerate(zip(trees, values, strict=True)):
            inner = tree.children_left >= 0
            assert (tree.children_left[inner] == np.flatnonzero(inner) + 1).all(), (
                "trees are stored depth first"
            )
            count = tree.node_count
            forest.feature[number, :count] = torch.from_numpy(np.where(inner, tree.feature, -1))
            forest.threshold[number, :count] = torch.from_numpy(_rounded_down(tree.threshold))
            forest.right[number, :count] = torch.from_numpy(np.where(inner, tree.children_right, 0))
            forest.value[number, :count] = torch.from_numpy(value)
        return forest

    def forward(self, x: Tensor) -> Tensor:
        """``(B, D)`` to ``(B, outputs)``; a missing number counts as 0, as it has to in fitting."""
        x = x.nan_to_num(nan=0.0)
        trees = torch.arange(self.config.trees, device=x.device)
        node = torch.zeros(len(x), self.config.trees, dtype=torch.long, device=x.device)
        # A path is never longer than the tree has nodes, whatever the file says.
        for _ in range(self.config.nodes):
            feature = self.feature[trees, node].long()
            if (feature < 0).all():
                break
            goes_left = x.gather(1, feature.clamp_min(0)) <= self.threshold[trees, node]
            onward = torch.where(goes_left, node + 1, self.right[trees, node].long())
            node = torch.where(feature < 0, node, onward)
        return self.value[trees, node].mean(dim=1)

    def is_sound(self) -> bool:
        """Whether all nodes point to nodes and features that there are, and onward: true of every fitted forest."""
        inner = self.feature >= 0
        places = torch.arange(self.config.nodes).expand_as(self.right)
        onward = (self.right > places) & (self.right < self.config.nodes) & (places + 1 < self.config.nodes)
        known = (self.feature >= -1) & (self.feature < self.config.features)
        return bool(known.all() and onward[inner].all() and self.value.isfinite().all())


def _leaf_values(tree: Any, *, seen: Any, classes: int | None) -> Any:
    """Numbers of each node of a tree, ``(nodes, outputs)`` float32."""
    value = tree.value.astype(np.float32)
    if seen is None:
        return value[:, :, 0]
    assert value.shape[1] == 1, "a classifier has one target"
    shares = value[:, 0] / value[:, 0].sum(axis=1, keepdims=True)
    if classes is not None:
        shares = every_class(shares, seen=seen, classes=classes)
    return shares


def _rounded_down(threshold: Any) -> Any:
    """Thresholds as float32, so that a float32 number is on the same side of both."""
    rounded = threshold.astype(np.float32)
    above = rounded.astype(np.float64) > threshold
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded

"""Batches of rows and targets: alignment with tokens, epochs, other spellings."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from gia_science.tokens.domain import make_tokenizer
from gia_science.tokens.featurizer import DescriptorSource, Featurizer
from gia_science.training.datamodule import BatchedData, Examples, RespelledExamples, collate_pairs
from gia_science.training.optimizer_recipe import OptimizerRecipe


def plain_featurizer(domain: str, **options: object) -> Featurizer:
    return Featurizer(
        make_tokenizer(domain, options=options),
        source=DescriptorSource(providers=[], columns=[]),
        scalings=[],
        max_length=100,
    )


def test_labels_of_residues_stand_at_their_tokens() -> None:
    """The leading M is left out and the second row is shorter: every label still meets its own residue."""
    featurizer = plain_featurizer("protein", strip_leading_met=True)
    texts = ["MKVA", "GG"]
    labels = [np.array([9.0, 0.0, 1.0, 2.0]), np.array([3.0, np.nan])]
    pairs = [
        (featurizer.example(featurizer.read(text)), label) for text, label in zip(texts, labels, strict=True)
    ]
    batch, targets = collate_pairs(pairs, per_token=True)
    vocabulary = featurizer.tokenizer.vocabulary
    met = {
        (vocabulary.tokens[token], float(target))
        for row_ids, row_targets in zip(batch.ids, targets, strict=True)
        for token, target in zip(row_ids, row_targets, strict=True)
        if not torch.isnan(target)
    }
    assert met == {("K", 0.0), ("V", 1.0), ("A", 2.0), ("G", 3.0)}
    assert int((~torch.isnan(targets)).sum()) == 4


def data_of(lengths: list[int]) -> BatchedData:
    featurizer = plain_featurizer("protein")
    examples = [featurizer.example(featurizer.read("A" * length)) for length in lengths]
    rows = Examples(examples, targets=[np.array([float(length)]) for length in lengths])
    optimizer = OptimizerRecipe(batch_tokens=200, batch_rows=8)
    return BatchedData(
        train=rows,
        validation=rows,
        optimizer=optimizer,
        collate=partial(collate_pairs, per_token=False),
        seed=3,
    )


def test_every_row_is_seen_once_an_epoch_in_another_order_each_time() -> None:
    lengths = list(range(2, 42))
    data = data_of(lengths)
    loader = data.train_dataloader()
    epochs = [[float(value) for _, targets in loader for value in targets] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == lengths
    assert epochs[0] != epochs[1]
    again = [float(value) for _, targets in data_of(lengths).train_dataloader() for value in targets]
    assert again == epochs[0]


def test_validation_rows_are_all_there() -> None:
    data = data_of([3, 50, 7])
    assert sorted(float(value) for _, targets in data.val_dataloader() for value in targets) == [3, 7, 50]


def test_another_spelling_keeps_atoms_descriptors_and_target() -> None:
    featurizer = plain_featurizer("smiles")
    reading = featurizer.read("CC(=O)Nc1ccc(O)cc1")
    example = featurizer.example(reading)
    rows = RespelledExamples(
        [example], targets=[np.array([1.0])], readings=[reading], featurizer=featurizer, chance=1.0, seed=0
    )
    drawn = [rows[0] for _ in range(8)]
    assert len({tuple(other.stream.ids.tolist()) for other, _ in drawn}) > 1
    for other, target in drawn:
        atoms = [
            sorted(stream.units[stream.units >= 0].tolist()) for stream in (other.stream, example.stream)
        ]
        assert atoms[0] == atoms[1]
        assert other.descriptors is example.descriptors
        assert target == np.array([1.0])
    never = RespelledExamples(
        [example], targets=[np.array([1.0])], readings=[reading], featurizer=featurizer, chance=0.0, seed=0
    )
    assert never[0][0] is example

"""The networks as scikit-learn estimators: sequences, SMILES or formulas in, predictions or vectors out."""

from gia_science.estimators.embedder import SequenceEmbedder
from gia_science.estimators.supervised import SequenceClassifier, SequenceRegressor

__all__ = ["SequenceClassifier", "SequenceEmbedder", "SequenceRegressor"]

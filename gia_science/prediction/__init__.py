"""Predictions and embeddings of many rows, from a saved model."""

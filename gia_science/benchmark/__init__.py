"""Comparisons that can be repeated: the same data, seeds and budget for every arm."""

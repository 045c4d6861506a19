"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# A busy machine is no failure: how long an example takes is measured by the benchmarks.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

"""Clusters of sequences by MMseqs2, where it is installed (Steinegger and Söding, Nat. Biotechnol. 2017, 35, 1026)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gia_science.errors import RecipeError

PROGRAM = "mmseqs"
COVERAGE = 0.8
"""Share of both sequences that an alignment must cover."""


def find() -> str | None:
    """Path of MMseqs2, or None where it is not on the PATH."""
    return shutil.which(PROGRAM)


def version(program: str) -> str:
    """``MMseqs2`` with the version that the program says; a commit is cut to twelve digits."""
    return f"MMseqs2 {_call([program, 'version']).strip()[:12]}".strip()


def cluster(sequences: Sequence[str], *, similarity: float, program: str) -> list[int]:
    """Cluster distinct sequences with ``mmseqs easy-cluster``, in a temporary folder and one thread.

    Parameters
    ----------
    sequences : sequence of str
    similarity : float
        Least identity of an alignment that covers `COVERAGE` of both sequences.
    program : str
        Path of MMseqs2.

    Returns
    -------
    list of int
        Place of each sequence's representative.

    Raises
    ------
    RecipeError
        When the program fails or leaves sequences out.
    """
    with tempfile.TemporaryDirectory(prefix="gia-clusters-") as name:
        folder = Path(name)
        fasta = folder / "in.fasta"
        fasta.write_text("".join(f">{place}\n{sequence}\n" for place, sequence in enumerate(sequences)))
        options = {"--min-seq-id": similarity, "-c": COVERAGE, "--cov-mode": 0, "--threads": 1, "-v": 1}
        words = [str(word) for pair in options.items() for word in pair]
        _call([program, "easy-cluster", str(fasta), str(folder / "out"), str(folder / "tmp"), *words])
        return _read(folder / "out_cluster.tsv", len(sequences))


def _call(words: Sequence[str]) -> str:
    try:
        # The program is the user's own MMseqs2, and no word comes from data.
        done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    except OSError as error:
        raise RecipeError("MMseqs2 cannot be run", got=error.strerror or str(error)) from error
    except subprocess.CalledProcessError as error:
        last = [line for line in (error.stderr or error.stdout or "").splitlines() if line.strip()][-1:]
        raise RecipeError(
            "MMseqs2 failed",
            got=last[0] if last else f"exit code {error.returncode}",
            hint="split.clusters=kmers does without it",
        ) from error
    return done.stdout


def _read(path: Path, count: int) -> list[int]:
    """Representative of each sequence from lines of representative and member."""
    of: dict[int, int] = {}
    if path.is_file():
        for line in path.read_text().splitlines():
            chosen, _, member = line.partition("\t")
            of[int(member)] = int(chosen)
    if sorted(of) != list(range(count)):
        raise RecipeError(
            "MMseqs2 left sequences out",
            got=f"{len(of)} of {count}",
            hint="split.clusters=kmers does without it",
        )
    return [of[place] for place in range(count)]

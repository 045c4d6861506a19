"""Looks for bytes that lose a row or end in a traceback, guided by what code they reach.

    python tests/fuzz/fuzz_tables.py --seconds 600

With atheris (Linux; ``pip install 'gia-science[fuzz]'``) the bytes are steered to new code, and what breaks the
property is kept in ``runs/fuzz``; a path of such a file runs it again. Without atheris, hypothesis makes the bytes.
The exit code is 0 where nothing was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
import warnings
from pathlib import Path

import torch

# Both modules stand beside this one, and Python puts the folder of a script first on its path.
SEEDS = (
    b"id,smiles,y\na,CCO,1\nb,C1CC,\n",
    b">a one\nMKTAYIAK\n;note\n>b\nMK-x*\n",
    b'formula;y\nFe2O3;1,5\n"CuSO4\xc2\xb75H2O";2\n',
    b"smiles name\nCCO ethanol\nCC |^1:0|\ttwo words\n# note\n",
    b"\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\nM  END\n"
    b"> <y>\n1\n\n$$$$\n",
    b"smiles\ty\nCCO\t1\n",
    b"\xef\xbb\xbfsequence\r\nMKV\r\n\r\nMKX\r\n",
    b"data_x\n_cell_length_a 4\n",
)


def main() -> None:
    """Fuzz for some seconds, or run the files that are named once more."""
    parser = argparse.ArgumentParser(
        description="Fuzz the readers of tables and the prediction of their rows."
    )
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--folder", type=Path, default=Path("runs/fuzz"))
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    if arguments.files:
        for file in arguments.files:
            check(file.read_bytes())
            say(f"{file}: every row comes back")
    elif importlib.util.find_spec("atheris") is not None:
        with_atheris(arguments.seconds, arguments.folder)
    else:
        say("atheris is not installed: hypothesis makes the bytes")
        with_hypothesis(arguments.seconds)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def check(content: bytes) -> None:
    """The first byte says in which domain and format the others are read."""
    from rows_back import KINDS, check_rows

    domain, kind = KINDS[content[0] % len(KINDS)] if content else KINDS[0]
    check_rows(domain, content[1:], format=kind)


def with_atheris(seconds: int, folder: Path) -> None:
    """Run libFuzzer, which ends the process."""
    import atheris

    with atheris.instrument_imports(include=["gia_science.data", "gia_science.tokens"]):
        from rows_back import KINDS, model_of
    for domain, _ in KINDS:
        model_of(domain)
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS):
        (corpus / f"seed-{number}").write_bytes(bytes([number]) + seed)
    limits = [
        f"-max_total_time={seconds}",
        "-max_len=2048",
        "-len_control=0",
        "-timeout=60",
        "-rss_limit_mb=4096",
    ]
    atheris.Setup([sys.argv[0], str(corpus), f"-artifact_prefix={folder}/", *limits], check)
    atheris.Fuzz()


def with_hypothesis(seconds: int) -> None:
    """Run rounds of random and damaged files until the time is over."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
    from strategies import FILES, mutated

    files = st.one_of(st.binary(max_size=200), *map(mutated, FILES.values()))

    @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 255), files)
    def one_round(kind: int, content: bytes) -> None:
        check(bytes([kind]) + content)

    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        one_round()
        rounds += 1
    say(f"{200 * rounds} inputs, nothing found")


if __name__ == "__main__":
    main()

"""Bytes that are nearly a table: what programs write, with some of it cut, doubled or replaced."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Sequence

from hypothesis import strategies as st

INPUTS = (
    "CCO",
    "c1ccccc1",
    "C1CC",
    "[Na+].[Cl-]",
    "MKTAYIAK",
    "mkxaz*",
    "Fe2O3",
    "CuSO4·5H2O",
    "Fe2O",
    "NA",
    "",
)
PIECES = (
    *(
        b'"',
        b'""',
        b"\n",
        b"\r",
        b"\r\n",
        b",",
        b";",
        b"\t",
        b"|",
        b"#",
        b">",
        b"> <x>\n",
        b"$$$$\n",
        b"M  END\n",
    ),
    *(
        b"\0",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\x1f\x8b",
        b"PAR1",
        b"\xe2\x80\xa8",
        b"\x85",
        b"\x1c",
        b" ",
        b"0",
    ),
)
MOLFILE = """{name}
  program

  2  1  0  0  0  0  0  0  0  0999 V2000
    0.0000    0.0000    0.0000 C   0  0  0  0  0  0  0  0  0  0  0  0
    1.5000    0.0000    0.0000 {symbol}   0  0  0  0  0  0  0  0  0  0  0  0
  1  2  1  0
M  END
> <{field}>
{value}

$$$$
"""
characters = st.characters(codec="utf-8", exclude_characters="\0")
cells = st.one_of(st.sampled_from(INPUTS), st.text(characters, max_size=8), st.integers(-9, 99).map(str))
words = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=5)


@st.composite
def delimited(
    draw: st.DrawFn, *, header: Sequence[str] | None = None, delimiters: str = ",;\t|"
) -> tuple[bytes, list[tuple[str, ...]]]:
    """Bytes of a delimited file, quoted and ended as programs do, and its rows."""
    names = header if header is not None else draw(st.lists(cells, min_size=1, max_size=4))
    row = st.tuples(*[cells] * len(names))
    rows = draw(st.lists(row, max_size=6))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    # Python's csv leaves other line ends than its own bare, unless it quotes all.
    quoting = csv.QUOTE_MINIMAL if end == "\r\n" and draw(st.booleans()) else csv.QUOTE_ALL
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=draw(st.sampled_from(delimiters)), quoting=quoting, lineterminator=end
    )
    writer.writerows([names, *rows])
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.getvalue().encode()
    return (gzip.compress(content, 1) if draw(st.integers(0, 4)) == 0 else content), rows


@st.composite
def fasta(draw: st.DrawFn) -> bytes:
    sequence = st.lists(st.sampled_from([*INPUTS, "MKLV\n", ";note\n", " ", "\r\n"]), max_size=3).map("".join)
    records = draw(st.lists(st.tuples(st.text(characters, max_size=6), sequence), min_size=1, max_size=5))
    return "".join(f">{name}\n{sequence}\n" for name, sequence in records).encode()


@st.composite
def smi(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.tuples(cells, st.sampled_from([" ", "\t", ""]), cells), max_size=6))
    return "".join(f"{smiles}{gap}{name}\n" for smiles, gap, name in lines).encode()


@st.composite
def sdf(draw: st.DrawFn) -> bytes:
    symbols = st.sampled_from(["C ", "O ", "Xx", "R#", "F "])
    entry = st.builds(MOLFILE.format, name=words, symbol=symbols, field=words, value=cells)
    return "".join(draw(st.lists(entry, min_size=1, max_size=3))).encode()


@st.composite
def mutated(draw: st.DrawFn, files: st.SearchStrategy[bytes]) -> bytes:
    """A file with up to four pieces cut out, put in, or written over."""
    content = draw(files)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(content)))
        gone = draw(st.sampled_from([0, 1, 2, 8, 1000]))
        new = draw(st.one_of(st.sampled_from(PIECES), st.binary(max_size=3)))
        content = content[:start] + new + content[start + gone :]
    return content


FILES = {
    "csv": delimited().map(lambda made: made[0]),
    "tsv": delimited(delimiters="\t").map(lambda made: made[0]),
    "fasta": fasta(),
    "smi": smi(),
    "sdf": sdf(),
}

"""Text is UTF-8 or it is refused by name and place; line ends are kept."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data import lines
from gia_science.data.lines import refuse_binary, text_lines, whole_lines
from gia_science.errors import TableError


def read(content: bytes) -> list[str]:
    return list(text_lines(io.BytesIO(content), source="f"))


def test_all_three_line_ends_end_a_line_and_are_kept() -> None:
    assert read(b"a\nb\r\nc\rd") == ["a\n", "b\r\n", "c\r", "d"]


def test_other_separators_of_unicode_do_not_end_a_line() -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\n"
    assert read(text.encode()) == [text]


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0\ufeff")), st.integers(1, 9))
def test_nothing_is_lost_whatever_the_size_of_chunks(text: str, size: int) -> None:
    class Slow(io.BytesIO):
        def read(self, _: int | None = -1) -> bytes:
            return super().read(size)

    found = list(text_lines(Slow(text.encode()), source="f"))
    assert "".join(found) == text
    assert found == read(text.encode())


def test_byte_order_mark_is_left_out() -> None:
    assert read(b"\xef\xbb\xbfa\n\xef\xbb\xbfb") == ["a\n", "\ufeffb"]


def test_latin1_is_refused_with_line_and_byte() -> None:
    with pytest.raises(TableError, match=r"f, line 2: not UTF-8 text: got byte 0xE9 at byte 3 .* Latin-1"):
        read("name\nJosé\n".encode("latin-1").replace(b"Jos", b"Jo"))


def test_nul_is_refused_with_its_line() -> None:
    with pytest.raises(TableError, match="f, line 2: not a text file"):
        read(b"a\nb\0\n")


def test_a_line_without_end_is_refused_before_it_fills_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100_000)
    with pytest.raises(TableError, match="line 2: not a table"):
        read(b"a\n" + b"x" * 300_000)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_refused_by_name(encoding: str) -> None:
    with pytest.raises(TableError, match="UTF-32" if encoding == "utf-32" else "UTF-16"):
        refuse_binary("smiles,y\nCCO,1\n".encode(encoding), source="f")


@pytest.mark.parametrize(
    ("head", "name"),
    [(b"PK\x03\x04..", "Excel"), (b"\x1f\x8b..", "gzip"), (b"%PDF-1.7", "PDF"), (b"a\n\0b", "NUL")],
)
def test_binary_files_are_refused_by_kind(head: bytes, name: str) -> None:
    with pytest.raises(TableError, match=f"not a text file: got .*{name}"):
        refuse_binary(head, source="f")


def test_head_is_cut_behind_its_last_whole_line() -> None:
    assert whole_lines(b"ab\ncd\ne", complete=False, source="f") == b"ab\ncd\n"
    assert whole_lines(b"ab\ncd\ne", complete=True, source="f") == b"ab\ncd\ne"
    with pytest.raises(TableError, match="first line"):
        whole_lines(b"abcde", complete=False, source="f")

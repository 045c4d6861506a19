"""A file of a dataset is whole and the one on the card, or there is one line that says why not and nothing left."""

from __future__ import annotations

import hashlib
import logging

import pytest

from gia_science.data import download
from gia_science.data.card_remote import RemoteFile
from gia_science.data.download import cache_folder, fetch, place_of
from gia_science.errors import TableError

CONTENT = b"smiles,y\n" + b"C,1\n" * 9000
DIGEST = hashlib.sha256(CONTENT).hexdigest()
NAME = "rows.csv"


def described(url: str, name: str = NAME) -> RemoteFile:
    table = {"format": "csv", "columns": {"smiles": "smiles"}}
    return RemoteFile(name=name, url=url, sha256=DIGEST, size=len(CONTENT), tables=[table])


@pytest.fixture
def file(server, cache):
    """A file of the server, given in one of its ways: ``file("wrong")``."""
    server.files[NAME] = CONTENT
    return lambda way="right": described(f"{server.address}/{way}/{NAME}")


def test_a_file_is_downloaded_once_and_told(file, server, cache, caplog):
    with caplog.at_level(logging.INFO, "gia_science"):
        path = fetch(file(), dataset="tiny")
    assert path.read_bytes() == CONTENT
    assert path.parent == cache
    (told,) = caplog.messages
    assert told == f"tiny: downloading {NAME} ({len(CONTENT):,} bytes) from {server.address}/right/{NAME}"
    assert fetch(file(), dataset="tiny") == path
    assert server.asked == [f"/right/{NAME}"]
    assert place_of(file()) == "cached"


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("wrong", rf"not the file on the dataset card: got sha256 [0-9a-f]{{64}}, {len(CONTENT):,} bytes, "),
        ("short", rf"got sha256 [0-9a-f]{{64}}, {len(CONTENT) // 2:,} bytes, expected sha256 {DIGEST}, "),
        ("huge", rf"got more than [0-9,]+ bytes, expected sha256 {DIGEST}, {len(CONTENT):,} bytes"),
        ("missing", "the server does not give the file: got 404"),
        ("broken", "the server does not give the file: got 503"),
        ("dropped", rf"the connection broke off: got [0-9,]+ of {len(CONTENT):,} bytes"),
        (
            "stalled",
            rf"the server does not answer: got no bytes for 0\.3 seconds after [0-9,]+ of {len(CONTENT):,}",
        ),
        ("silent", r"the server does not answer: got no bytes for 0\.3 seconds after 0 of"),
    ],
)
def test_a_failed_download_is_one_line_and_leaves_nothing(file, cache, monkeypatch, way, message):
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    with pytest.raises(TableError, match=message) as caught:
        fetch(file(way), dataset="tiny")
    assert f"/{way}/{NAME}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(cache.iterdir()) == []
    assert fetch(file(), dataset="tiny").read_bytes() == CONTENT


def test_a_server_that_is_not_there_is_one_line(cache):
    with pytest.raises(TableError, match="the server cannot be reached: got Connection refused"):
        fetch(described("http://127.0.0.1:9/rows.csv"), dataset="tiny")


def test_an_interrupted_download_leaves_nothing(file, cache, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(download._Received, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(file(), dataset="tiny")
    assert list(cache.iterdir()) == []


def test_a_damaged_file_in_the_cache_is_told_and_downloaded_anew(file, caplog):
    path = fetch(file(), dataset="tiny")
    path.write_bytes(CONTENT[:-1])
    assert place_of(file()) == "download"
    assert fetch(file(), dataset="tiny").read_bytes() == CONTENT
    assert any("damaged" in told and f"{len(CONTENT) - 1:,} bytes" in told for told in caplog.messages)


@pytest.mark.parametrize("below", ["", "molecules"])
def test_a_mirror_folder_is_looked_at_first(file, server, cache, tmp_path, monkeypatch, below):
    place = tmp_path / "mirror" / below
    place.mkdir(parents=True)
    (place / NAME).write_bytes(CONTENT)
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path / "mirror"))
    assert place_of(file()) == "mirror"
    assert fetch(file(), dataset="tiny") == place / NAME
    assert (server.asked, cache.exists()) == ([], False)


def test_of_two_files_of_a_name_in_a_mirror_the_right_one_is_taken(file, tmp_path, monkeypatch):
    for folder, content in (("a", b"other"), ("b", CONTENT)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / NAME).write_bytes(content)
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path))
    assert fetch(file(), dataset="tiny") == tmp_path / "b" / NAME


def test_a_wrong_file_in_a_mirror_is_named_and_left_alone(file, server, tmp_path, monkeypatch):
    (tmp_path / NAME).write_bytes(b"other")
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path))
    with pytest.raises(TableError, match=rf"rows\.csv: not the file .* 5 bytes, expected sha256 {DIGEST}"):
        fetch(file(), dataset="tiny")
    assert (tmp_path / NAME).read_bytes() == b"other"
    assert server.asked == []


def test_a_file_that_a_mirror_lacks_is_downloaded(file, server, tmp_path, monkeypatch):
    monkeypatch.setenv("GIA_DATA_MIRROR", str(tmp_path))
    fetch(file(), dataset="tiny")
    monkeypatch.setenv("GIA_CACHE", str(tmp_path / "second"))
    monkeypatch.setenv("GIA_DATA_MIRROR", f"{server.address}/missing/")
    fetch(file(), dataset="tiny")
    assert server.asked == [f"/right/{NAME}", f"/missing/{NAME}", f"/right/{NAME}"]


def test_a_mirror_can_be_an_address(file, server, monkeypatch):
    monkeypatch.setenv("GIA_DATA_MIRROR", f"{server.address}/right")
    assert fetch(file("broken"), dataset="tiny").read_bytes() == CONTENT
    assert server.asked == [f"/right/{NAME}"]


def test_a_mirror_that_is_no_folder_is_refused(file, monkeypatch):
    monkeypatch.setenv("GIA_DATA_MIRROR", "no/such/folder")
    with pytest.raises(TableError, match="GIA_DATA_MIRROR names no folder: got 'no/such/folder'"):
        fetch(file(), dataset="tiny")


def test_a_cache_that_cannot_be_made_is_named(file, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GIA_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(TableError, match=r"cannot make the cache: got Not a directory .*GIA_CACHE"):
        fetch(file(), dataset="tiny")


def test_the_cache_is_read_at_the_time_of_the_call(monkeypatch, tmp_path):
    monkeypatch.setenv("GIA_CACHE", str(tmp_path / "one"))
    assert cache_folder() == tmp_path / "one"
    monkeypatch.delenv("GIA_CACHE")
    assert cache_folder().name == "gia-science"


def test_files_of_one_name_do_not_meet_in_the_cache(server, cache):
    other = b"another"
    server.files |= {NAME: CONTENT, "other": other}
    first = described(f"{server.address}/right/{NAME}")
    second = first.model_copy(
        update={
            "url": f"{server.address}/right/other",
            "sha256": hashlib.sha256(other).hexdigest(),
            "size": len(other),
        }
    )
    assert [fetch(file, dataset="tiny").read_bytes() for file in (first, second, first)] == [
        CONTENT,
        other,
        CONTENT,
    ]


@pytest.mark.parametrize("name", ["../rows.csv", "a/b", ".rows", "", "a b", "*"])
def test_a_name_cannot_lead_out_of_the_cache(name):
    with pytest.raises(ValueError, match="name"):
        described("http://example.org/x", name)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x", "rows.csv", "https://a b"])
def test_addresses_are_of_the_web(url):
    with pytest.raises(ValueError, match="url"):
        described(url)

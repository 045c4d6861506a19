"""``gia datasets`` lists, shows and fetches; training from a dataset that is not there downloads it and says so."""

from __future__ import annotations

import functools
import hashlib
import http.server
import threading

import pytest
import yaml

from gia_science import catalog
from gia_science.data.cards import load_card
from gia_science.training.recipe import Recipe

# The name of the first column could be that of the input: the card says that it is not.
ROWS = "compound,smiles,logS,fold\n" + "".join(f"a{i},{'C' * i},{i}.5,{i % 5}\n" for i in range(1, 21))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Cards of the test's own, ``tiny`` (served on this machine) and ``lost`` (not there); an empty cache."""
    for folder in ("cards", "web"):
        (tmp_path / folder).mkdir()
    (tmp_path / "web" / "rows.csv").write_text(ROWS)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path / "web"))
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    for name, path in (("tiny", "rows.csv"), ("lost", "gone.csv")):
        card = load_card("esol").model_dump(mode="json")
        file = {"name": path, "url": f"http://127.0.0.1:{server.server_port}/{path}", "size": len(ROWS)}
        file["sha256"] = hashlib.sha256(ROWS.encode()).hexdigest()
        columns = ["compound", "smiles", "logS", "fold"]
        file["tables"] = [{"format": "csv", "columns": dict(zip(columns, columns, strict=True))}]
        card |= {"name": name, "source": {"kind": "remote", "files": [file]}, "rows": 20, "columns": columns}
        card |= {"id": None, "targets": [{"column": "logS", "kind": "regression", "meaning": "Solubility."}]}
        (tmp_path / "cards" / f"{name}.yaml").write_text(yaml.safe_dump(card))
    shipped = catalog.folder
    monkeypatch.setattr(
        catalog, "folder", lambda kind: tmp_path / "cards" if kind == "datasets" else shipped(kind)
    )
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("GIA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GIA_DATA_MIRROR", raising=False)
    yield tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


def where(gia) -> dict[str, str]:
    return {line.split()[0]: line.split()[3] for line in gia("datasets", "list").out.splitlines()[1:]}


def test_a_list_says_where_each_dataset_is(gia, served, monkeypatch):
    assert where(gia) == {"lost": "download", "tiny": "download"}
    gia("datasets", "fetch", "tiny")
    assert where(gia) == {"lost": "download", "tiny": "cached"}
    monkeypatch.setenv("GIA_DATA_MIRROR", str(served))
    assert where(gia) == {"lost": "download", "tiny": "mirror"}


def test_shipped_datasets_are_listed_with_their_licence(gia):
    lines = {line.split()[0]: line for line in gia("datasets", "list").out.splitlines()}
    assert "bundled" in lines["amp"]
    assert "AFL-3.0" in lines["gb1"]


def test_fetch_downloads_once_and_says_where_to(gia, served):
    done = gia("datasets", "fetch", "tiny")
    path = next((served / "cache").iterdir())
    assert (done.code, done.out) == (0, f"tiny: {path}\n")
    assert done.err.startswith(f"tiny: downloading rows.csv ({len(ROWS):,} bytes) from http://127.0.0.1")
    again = gia("datasets", "fetch", "tiny")
    assert (again.out, again.err) == (done.out, "")


def test_a_bundled_dataset_is_there_already(gia):
    assert gia("datasets", "fetch", "amp", "nav17").out.splitlines() == [
        "amp: comes with the package",
        "nav17: comes with the package",
    ]


def test_what_cannot_be_fetched_is_one_line_and_does_not_stop_the_others(gia, served):
    assert "the server does not give the file: got 404" in gia("datasets", "fetch", "lost").error
    done = gia("datasets", "fetch", "--all")
    assert done.code == 1
    assert done.out.startswith("tiny: ")
    assert done.told[-1] == "1 of 2 datasets not fetched"
    assert sum("lost: not fetched: http://127.0.0.1" in line for line in done.told) == 1
    assert [path.name.split("-")[1] for path in (served / "cache").iterdir()] == ["rows.csv"]


def test_training_downloads_the_dataset_and_says_so(gia, served, tiny):
    (served / "task.yaml").write_text(
        "data: {dataset: tiny, input: smiles, domain: smiles}\ntarget: {names: [logS]}\n"
        "split: {method: folds, column: fold, fold: 2}\n"
    )
    done = gia("train", "--set", "data.dataset=tiny", "-t", "logS", "-o", "first", "--no-baseline", *tiny)
    assert done.code == 0, done.err
    assert any(line.startswith("tiny: downloading rows.csv") for line in done.told)
    done = gia("train", "--task", "task.yaml", "--fold", "1", "-o", "second", "--no-baseline", *tiny)
    assert done.code == 0, done.err
    assert not any("downloading" in line for line in done.told)
    assert any("fold 1 of 5 of the split column" in line for line in done.told)
    kept = Recipe.load(served / "second" / "recipe.yaml")
    assert (kept.data.dataset, kept.split.column, kept.split.fold) == ("tiny", "fold", 1)


def test_training_without_its_data_is_one_line(gia, served):
    done = gia("train", "--set", "data.dataset=lost", "-t", "logS", "-o", "new")
    assert "gone.csv: the server does not give the file: got 404" in done.error
    assert not (served / "new").exists()


@pytest.mark.parametrize("name", catalog.names("datasets"))
def test_a_dataset_is_shown_with_all_there_is_to_know(gia, name):
    card = load_card(name)
    done = gia("datasets", "show", name)
    shown = " ".join(done.out.split())
    words = (
        card.title,
        card.origin,
        card.licence,
        card.citation,
        card.evaluation.split,
        *card.known_problems,
    )
    assert all(" ".join(text.split()) in shown for text in words)
    assert all(f"{target.column}: {target.kind}" in shown for target in card.targets)
    assert "sha256" in shown
    assert max(map(len, done.out.splitlines())) <= 160

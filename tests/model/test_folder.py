"""A saved model comes back to the last bit; anything that is not as it was saved is one clear error."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given
from hypothesis import strategies as st

from gia_science.data.batching import collate
from gia_science.errors import ModelFolderError
from gia_science.model import store as module
from gia_science.model.folder import (
    ATTACHMENTS,
    CHECKED,
    FILES,
    SavedModel,
    check_free,
    load_model,
    save_model,
)

SEQUENCES = ("MKTAYIAK", "GLW")
LAYERS = 2


@pytest.fixture(scope="module")
def saved(make_saved) -> SavedModel:
    return make_saved("protein", kind="multiclass", labels=("a", "b", "c"), columns=("T",), layers=LAYERS)


@pytest.fixture(scope="module")
def original(saved: SavedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(saved, tmp_path_factory.mktemp("models") / "model")


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(original, tmp_path / "model"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def outputs(model: SavedModel) -> np.ndarray:
    featurizer = model.featurizer
    rows = [featurizer.example(featurizer.read(text), numbers=[3.0]) for text in SEQUENCES]
    with torch.inference_mode():
        return model.network(collate(rows)).numpy()


def test_a_model_comes_back_as_it_was(saved: SavedModel, original: Path) -> None:
    loaded = load_model(original)
    np.testing.assert_array_equal(outputs(loaded), outputs(saved))
    assert not loaded.network.training
    assert loaded.network.config == saved.network.config
    for name in ("targets", "data", "recipe", "split", "metrics", "card", "attachments"):
        assert getattr(loaded, name) == getattr(saved, name), name
    assert loaded.featurizer.to_json() == saved.featurizer.to_json()
    assert all(weight.requires_grad for weight in loaded.network.parameters())


def test_a_model_comes_back_in_another_process(saved: SavedModel, original: Path) -> None:
    code = f"""
import hashlib, torch
torch.set_num_threads(1)
from gia_science.data.batching import collate
from gia_science.model.folder import load_model
model = load_model({str(original)!r})
read = model.featurizer.read
rows = [model.featurizer.example(read(text), numbers=[3.0]) for text in {SEQUENCES!r}]
with torch.inference_mode():
    print(hashlib.sha256(model.network(collate(rows)).numpy().tobytes()).hexdigest())
"""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    expected = hashlib.sha256(outputs(saved).tobytes()).hexdigest()
    torch.set_num_threads(threads)
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == [expected]


def test_saving_what_was_loaded_gives_the_same_files(original: Path, tmp_path: Path) -> None:
    again = save_model(load_model(original), tmp_path / "again")
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in original.iterdir()
    }


def test_a_folder_holds_these_files_and_none_that_needs_unpickling(original: Path) -> None:
    assert names(original) == sorted(FILES)
    assert len(FILES) == 8
    for path in original.iterdir():
        assert path.suffix in {".json", ".yaml", ".md", ".safetensors"}
        assert path.read_bytes()[:1] not in {b"\x80", b"P"}, "no pickle, no zip archive as torch.save writes"


def test_attachments_are_kept(make_saved, tmp_path: Path) -> None:
    saved = make_saved("protein", providers=(), layers=1)
    saved = SavedModel(**{**saved.__dict__, "attachments": dict.fromkeys(ATTACHMENTS, b"x")})
    path = save_model(saved, tmp_path / "a")
    assert names(path) == sorted([*FILES, *ATTACHMENTS])
    assert load_model(path).attachments == dict.fromkeys(ATTACHMENTS, b"x")


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_all_files_have_the_rights_that_the_user_wants(saved: SavedModel, tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        path = save_model(saved, tmp_path / "a")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(item.stat().st_mode) for item in path.iterdir()} == {0o666 & ~mask}
    assert stat.S_IMODE(path.stat().st_mode) == 0o777 & ~mask


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "a folder", "empty", "half", "bytes"])
def test_a_damaged_file_is_one_clear_error(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "a folder":
        path.mkdir()
    elif damage != "missing":
        half = content[: len(content) // 2]
        path.write_bytes({"empty": b"", "half": half, "bytes": b"\xff\xfe" + content}[damage])
    if name == "README.md" and damage in {"empty", "half"}:
        load_model(folder)  # the card is for readers: they may edit it
        return
    with pytest.raises(ModelFolderError) as caught:
        load_model(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def worn(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(original, tmp_path_factory.mktemp("worn") / "model"))


@given(name=st.sampled_from(FILES), place=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_one_byte_that_changed_is_found(worn: Path, name: str, place: float, flip: int) -> None:
    """In the settings, which have no checksum, and in the card it may be a change of the user's; it never crashes."""
    path = worn / name
    content = path.read_bytes()
    changed = bytearray(content)
    changed[int(place * len(content))] ^= flip
    path.write_bytes(changed)
    try:
        load_model(worn)
    except ModelFolderError:
        pass
    else:
        assert name not in CHECKED
    finally:
        path.write_bytes(content)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".json")])
@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"a": NaN}', "[" * 100_000, "9" * 10_000, '{"a": ' * 5000]
)
def test_what_is_no_json_object_is_refused(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(ModelFolderError, match=name):
        load_model(folder)


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def config_error(folder: Path, change: Callable[[dict[str, Any]], object]) -> str:
    edit(folder / "config.json", change)
    with pytest.raises(ModelFolderError) as caught:
        load_model(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c.update(format_version=99),
            "newer than this release: got 99, expected at most 1 (update",
        ),
        (lambda c: c.update(format_version=0), "format_version of config.json is not valid: got 0"),
        (lambda c: c.update(format_version="new"), "format_version of config.json is not valid"),
        (lambda c: c.pop("format_version"), "config.json lacks a key: expected 'format_version'"),
        (lambda c: c.update(model_type="bert"), "not a model folder of gia-science: got 'bert'"),
        (lambda c: c.pop("model_type"), "not a model folder of gia-science: got None"),
        (lambda c: c.pop("targets"), "lacks a key: expected 'targets'"),
        (lambda c: c.update(auto_map={}), "unknown key in config.json: got 'auto_map'"),
        (lambda c: c["network"].update(heads=2), "unknown key in config.json: got 'network.heads'"),
        (lambda c: c["network"].update(width="wide"), "network.width of config.json is not valid"),
        (lambda c: c["network"].update(pooling="max"), "network.pooling of config.json is not valid"),
        (lambda c: c["network"].update(attention=3), "network.attention of config.json is not valid"),
        (lambda c: c["network"]["attention"].update(heads=3), "heads do not divide the width"),
        (lambda c: c["network"].update(outputs=4), "network.outputs of config.json does not fit"),
        (lambda c: c["network"].update(kind="regression"), "network.kind of config.json does not fit"),
        (lambda c: c["network"].update(vocabulary=9), "network.vocabulary of config.json does not fit"),
        (lambda c: c["network"].update(features=9), "network.features of config.json does not fit"),
        (lambda c: c["network"].update(context_buckets=[9]), "network.context_buckets of config.json does"),
        (lambda c: c["network"]["context_buckets"].reverse(), "network.context_buckets of config.json does"),
        (
            lambda c: c["network"].update(context_buckets=[0, 0, 0]),
            "network.context_buckets of config.json is",
        ),
        (lambda c: c["network"]["blocks"][1].update(size=2, tokens=2), "network.blocks of config.json does"),
        (lambda c: c["network"]["blocks"].reverse(), "network.blocks of config.json does not fit"),
        (lambda c: c["network"].update(layers=LAYERS + 1), "is missing"),
        (lambda c: c["network"].update(layers=LAYERS - 1), "is not known"),
        (lambda c: c["network"].update(width=24), "is float32"),
        (lambda c: c["network"].update(pooling="attention"), "pool.score.weight is missing"),
        (lambda c: c["targets"].update(labels=["a", "b"]), "network.outputs of config.json does not fit"),
        (lambda c: c["targets"].update(labels=["a", "b", "b"]), "a label stands twice"),
        (lambda c: c["targets"].update(names=[]), "targets.names of config.json is not valid"),
        (lambda c: c["data"].update(file=3), "data.file of config.json is not valid"),
    ],
)
def test_settings_that_do_not_fit_are_refused(folder: Path, change, message: str) -> None:
    assert message in config_error(folder, change)


@pytest.mark.parametrize(
    ("key", "size"),
    [
        ("width", 10**9),
        ("width", 2 * 10**18),
        ("width", 10**30),
        ("layers", 10**9),
        ("expansion", 1e12),
        ("expansion", 1e300),
        ("attention", {"heads": 2, "gamma": 1e300}),
        ("attention", {"heads": 10**9}),
    ],
)
def test_absurd_sizes_are_refused_before_memory_is_taken(folder: Path, key: str, size: Any) -> None:
    peak = _peak_memory()
    assert config_error(folder, lambda c: c["network"].update({key: size}))
    assert _peak_memory() - peak < 200, "megabytes"


def _peak_memory() -> float:
    resource = pytest.importorskip("resource")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["blocks"][0].update(name="rdkit3d"), "unknown descriptors: got 'rdkit3d'"),
        (lambda d: d["blocks"][0].update(name="rdkit2d"), "are of another domain"),
        (lambda d: d["blocks"][0]["scaling"].update(mean="x"), "mean is not a list of numbers"),
        (lambda d: d["blocks"][0].update(scaling=[]), "blocks.scaling of the featurizer is not valid"),
        (lambda d: d.update(blocks={}), "blocks of the featurizer is not valid"),
        (lambda d: d.update(domain="smiles", options={}), "of another domain"),
        (lambda d: d.update(domain=3), "domain of the featurizer is not valid"),
        (lambda d: d.update(options=[1]), "options of the featurizer is not valid"),
        (lambda d: d.update(columns=[]), "descriptor blocks do not fit"),
        (lambda d: d.pop("max_length"), "lacks a key: expected 'max_length'"),
    ],
)
def test_descriptors_that_do_not_fit_are_refused(folder: Path, change, message: str) -> None:
    edit(folder / "featurizer.json", change)
    with pytest.raises(ModelFolderError, match=r"featurizer\.json") as caught:
        load_model(folder)
    assert message in str(caught.value)


def test_the_tokenizer_of_another_domain_is_refused(folder: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "tokenizers" / "smiles.json", folder / "tokenizer.json")
    with pytest.raises(ModelFolderError, match=r"network\.vocabulary"):
        load_model(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.update(extra=torch.zeros(1)), "extra is not known"),
        (lambda w: w.pop("members.0.head.out.bias"), "head.out.bias is missing"),
        (lambda w: w.clear(), "the weights do not fit"),
        (
            lambda w: w.update({"members.0.head.out.bias": torch.zeros(4)}),
            r"float32 \(4,\), not float32 \(3,\)",
        ),
        (
            lambda w: w.update({"members.0.head.out.bias": torch.zeros(3).half()}),
            r"float16 \(3,\), not float32 \(3,\)",
        ),
        (lambda w: w.update({"a": torch.zeros(1), "b": torch.zeros(1)}), "is not known and 1 more"),
        (
            lambda w: w["members.0.head.out.bias"].add_(1),
            "files changed since the model was saved: got model.safet",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(folder: Path, change, message: str) -> None:
    path = folder / "model.safetensors"
    weights = safetensors.torch.load_file(path)
    change(weights)
    path.write_bytes(safetensors.torch.save(weights))
    with pytest.raises(ModelFolderError, match=message):
        load_model(folder)


def test_a_pickle_under_the_name_of_the_weights_is_not_opened(folder: Path) -> None:
    torch.save({"a": torch.zeros(1)}, folder / "model.safetensors")
    with pytest.raises(ModelFolderError, match="damaged weights"):
        load_model(folder)


def test_what_a_changed_file_says_is_found_by_its_checksum(folder: Path) -> None:
    edit(folder / "metrics.json", lambda metrics: metrics.update(parameters=2))
    with pytest.raises(ModelFolderError, match=r"changed since the model was saved: got metrics.json"):
        load_model(folder)


def test_checksums_cannot_point_outside_the_folder(folder: Path) -> None:
    edit(folder / "config.json", lambda c: c.update(checksums={"../../etc/passwd": "0"}))
    assert load_model(folder).card


@pytest.mark.parametrize("place", ["nowhere", "file"])
def test_a_place_that_is_no_folder_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFolderError, match=r"no such model folder: got .*" + place):
        load_model(tmp_path / place)


def test_a_model_folder_is_replaced_only_when_asked_for(saved: SavedModel, make_saved, folder: Path) -> None:
    before = outputs(load_model(folder))
    with pytest.raises(ModelFolderError, match=r"the model folder exists.*--overwrite"):
        save_model(saved, folder)
    other = make_saved("protein", kind="multiclass", labels=("a", "b", "c"), columns=("T",), seed=5)
    assert save_model(other, folder, overwrite=True) == folder
    assert not np.array_equal(outputs(load_model(folder)), before)
    assert names(folder.parent) == ["model"]


@pytest.mark.parametrize(
    "content",
    [
        {"notes.txt": "x"},
        {"config.json": "{}"},
        {"config.json": '{"model_type": "bert"}'},
        {"config.json": "no"},
    ],
)
def test_what_is_no_model_folder_is_never_replaced(
    saved: SavedModel, tmp_path: Path, content: dict[str, str]
) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ModelFolderError, match="exists and is not a model folder"):
        save_model(saved, tmp_path, overwrite=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == content


def test_a_file_is_never_replaced_by_a_folder(saved: SavedModel, tmp_path: Path) -> None:
    (tmp_path / "model").write_text("mine")
    with pytest.raises(ModelFolderError, match="exists and is not a model folder"):
        save_model(saved, tmp_path / "model", overwrite=True)
    assert (tmp_path / "model").read_text() == "mine"


def test_other_files_in_a_model_folder_are_not_lost(saved: SavedModel, folder: Path) -> None:
    (folder / "out.csv").write_text("mine")
    with pytest.raises(ModelFolderError, match=r"holds other files, which would be lost: got out.csv"):
        save_model(saved, folder, overwrite=True)
    assert (folder / "out.csv").read_text() == "mine"


def test_an_empty_folder_and_missing_parents_are_fine(saved: SavedModel, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place in ("empty", "a/b/model"):
        check_free(tmp_path / place, overwrite=False)
        assert load_model(save_model(saved, tmp_path / place)).card == saved.card


def test_a_link_stays_a_link(saved: SavedModel, folder: Path) -> None:
    link = folder.with_name("latest")
    link.symlink_to(folder)
    save_model(saved, link, overwrite=True)
    assert link.is_symlink()
    assert names(folder.parent) == ["latest", "model"]
    assert load_model(folder).card == load_model(link).card


def test_a_failure_while_writing_leaves_no_folder(
    saved: SavedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_json", full)
    with pytest.raises(
        ModelFolderError, match=r"model: the model folder cannot be written: got No space left"
    ):
        save_model(saved, tmp_path / "model")
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_step_leaves_the_old_model(
    saved: SavedModel, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    replace, calls = Path.replace, []

    def fail_once(self: Path, target: Path) -> Path:
        calls.append(target)
        if target == folder and calls.count(folder) == 1:
            raise error
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail_once)
    with pytest.raises((ModelFolderError, KeyboardInterrupt)):
        save_model(saved, folder, overwrite=True)
    monkeypatch.undo()
    assert load_model(folder).card == saved.card
    assert names(folder.parent) == ["model"]


def test_a_place_that_cannot_be_written_is_an_error_of_ours(saved: SavedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelFolderError, match="cannot be written"):
        save_model(saved, tmp_path / "file" / "model")


def test_every_file_but_the_card_and_the_settings_is_checked() -> None:
    assert set(FILES) - set(CHECKED) == {"config.json", "README.md"}

"""The documentation keeps up with the code: names, parameters, commands, examples."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

import pytest
from pydantic import BaseModel

import gia_science
from gia_science.evaluation.baselines import NAMES as BASELINES
from gia_science.prediction.model import Model

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    if not {"generated", "_build"} & set(path.relative_to(ROOT).parts)
)
COMMAND = re.compile(r"^(?:    |\$ )(?:[A-Z_]+=\S+ )*(gia [^#\n]+)")


@pytest.fixture(scope="module")
def extensions(request: pytest.FixtureRequest) -> Iterator[None]:
    """The modules that make the reference pages, importable."""
    sys.path.insert(0, str(DOCS / "_extensions"))
    yield
    sys.path.remove(str(DOCS / "_extensions"))


def public_names() -> list[str]:
    """Full names of ``__all__`` of the package, of its subpackages and of its modules of the first level."""
    modules = [
        "gia_science",
        *(info.name for info in pkgutil.iter_modules(gia_science.__path__, "gia_science.")),
    ]
    return [
        f"{module}.{name}"
        for module in modules
        if not module.rpartition(".")[2].startswith("__")
        for name in getattr(importlib.import_module(module), "__all__", ())
    ]


def resolve(full: str) -> Any:
    module, _, name = full.rpartition(".")
    return getattr(importlib.import_module(module), name)


def undocumented(item: Any, name: str) -> list[str]:
    """Parameters of a function, or of what makes an object of a class, that its docstring does not name."""
    if get_origin(item) is not None:
        return []  # a union of settings: each of them has its own entry
    documented = inspect.getdoc(item) or ""
    if inspect.isclass(item) and (
        issubclass(item, BaseModel | BaseException) or item.__init__ is object.__init__
    ):
        return [] if documented else [name]
    try:
        parameters = inspect.signature(item).parameters
    except (TypeError, ValueError):
        return []
    wanted = [one for one in parameters if one not in ("self", "cls")]
    _, _, section = documented.partition("Parameters\n----------\n")
    section = re.split(r"\n\n[A-Z][A-Za-z ]+\n-{3,}\n", section)[0]
    heads = re.findall(r"^(\S[^:\n]*?)(?: : .*)?$", section, flags=re.MULTILINE)
    named = {part.strip().lstrip("*") for head in heads for part in head.split(",")}
    return [f"{name}: {one}" for one in wanted if one not in named]


@pytest.mark.parametrize("full", public_names())
def test_every_public_name_is_in_the_reference(full: str, extensions: None) -> None:
    from api_reference import api_pages

    module, _, _ = full.rpartition(".")
    text = api_pages()[f"api-{module}.rst"]
    assert re.search(rf"^\.\. auto(class|function|data):: {re.escape(full)}$", text, flags=re.MULTILINE)


@pytest.mark.parametrize("full", public_names())
def test_every_public_name_says_what_it_does_and_what_it_takes(full: str) -> None:
    item = resolve(full)
    assert inspect.getdoc(item)
    assert not undocumented(item, full)


def test_settings_that_are_fields_have_a_description_each() -> None:
    models = [resolve(full) for full in public_names()]
    settings = [one for one in models if inspect.isclass(one) and issubclass(one, BaseModel)]
    assert settings
    for model in settings:
        assert all(field.description for field in model.model_fields.values()), model


def documented_commands() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = COMMAND.match(line)
            if match:
                found.append((str(page.relative_to(ROOT)), match[1].strip().rstrip("\\")))
    return found


@pytest.mark.parametrize(("page", "line"), documented_commands())
def test_every_command_on_a_page_has_the_options_it_is_given(page: str, line: str, extensions: None) -> None:
    from command_reference import commands, option_names

    known = dict(commands())
    words = shlex.split(line)
    names = [name for name in known if name.split() == words[: len(name.split())]]
    assert names, f"{page}: no such command: {line}"
    options = {word.split("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
    assert options <= option_names(known[max(names, key=len)]), f"{page}: {line}"


def test_the_reference_has_every_command(extensions: None) -> None:
    from command_reference import command_page, commands

    page = command_page()
    assert all(f"## {name}\n" in page for name, _ in commands())
    assert "gia train" in dict(commands())


def test_the_reference_has_every_setting_of_a_recipe(extensions: None) -> None:
    from settings_reference import settings_page

    page = settings_page()
    for name in ("network.attention.kind", "training.epochs", "split.method", "data.duplicates", "seed"):
        assert f"| `{name}` |" in page


def examples() -> list[Path]:
    return [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", examples(), ids=lambda page: page.stem)
def test_examples_on_pages_give_what_they_say(page: Path) -> None:
    tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried.attempted
    assert not tried.failed


def modules_with_examples() -> list[str]:
    files = (ROOT / "gia_science").rglob("*.py")
    with_examples = [path for path in files if ">>> " in path.read_text(encoding="utf-8")]
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in with_examples]
    return [".".join(part[:-1] if part[-1] == "__init__" else part) for part in parts]


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings_give_what_they_say(name: str) -> None:
    assert not doctest.testmod(importlib.import_module(name)).failed


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_named_where_users_choose_one(name: str) -> None:
    page = (DOCS / "howto" / "report.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| [^|]*`{name}`", page, flags=re.MULTILINE)
    assert f"`{name}`" in inspect.getdoc(Model.evaluate)


LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target

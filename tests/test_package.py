"""The package is light to import and complete when installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import gia_science

ROOT = Path(__file__).parent.parent
HEAVY = {
    "torch",
    "pytorch_lightning",
    "rdkit",
    "pymatgen",
    "pandas",
    "sklearn",
    "matplotlib",
    "Bio",
    "pyarrow",
    "scipy",
    "ray",
    "transformers",
    "peft",
    "tokenizers",
}


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after some code."""
    code += "\nimport sys, json; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not modules_after("import gia_science") & HEAVY


def test_the_help_of_the_command_loads_nothing_heavy() -> None:
    code = "from gia_science.cli.main import app\ntry: app(['--help'])\nexcept SystemExit: pass"
    assert not modules_after(code) & HEAVY


def test_prediction_does_not_load_lightning() -> None:
    loaded = modules_after("import gia_science.prediction.model")
    assert "torch" in loaded
    assert "pytorch_lightning" not in loaded
    assert "lightning" not in loaded
    assert not {"transformers", "peft", "tokenizers"} & loaded


def test_ray_is_loaded_only_when_it_is_asked_for() -> None:
    assert "ray" not in modules_after("import gia_science.prediction.ray_engine")


@pytest.mark.parametrize("name", gia_science.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(gia_science, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        gia_science.no_such_name  # noqa: B018 - the access is the test


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, capture_output=True, check=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_definitions_and_no_root_package_of_their_names(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for kind in ("tokenizers", "datasets", "tasks"):
        shipped = {path.name for path in (ROOT / kind).iterdir()}
        assert shipped == {
            Path(name).name for name in names if name.startswith(f"gia_science/_definitions/{kind}/")
        }
        assert not any(name.startswith(f"{kind}/") for name in names)


def test_an_installed_wheel_finds_its_definitions_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """A clean environment that has the wheel alone of this project: its dependencies come from this one."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    site = next((venv / "lib").glob("python*/site-packages"))
    others = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "others.pth").write_text(others + "\n")
    code = "import gia_science; print(gia_science.__file__)"
    found = subprocess.run(
        [str(python), "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert str(site) in found.stdout
    shown = [str(venv / "bin" / "gia"), "datasets", "show", "amp"]
    done = subprocess.run(shown, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "APD3" in done.stdout
    listed = subprocess.run(
        [str(venv / "bin" / "gia"), "tasks", "list"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "nav17" in listed.stdout


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    """`make test-lowest` installs every dependency of the core in the version that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints-lowest.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    for requirement in map(Requirement, project["dependencies"]):
        (floor,) = requirement.specifier
        assert floor.operator == ">="
        assert Version(pinned[requirement.name.lower()]) == Version(floor.version), requirement.name

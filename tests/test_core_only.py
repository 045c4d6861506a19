"""Without the extras everything imports, and what needs one says in one line how to get it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SETUP = """
import importlib, importlib.metadata as metadata, json, pkgutil, sys

EXTRAS = {"transformers", "peft", "tokenizers", "huggingface_hub", "ray", "pyarrow", "atheris"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from_name = metadata.Distribution.from_name

def of_the_core(name):
    if name.partition("[")[0].replace("-", "_") in EXTRAS:
        raise metadata.PackageNotFoundError(name)
    return from_name(name)

metadata.Distribution.from_name = of_the_core
"""
IMPORTS = """
import gia_science

modules = ["gia_science"]
for module in pkgutil.walk_packages(gia_science.__path__, "gia_science."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        modules.append(module.name)
for name in gia_science.__all__:
    getattr(gia_science, name)
loaded = sorted({name.partition(".")[0] for name in sys.modules} & EXTRAS)
"""
FEATURES = {
    "parquet": "gia_science.data.parquet.pyarrow_module('pyarrow.parquet')",
    "ray": "gia_science.prediction.ray_engine.check_ray()",
    "hf-hub": "gia_science.model.base_files.find_base('facebook/esm2_t6_8M_UR50D')",
    "hf-peft": "gia_science.adapters.extra.import_hf('peft')",
    "hf-model": "gia_science.finetune({rows!r}, target='y', base={base!r}, out={out!r})",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an interpreter that finds the packages of the core alone says of the package and its features."""
    folder = tmp_path_factory.mktemp("core")
    base = folder / "base"
    base.mkdir()
    (base / "config.json").write_text('{"model_type": "bert"}')
    (base / "model.safetensors").write_bytes(b"")
    (base / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"MKVA"]))
    rows = folder / "rows.csv"
    rows.write_text("sequence,y\n" + "".join(f"MKV{'A' * n},{n}\n" for n in range(12)))
    paths = {"rows": str(rows), "base": str(base), "out": str(folder / "model")}
    calls = {name: call.format(**paths) for name, call in FEATURES.items()}
    code = f"""{SETUP}{IMPORTS}
errors = {{}}
for name, call in {calls!r}.items():
    try:
        eval(call)
    except gia_science.errors.GiaError as error:
        errors[name] = str(error)
print(json.dumps([modules, loaded, errors]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules, loaded, errors = json.loads(done.stdout.splitlines()[-1])
    return {"modules": modules, "loaded": loaded, "errors": errors}


def test_every_module_imports_with_the_core_alone(told) -> None:
    files = [path for path in (ROOT / "gia_science").rglob("*.py") if path.name != "__main__.py"]
    assert len(told["modules"]) == len(files)
    assert told["loaded"] == []


@pytest.mark.parametrize("feature", FEATURES)
def test_what_needs_an_extra_names_it_in_one_line(told, feature: str) -> None:
    line = told["errors"][feature]
    assert "\n" not in line
    assert f"gia-science[{feature.partition('-')[0]}]" in line

"""Pages of the Python names, one for each public module: whatever its ``__all__`` names."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import gia_science

RETURNED = {
    "gia_science.data.rows": ("BadRow",),
    "gia_science.evaluation.compare": ("Comparison",),
    "gia_science.evaluation.metrics": ("Score",),
    "gia_science.training.pretrain": ("PerplexityReport",),
    "gia_science.evaluation.report": ("Evaluation", "TargetScores", "GroupScores"),
    "gia_science.evaluation.graph": ("GraphStatistics",),
    "gia_science.evaluation.leakage": ("LeakageReport",),
    "gia_science.model.folder": ("SavedModel",),
    "gia_science.model.config": ("BackboneConfig",),
    "gia_science.prediction.embedding": ("EmbeddingChoice",),
    "gia_science.prediction.graph": ("TokenGraph",),
    "gia_science.prediction.ray_engine": ("predict_dataset",),
    "gia_science.training.recipe": ("Recipe", "PretrainRecipe"),
}
"""What public functions take and return beside the names of `public_modules`."""


def public_modules() -> dict[str, tuple[str, ...]]:
    """Names of each public module: the package, its subpackages and its modules of the first level with ``__all__``."""
    found = {"gia_science": tuple(gia_science.__all__)}
    for info in pkgutil.iter_modules(gia_science.__path__, "gia_science."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        names = getattr(importlib.import_module(info.name), "__all__", ())
        if names:
            found[info.name] = tuple(names)
    found["gia_science.errors"] = tuple(_errors())
    return found


def api_pages() -> dict[str, str]:
    """The pages by file name, as reStructuredText."""
    modules = public_modules()
    listed = [*modules, "returned"]
    index = "\n".join(
        [
            *_title("Python"),
            "Made from the docstrings of the code.",
            "",
            ".. toctree::",
            "   :maxdepth: 1",
            "",
            *(f"   api-{name}" for name in listed),
            "",
        ]
    )
    seen: set[int] = set()
    pages = {f"api-{module}.rst": _page(module, names, seen) for module, names in modules.items()}
    body = [*_title("Objects that these take and return"), ""]
    for module, names in RETURNED.items():
        body += [line for name in names for line in _entry(module, name, seen)]
    return {"api.rst": index, **pages, "api-returned.rst": "\n".join(body)}


def _errors() -> list[str]:
    module = importlib.import_module("gia_science.errors")
    return [name for name, item in vars(module).items() if _is_own_error(item, module)]


def _is_own_error(item: object, module: ModuleType) -> bool:
    is_error = inspect.isclass(item) and issubclass(item, BaseException)
    return is_error and getattr(item, "__module__", "") == module.__name__


def _page(module: str, names: tuple[str, ...], seen: set[int]) -> str:
    text = (importlib.import_module(module).__doc__ or "").strip().splitlines()
    lines = [*_title(module), *text[:1], "", ".. autosummary::", ""]
    lines += [f"   {module}.{name}" for name in names]
    lines.append("")
    for name in names:
        lines += _entry(module, name, seen)
    return "\n".join(lines)


def _entry(module: str, name: str, seen: set[int]) -> list[str]:
    """Directives of one name. What two modules offer is described on both pages, and indexed once."""
    item = getattr(importlib.import_module(module), name)
    index = ["   :no-index:"] if id(item) in seen else []
    seen.add(id(item))
    if not inspect.isclass(item):
        kind = "function" if callable(item) else "data"
        return [*_title(name, "-"), f".. auto{kind}:: {module}.{name}", *index, ""]
    lines = [*_title(name, "-"), f".. autoclass:: {module}.{name}", "   :members:", *index, ""]
    return [*lines, *_fields(item)]


def _fields(item: type) -> list[str]:
    """The fields of a settings class, whose descriptions stand in the fields and not in the docstring."""
    described = {
        name: field for name, field in getattr(item, "model_fields", {}).items() if field.description
    }
    if not described:
        return []
    lines = [".. list-table:: Fields", "   :header-rows: 1", "", "   * - name", "     - what it is"]
    for name, field in described.items():
        lines += [f"   * - ``{name}``", f"     - {field.description}"]
    return [*lines, ""]


def _title(text: str, mark: str = "=") -> list[str]:
    return [text, mark * len(text), ""]

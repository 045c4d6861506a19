"""Reference pages that are made from the code: commands, settings of a recipe, and the Python names.

They are written into ``docs/generated`` whenever the documentation is built.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from api_reference import api_pages
from command_reference import command_page
from settings_reference import settings_page
from sphinx.application import Sphinx


def pages() -> dict[str, str]:
    """All generated pages by file name."""
    return {"commands.md": command_page(), "settings.md": settings_page(), **api_pages()}


def write_pages(app: Sphinx) -> None:
    """Write the pages that changed, and remove those that are no more."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    wanted = pages()
    for path in folder.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for its sources."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Settings of the documentation. Nothing here needs the network."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]

project = "gia-science"
author = "the gia-science authors"
project_copyright = author
release = version = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["version"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "mathml",
    "reference_pages",
]
exclude_patterns = ["_build", "README.md"]
default_role = "py:obj"
root_doc = "index"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
# docs/attention.md and the changelog link files of the repository, which are no pages.
suppress_warnings = ["myst.xref_missing"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = project
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def _skip_metadata_requests(
    app: Sphinx, what: str, name: str, item: object, skip: bool, options: object
) -> bool | None:
    """scikit-learn makes these methods, and their text refers to pages of its own."""
    del app, what, item, skip, options
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> None:
    """Leave out what other packages describe."""
    app.connect("autodoc-skip-member", _skip_metadata_requests)

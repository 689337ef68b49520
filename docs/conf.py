"""Settings of Sphinx; the build also writes the file of the playground."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

project = "Elephan"
author = "The Elephan authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
copybutton_prompt_text = "$ "
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100
napoleon_use_ivar = True
html_theme = "furo"
html_title = "Elephan"
html_static_path = ["_static"]
html_css_files = ["site.css"]
exclude_patterns = ["_build", "explained", "*.py"]

NOT_BUILT = "<!doctype html><title>Elephan</title><p>The playground is not in this build: {reason}.</p>\n"


def write_playground(app: Sphinx, failure: Exception | None) -> None:
    """Writes elephan.html, which the front page and the algorithms' pages show in frames, and notebooks.html."""
    from elephan import web

    if failure is not None or app.builder.format != "html":
        return
    try:
        pages = {"elephan.html": web.playground(), "notebooks.html": web.notebooks_page()}
    except web.NotBuiltError as reason:
        logging.getLogger(__name__).info("the playground is not in the pages: %s", reason)
        pages = dict.fromkeys(("elephan.html", "notebooks.html"), NOT_BUILT.format(reason=reason))
    for name, page in pages.items():
        (Path(app.outdir) / name).write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Registers the writer of the playground."""
    app.connect("build-finished", write_playground)

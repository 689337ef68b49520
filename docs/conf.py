"""Sphinx's settings."""

project = "Elephan"
author = "The Elephan authors"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Elephan"
exclude_patterns = ["_build", "generate.py"]

"""The playground: one HTML file that contains the engine, and needs no server and no network."""

from __future__ import annotations

from elephan.web.notebook import notebooks_page
from elephan.web.page import NotBuiltError, playground

__all__ = ["NotBuiltError", "notebooks_page", "playground"]

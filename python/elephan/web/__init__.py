"""The laboratory in a page: one HTML file with the engine in it, which needs no server and no network."""

from __future__ import annotations

from elephan.web.page import NotBuiltError, playground

__all__ = ["NotBuiltError", "playground"]

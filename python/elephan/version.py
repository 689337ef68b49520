"""Version of the package. This module imports nothing, so that every module may import it."""

__version__ = "0.1.0"

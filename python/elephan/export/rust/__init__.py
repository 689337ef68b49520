"""The skeleton of a crate for an algorithm of the user's own, with a twin test that a recording drives."""

from elephan.export.rust.skeleton import Crate, crate_of, write, write_recording

__all__ = ["Crate", "crate_of", "write", "write_recording"]

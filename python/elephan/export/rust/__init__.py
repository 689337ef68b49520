"""The skeleton of a crate for a user's algorithm, with a test that compares the crate with a recording."""

from elephan.export.rust.skeleton import Crate, crate_of, write, write_recording

__all__ = ["Crate", "crate_of", "write", "write_recording"]

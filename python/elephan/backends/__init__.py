"""The backends, which run a scenario. All backends return tables of the same form."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from elephan.backends.base import Backend, Cancelled, EngineDefectError, ProgramError, Progress, RawResult
from elephan.backends.memory import MemoryPool, RunMemoryError
from elephan.scenario.errors import ScenarioError, one_line
from elephan.scenario.words import hint

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "elephan.backends"
"""Group of the entry points by which installed packages offer backends."""

_BUILT_IN = {
    "sim": "elephan.backends.sim:SimBackend",
    "model": "elephan.backends.model:ModelBackend",
    "kernel": "elephan.backends.kernel.backend:KernelBackend",
    "linux": "elephan.backends.linux.backend:LinuxBackend",
    "quic": "elephan.backends.quic:QuicBackend",
}


def names() -> list[str]:
    """Names of the built-in backends, then of the backends that installed packages offer."""
    return [*_BUILT_IN, *_offered()]


def get(name: str, memory: MemoryPool | None = None) -> Backend:
    """A new object of the backend that has the given name.

    Args:
        name: one of :func:`names`.
        memory: limit on the memory of all runs of the object together; only the simulator needs much memory.

    Raises:
        ScenarioError: the same errors as :func:`kind`.
    """
    return kind(name)(memory)


def kind(name: str) -> type[Backend]:
    """The class of the backend that has the given name.

    Raises:
        ScenarioError: there is no such backend, or the package that offers it cannot be loaded.
    """
    if not isinstance(name, str):
        raise ScenarioError(f'{name!r} is not a backend; it is a name, such as "sim"')
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        built_in: type[Backend] = getattr(import_module(module), attribute)
        return built_in
    base, plus, word = name.partition("+")
    if plus and base in names():
        return kind(base).variant(word)
    point = _offered().get(name)
    if point is None:
        raise ScenarioError(f"'{name}' is not a backend; {hint(name, names())}")
    owner = f"the backend '{name}' of {point.dist.name if point.dist is not None else point.value}"
    try:
        found = point.load()
    except Exception as error:
        raise ScenarioError(f"{owner} cannot be loaded: {one_line(str(error))}") from error
    if not (isinstance(found, type) and issubclass(found, Backend)):
        raise ScenarioError(f"{owner} is not a subclass of elephan.backends.Backend")
    return found


@cache
def _offered() -> Mapping[str, EntryPoint]:
    """The backends that installed packages offer, by name, without the backends that are named like a built-in
    backend."""
    from importlib.metadata import entry_points  # slow: a tenth of the time of a command with a saved result

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in _BUILT_IN}


__all__ = [
    "Backend",
    "Cancelled",
    "EngineDefectError",
    "MemoryPool",
    "ProgramError",
    "Progress",
    "RawResult",
    "RunMemoryError",
    "get",
    "kind",
    "names",
]

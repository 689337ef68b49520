"""The kernel's congestion control modules: their names, and the mapping of Elephan's parameters to the modules'
parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from elephan.backends.kernel.bpf import PREFIX
from elephan.backends.linux import twins
from elephan.scenario import ScenarioError
from elephan.scenario.c_files import CFile
from elephan.scenario.catalog import Parameter, algorithms
from elephan.scenario.form import FlowSpec, Spec
from elephan.scenario.words import hint

MODULES = {
    "reno": "reno", "cubic": "cubic", "bic": "bic", "westwood": "westwood", "htcp": "htcp", "hstcp": "highspeed",
    "hybla": "hybla", "vegas": "vegas", "nv": "nv", "stcp": "scalable", "lp": "lp", "veno": "veno", "yeah": "yeah",
    "illinois": "illinois", "dctcp": "dctcp", "cdg": "cdg", "bbr": "bbr",
}  # fmt: skip
"""Algorithms that Linux has: our names, with the names in the kernel."""

_AS_LINUX = ("", "linux")


class _Map(NamedTuple):
    """The kernel module's parameter for one of Elephan's parameters; the module gets the integer ``there(Elephan's
    value)``."""

    name: str
    there: Callable[[float], float]


def _same(value: float) -> float:
    return value


def _in(unit: float) -> Callable[[float], float]:
    return lambda value: value * unit


_PARAMETERS: dict[str, dict[str, _Map]] = {
    "cubic": {
        "beta": _Map("beta", _in(1024)),
        "c": _Map("bic_scale", _in(1024)),
        "fast_convergence": _Map("fast_convergence", _same),
    },
    "bic": {
        "beta": _Map("beta", lambda given_up: 1024 * (1 - given_up)),
        "s_max": _Map("max_increment", _same),
        "low_window": _Map("low_window", _same),
        "fast_convergence": _Map("fast_convergence", _same),
        "smooth_part": _Map("smooth_part", _same),
    },
    "htcp": {"rtt_scaling": _Map("use_rtt_scaling", _same), "bandwidth_switch": _Map("use_bandwidth_switch", _same)},
    "hybla": {"rtt0": _Map("rtt0", _in(1000))},
    "vegas": {
        "alpha": _Map("alpha", _same), "beta": _Map("beta", _same), "gamma": _Map("gamma", _same),
    },
    "cdg": {
        "window": _Map("window", _same),
        "backoff_beta": _Map("backoff_beta", _in(1024)),
        "backoff_factor": _Map("backoff_factor", _same),
        "use_ineff": _Map("use_ineff", _same),
        "use_shadow": _Map("use_shadow", _same),
        "use_tolerance": _Map("use_tolerance", _same),
    },
    "illinois": {"window_threshold": _Map("win_thresh", _same), "theta": _Map("theta", _same)},
}  # fmt: skip
"""For each algorithm, Elephan's parameters with the corresponding parameters of the kernel's module."""

# Relative precision with which an integer of the module represents Elephan's value.
_ROUNDING = 2e-3


def is_linux_own(flow: FlowSpec) -> bool:
    """True if Linux itself has a flow's algorithm in the requested preset."""
    name, _, preset = flow.algorithm.partition(":")
    return flow.source_sha256 is None and name in MODULES and preset in _AS_LINUX


def is_settable(algorithm: str, key: str, value: Parameter) -> bool:
    """True if Linux's module of an algorithm accepts a value of one of Elephan's parameters."""
    known = _PARAMETERS.get(algorithm, {}).get(key)
    if known is None:
        return False
    try:
        _whole(known, value, key)
    except ScenarioError:
        return False
    return True


def module_of(flow: FlowSpec, file: CFile | None, where: str) -> str:
    """The kernel's name of a flow's congestion control; the algorithm is one of Linux's own or is in a C file.

    Raises:
        ScenarioError: the kernel lacks the algorithm.
    """
    if file is not None:
        if flow.source_sha256 is not None and (file.name in MODULES.values() or file.name.startswith(PREFIX)):
            raise ScenarioError(
                f"{file.label} calls itself '{file.name}', which is taken; change its .name, or write the change as a "
                "patch (--patch)",
                path=f"{where}.algorithm",
            )
        return file.name
    name, _, preset = flow.algorithm.partition(":")
    there = f"{where}.algorithm"
    if name not in MODULES:
        raise ScenarioError(f"Linux has no '{flow.algorithm}'; {hint(name, MODULES)}", path=there)
    if preset not in _AS_LINUX:
        raise ScenarioError(f"Linux has its own {name} and not '{flow.algorithm}'; write '{name}'", path=there)
    return MODULES[name]


def parameters_of(form: Spec, files: Mapping[int, CFile | None]) -> list[str]:
    """Arguments of the kernel's command line: the modules' parameters that the flows on Linux (the keys of ``files``)
    set.

    Raises:
        ScenarioError: a module has no such parameter, or two flows state different values.
    """
    stated: dict[str, dict[str, int]] = {}
    for i, file in files.items():
        flow = form.flows[i]
        name = flow.algorithm.partition(":")[0]
        where = f"flow[{i}].parameters"
        mine = _of_linux(flow, name, where) if file is None else _of_file(flow, file, where)
        if stated.setdefault(name, mine) != mine:
            raise ScenarioError(
                f"a kernel has one set of parameters of {name}, and these flows have two; 'sim' can", path=where
            )
    return [f"{key}={value}" for mine in stated.values() for key, value in sorted(mine.items())]


def _of_linux(flow: FlowSpec, name: str, where: str) -> dict[str, int]:
    mine = {}
    for key, value in sorted(_differing(flow).items()):
        known = _PARAMETERS.get(name, {})
        if key not in known:
            offered = f"has {', '.join(sorted(known))}" if known else "has none that can be set"
            raise ScenarioError(f"Linux's own {name} {offered}, and no '{key}'; 'sim' has", path=where)
        mine[f"tcp_{MODULES[name]}.{known[key].name}"] = _whole(known[key], value, f"{where}.{key}")
    return mine


def _of_file(flow: FlowSpec, file: CFile, where: str) -> dict[str, int]:
    try:
        if flow.source_sha256 is None:
            return twins.arguments_of(flow, file)
        given = sorted(flow.parameters.items())
        return {f"{file.unit}.{key}": file.check_parameter(key, value) for key, value in given}
    except ScenarioError as error:
        raise error.located(path=where) from None


def _differing(flow: FlowSpec) -> dict[str, Parameter]:
    """The parameters that a flow states and that differ from Linux's."""
    name = flow.algorithm.partition(":")[0]
    entry = algorithms()[name]
    linux = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    linux |= next((preset["overrides"] for preset in entry["presets"] if preset["name"] == "linux"), {})
    return {key: value for key, value in flow.parameters.items() if value != linux[key]}


def _whole(known: _Map, value: Parameter, where: str) -> int:
    if isinstance(value, str):
        raise ScenarioError(f"Linux has a number there, and this is '{value}'", path=where)
    exact = known.there(float(value))
    whole = round(exact)
    if not math.isclose(exact, whole, rel_tol=_ROUNDING):
        raise ScenarioError(f"Linux has whole numbers there, and {value} would be {exact:g}", path=where)
    return whole

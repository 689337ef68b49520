"""Variants of hcc2011's open values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from elephan.evaluation.criteria import Measurer
from elephan.evaluation.experiments import RunSet
from elephan.papers.claims import Claim
from elephan.papers.hcc2011.setup import (
    BUFFERS,
    FRIENDLY_BUFFERS,
    HIGH_SPEED,
    OWN_AGENTS,
    PROTOCOLS,
    RATIO_RTTS_MS,
    TABLE_BUFFERS,
    TCP_LINUX,
    Setup,
)
from elephan.papers.paper import Variant
from elephan.scenario import Scenario

Measuring = Callable[[Setup], Callable[[RunSet], Measurer[Claim]]]
PHASES = "noise"
"""Variant that is run with the paper by default: it shows which verdicts depend on the phases of packets."""
LONE_BUFFERS = (100, 200, 400, 600, 1000, 2000)


def variants(setup: Setup, measuring: Measuring) -> Iterable[Variant]:
    """Variants, each with the runs for the variant's claims; runs that the variant does not change are shared with the
    paper's own setup."""
    for name, title, other, scenarios in _rows(setup):
        yield Variant(name, title, tuple(scenarios(other)), measuring(other), by_default=name == PHASES)


VariantRow = tuple[str, str, Setup, Callable[[Setup], Iterable[Scenario]]]


def _rows(setup: Setup) -> Iterable[VariantRow]:
    code = dict(setup.code)
    linux = tuple((code | {p: f"{p}:linux-2.6" for p in TCP_LINUX}).items())
    yield (
        "tcp-linux", "HSTCP, STCP, HTCP and BIC from TCP/Linux (Linux 2.6.22)",
        replace(setup, code=linux, own_agents=("reno", "vegas", "fast", "hcc")),
        _few_shared,
    )  # fmt: skip
    corrected = tuple((code | {"illinois": "illinois:linux-2.6.23"}).items())
    yield (
        "illinois-corrected", "TCP-Illinois with its backoff corrected", replace(setup, code=corrected),
        lambda other: [*_shared(other, ("illinois",)), *_alone(other, ("illinois",)), *_reverse(other, ("illinois",))],
    )  # fmt: skip
    yield (
        "hcc-fast-linux", "HCC and FAST on TCP/Linux's recovery",
        replace(setup, own_agents=tuple(p for p in OWN_AGENTS if p not in ("fast", "hcc"))),
        lambda other: [*_few_shared(other), *_alone(other, PROTOCOLS)],
    )  # fmt: skip
    fast_access = replace(setup, access=5, access_bounded=False)
    yield "access-1g", "access links of 1 Gbit/s, without a limit of their queues", fast_access, _few_shared
    yield "noise", "each packet up to one packet time of the access link later", replace(setup, noise=1.0), _few_shared
    yield "no-jitter", "starts and departures exactly in time", replace(setup, jitter=False, noise=0.0), _tables
    newer = tuple((code | {"fast": "fast:ns2"}).items())
    yield "fast-1.1.3", "FAST updating every other round trip", replace(setup, code=newer), _delayed
    yield "fast-alpha-200", "FAST with half of its alpha", replace(setup, fast_alpha=200), _delayed
    for name, title, change in (
        ("hcc-average", "HCC with FAST's moving average", {"filter": "fast"}),
        ("hcc-imin", "HCC with BIC's smallest step, 0.01", {"i_min": 0.01}),
        ("hcc-prose", "HCC's search as in section 3.3", {"search_from": "on_target"}),
        ("hcc-bursts", "HCC making increases at once", {"spread_increase": False}),
    ):
        yield name, title, replace(setup, hcc=_changed(setup, change)), _of_hcc
    yield "wire-1000", "1000 bytes a packet, headers included", replace(setup, header_bytes=0), _tables
    for rtt_ms in (40, 60):
        yield f"rtt-{rtt_ms}", f"an RTT of {rtt_ms} ms for one flow", replace(setup, rtt_ms=rtt_ms), _lone
    yield "fig11-together", "both flows of Fig 11 from 0 s", replace(setup, late_s=0), _pairs
    wide = replace(setup, three_rtts_ms=(60, 120, 360))
    yield "three-rtts", "60, 120 and 360 ms in Figs 12 and 13", wide, _threes
    deep = replace(setup, gigabit_buffer=20_000)
    yield "gigabit-buffer", "20 000 packets at 1 Gbit/s", deep, lambda other: [other.three(gigabit=True)]
    short = replace(setup, cycle_s=0.1)
    yield "short-cycles", "a reverse source with cycles of 0.1 s", short, _reverse


def _changed(setup: Setup, change: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((dict(setup.hcc) | change).items())


def _tables(setup: Setup) -> Iterable[Scenario]:
    for protocol in HIGH_SPEED:
        for buffer in TABLE_BUFFERS:
            yield from (setup.ratio(protocol, ratio, buffer) for ratio in RATIO_RTTS_MS)


def _shared(setup: Setup, protocols: Iterable[str]) -> Iterable[Scenario]:
    """The experiments in which several flows share the bottleneck (Table 2, and Figs 10 and 14)."""
    yield from _tables(setup)
    for protocol in protocols:
        yield from (setup.equal(protocol, buffer) for buffer in TABLE_BUFFERS)
        yield from (setup.friendly(protocol, buffer) for buffer in FRIENDLY_BUFFERS.values())


def _few_shared(setup: Setup) -> Iterable[Scenario]:
    """Table 2 and Fig 10."""
    yield from _tables(setup)
    for protocol in HIGH_SPEED:
        yield from (setup.equal(protocol, buffer) for buffer in TABLE_BUFFERS)


def _alone(setup: Setup, protocols: Iterable[str]) -> Iterable[Scenario]:
    for protocol in protocols:
        yield from (setup.lone(protocol, buffer) for buffer in BUFFERS)


def _lone(setup: Setup) -> Iterable[Scenario]:
    for protocol in PROTOCOLS:
        yield from (setup.lone(protocol, buffer) for buffer in LONE_BUFFERS)


def _delayed(setup: Setup) -> Iterable[Scenario]:
    """Experiments with FAST, and with the algorithms that FAST is compared with."""
    yield from _few_shared(setup)
    yield from _alone(setup, PROTOCOLS)


def _of_hcc(setup: Setup) -> Iterable[Scenario]:
    yield from _delayed(setup)
    yield from _pairs(setup)
    yield setup.three()


def _pairs(setup: Setup) -> Iterable[Scenario]:
    yield setup.pair((120, 120))
    yield setup.pair((60, 120))


def _threes(setup: Setup) -> Iterable[Scenario]:
    yield setup.three()
    yield setup.three(gigabit=True)


def _reverse(setup: Setup, protocols: Iterable[str] = ("illinois", "fast", "hcc")) -> Iterable[Scenario]:
    """Fig 18, and the flows without reverse traffic that Fig 18 is compared with."""
    for protocol in protocols:
        yield setup.lone(protocol, 2000)
        yield from (setup.reverse(protocol, setting=setting) for setting in (0.4, 0.8, 0.9, 1.0))

"""Templates of the canonical form of a dumbbell, into which the page inserts numbers.

The layout of a dumbbell is defined once, in :mod:`elephan.scenario`. The templates are extracted from the canonical
form of a dumbbell scenario. Tests compare the page's form for random settings with the form of the corresponding
scenario.
"""

from __future__ import annotations

from typing import Any

from elephan.scenario import Scenario, catalog

Form = dict[str, Any]

FILLED_LINK = ("name", "rate_bps", "delay_ps", "queue", "loss", "record")
"""Fields of the bottleneck that the page fills in."""
FILLED_ACCESS = ("name", "rate_bps", "delay_ps", "queue")
FILLED_FLOW = ("name", "algorithm", "parameters", "start_ps", "path", "reverse_path", "stack")
FILLED_SCENARIO = ("duration_ps", "sample_period_ps", "measure", "links", "flows")


def template() -> Form:
    """The fields of the canonical form that no control of the page changes, and the numbers that determine the other
    fields."""
    plain, ecn = _form(), _form(ecn=True)
    bottleneck, access, flow = plain["links"][0], plain["links"][2], plain["flows"][0]
    return {
        "scenario": _without(plain, FILLED_SCENARIO),
        "bottleneck": _without(bottleneck, FILLED_LINK),
        "access": _without(access, FILLED_ACCESS),
        "access_rates": access["rate_bps"] // bottleneck["rate_bps"],
        "flow": _without(flow, FILLED_FLOW),
        "stacks": {"plain": flow["stack"], "ecn": ecn["flows"][0]["stack"]},
        "hz": flow["stack"]["hz"],
        "counts_hz": [name for name in catalog.spellings(catalog.algorithms()) if catalog.counts_jiffies(name, {})],
        "packet_bytes": flow["stack"]["payload_bytes"] + flow["stack"]["header_bytes"],
    }


def _form(algorithm: str = "reno", ecn: bool = False) -> Form:
    scenario = Scenario.dumbbell(
        [algorithm], rate="10 Mbit/s", rtt="40 ms", buffer="50 packets", duration="10 s", stack={"ecn": ecn}
    )
    return dict(scenario.canonical(), title="from the playground")


def is_plain(algorithm: str) -> bool:
    """True if flows with an algorithm use the ordinary TCP endpoints; UDT has endpoints and packets of its own."""
    return bool(_form(algorithm)["flows"][0]["stack"] == _form()["flows"][0]["stack"])


def _without(form: Form, filled: tuple[str, ...]) -> Form:
    return {key: value for key, value in form.items() if key not in filled}

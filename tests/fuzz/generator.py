"""Random scenarios: what a seed gives is the tables of a scenario file, as ``Scenario.from_dict`` reads them.

Algorithms, queue disciplines and their parameters are those that the engine declares, so that a new one is reached
without a change here. The fields are those of the schema; ``test_fuzz.py`` fails where one is never written.
"""

from __future__ import annotations

from typing import Any

from tests.fuzz.draws import GARBAGE, MS, US, Draws, S
from tests.fuzz.scale import CONTRADICTS, WIRE_BITS, Scale, Tables
from tests.fuzz.senders import Senders
from tests.fuzz.stacks import stack_of

from elephan.scenario import named, units
from elephan.scenario.schema import PERTURBATIONS, RESOLUTIONS
from elephan.scenario.stacks import STACKS

_NAMED_FROM = 10**12
"""Distance of the seeds of named paths from those of all else."""


def tables(seed: int) -> Tables:
    """The tables of the scenario of a seed."""
    draw = Draws(seed)
    draw.wildness = draw.choice((0.0, 0.0, 0.0, 0.005, 0.02, 0.1))
    scale = _scale(draw)
    topology = draw.choices(("dumbbell", "parking_lot", "link"), (5, 2, 4))[0]
    senders = Senders(draw, scale, topology)
    path = {"dumbbell": senders.dumbbell, "parking_lot": senders.parking_lot, "link": senders.links}[topology]()
    form: Tables = {"duration": units.format_time(scale.duration_ps), topology: path}
    flows, sources = senders.counts()
    if flows:
        form["flow"] = [senders.flow(i) for i in range(flows)]
    if sources:
        form["traffic"] = [senders.source(i) for i in range(sources)]
    form |= _run_fields(draw, scale)
    if not flows and not draw.chance(CONTRADICTS):
        # Transfers show neither their packets nor their algorithms.
        form.pop("events", None)
        form.pop("internals", None)
    if flows and draw.chance(0.15):
        # With "quantiles" no flow is recorded whose internals could be shown.
        words = ("all",) if form.get("internals") else ("all", "quantiles", "quantiles")
        form["record"] = draw.choice((*words, 1, 2, 3, 100))
    form = _spoiled(draw, form) if draw.chance(0.02) else form
    return _on_named_path(seed, form) if topology == "dumbbell" else form


def _on_named_path(seed: int, form: Tables) -> Tables:
    """Some scenarios on a shipped path. They have draws of their own, so that other seeds mean what they meant."""
    draw = Draws(seed + _NAMED_FROM)
    if not draw.chance(0.05):
        return form
    name = draw.choice(sorted(named.shipped()))
    rate_bps, rtt_ps = round(1e7), 60 * MS
    senders = Senders(draw, Scale(rate_bps, rtt_ps, S, 1000), "dumbbell")
    path: Tables = {"name": name}
    if draw.chance(0.5):
        path["direction"] = draw.choice(("down", "up"))
    if draw.chance(0.4):
        path["seed"] = draw.randint(0, 9)
    if draw.chance(0.4):
        path |= senders.bottleneck_queue()
    if draw.chance(0.3):
        path["buffer"] = draw.buffer(0.1, shares=True)
    if draw.chance(0.3):
        path["loss"] = draw.spread(1e-4, 0.2)
    others = {key: value for key, value in form.items() if key != "dumbbell"}
    return others | {"path": name if len(path) == 1 else path, "duration": f"{draw.randint(1, 3)} s"}


def _scale(draw: Draws) -> Scale:
    """A run of some thousand packets; a few are far larger than anybody would wait for."""
    packets = draw.count(20, 30_000)
    rate_bps = draw.rate_bps(1e5, 2e10)
    rtt_ps = max(2, draw.time_ps(50 * US, 800 * MS))
    transmission_ps = packets * WIRE_BITS * S / rate_bps
    duration_ps = round(max(transmission_ps, draw.uniform(0.5, 30) * rtt_ps))
    if duration_ps * rate_bps > 4e4 * WIRE_BITS * S and not draw.extreme:
        rate_bps = max(1, round(packets * WIRE_BITS * S / duration_ps))
    if draw.extreme:
        duration_ps = draw.time_ps(1, units.MAX_TIME_PS)
    return Scale(rate_bps, rtt_ps, max(1, min(duration_ps, units.MAX_TIME_PS)), packets)


def _run_fields(draw: Draws, scale: Scale) -> Tables:
    form: Tables = {}
    samples = draw.count(1, 400)
    form["sample_period"] = units.format_time(max(1, scale.duration_ps // samples))
    if draw.extreme:
        form["sample_period"] = draw.time(1, units.MAX_TIME_PS)
    if draw.chance(0.3):
        form["title"] = "a random scenario"
    form["seed"] = draw.choice((0, 1, draw.randrange(2**63)))
    if draw.chance(0.5):
        form["start_jitter"] = draw.time(1, scale.rtt_ps, zero=0.4)
    if draw.chance(0.2):
        form["send_jitter"] = draw.time(1, 100 * US, zero=0.2)
    if draw.chance(0.2):
        form["perturb"] = draw.choice(PERTURBATIONS)
    if draw.chance(0.4):
        form["stack"] = draw.choice(tuple(STACKS)) if draw.chance(0.4) else stack_of(draw, scale)
    if draw.chance(0.3):
        first, last = sorted(draw.randrange(scale.duration_ps + 1) for _ in range(2))
        form["measure"] = {"from": units.format_time(first), "to": units.format_time(last)}
        for end in draw.subset(("from", "to")):
            del form["measure"][end]
    if draw.chance(0.08):
        form["events"] = True if draw.chance(0.3) else _events(draw, scale)
    if draw.chance(0.1):
        form["internals"] = draw.chance(0.9)
    if draw.chance(0.2):
        form["resolution"] = draw.choice(RESOLUTIONS)
    return form


def _events(draw: Draws, scale: Scale) -> Tables:
    form: Tables = {}
    if draw.chance(0.5):
        form["limit"] = draw.choice((1, 1000, 10**6, 10**9))
    if draw.chance(0.5):
        form["from"] = draw.time(*scale.duration, zero=0.2)
    if draw.chance(0.3):
        form["to"] = draw.time(*scale.duration)
    return form


def _spoiled(draw: Draws, form: Tables) -> Tables:
    """The tables with one value replaced by what has no meaning there, or with a field that is none."""
    places: list[tuple[Any, Any]] = []

    def collect(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                collect(node[key])

    collect(form)
    holder, key = draw.choice(places)
    if isinstance(holder, dict) and draw.chance(0.2):
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder[key] = draw.choice(GARBAGE)
    return form


def plain(seed: int) -> Tables:
    """The tables of a scenario of a seed that Linux in a guest can run too: few flows of algorithms of the kernel,
    and the impairments of a link that delay, drop, repeat and reorder packets."""
    draw = Draws(seed)
    path: Tables = {
        "rate": f"{draw.count(1, 60)} Mbit/s", "rtt": f"{2 * draw.count(2, 100)} ms",
        "buffer": f"{draw.count(5, 200)} packets",
    }  # fmt: skip
    impairments: Tables = {
        "loss": draw.spread(1e-4, 0.2),
        "reorder": {"share": draw.spread(1e-3, 0.4), "delay": f"{draw.count(1, 60)} ms"},
        "duplicate": draw.choice((draw.spread(1e-3, 1.0), 1.0)),
        "jitter": {"uniform": f"{draw.count(1, 20)} ms"},
    }
    path |= {name: impairments[name] for name in draw.subset(tuple(impairments))}
    flows = [
        {"algorithm": draw.choice(("reno", "cubic:linux", "bbr:linux", "westwood:linux", "vegas"))}
        | ({"start": f"{draw.count(1, 1000)} ms"} if draw.chance(0.4) else {})
        | ({"stop": f"{draw.count(1100, 2500)} ms"} if draw.chance(0.3) else {})
        | ({"size": f"{draw.count(1, 300)} kB"} if draw.chance(0.3) else {})
        for _ in range(draw.randint(1, 3))
    ]
    stack = {"receive_window": f"{draw.count(5, 500)} segments"} if draw.chance(0.3) else {}
    return {"duration": f"{draw.randint(2, 4)} s", "dumbbell": path, "flow": flows} | (
        {"stack": stack} if stack else {}
    )


def beside_quic(seed: int) -> Tables:
    """The tables of :func:`plain`, the first of whose flows is a connection of QUIC, and one simulated flow more."""
    draw = Draws(seed)
    tables = plain(seed)
    connection, *others = tables["flow"]
    connection |= {"algorithm": draw.choice(("reno", "cubic", "hcc", "quinn:bbr")), "backend": "quic"}
    if draw.chance(0.5):
        connection["application"] = {"rate": f"{draw.count(100, 20000)} kbit/s"}
    return tables | {"flow": [connection, *others, {"algorithm": draw.choice(("bbr3", "copa", "dctcp", "ledbat"))}]}

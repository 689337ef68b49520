"""Random paths, and the flows and sources of transfers on them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.draws import MS, US, Draws, S
from tests.fuzz.scale import CONTRADICTS, WIRE_BITS, Scale, Tables
from tests.fuzz.stacks import stack_of

from elephan.scenario import catalog, units
from elephan.scenario.channels import MODELS
from elephan.scenario.errors import ScenarioError
from elephan.scenario.schema import ARRIVALS, RECORDS, SIZES, TIMES
from elephan.scenario.stacks import STACKS
from elephan.scenario.traffic import RTTS

FILES = Path(__file__).parent / "files"
OWN = tuple(f"{FILES / 'own.py'}:{name}" for name in ("Steady", "Idle"))


@cache
def algorithms() -> tuple[str, ...]:
    """Every algorithm and preset that TCP flows may have."""
    return tuple(catalog.spellings(catalog.algorithms()))


@cache
def queues() -> tuple[str, ...]:
    """Every queue discipline and preset."""
    return tuple(catalog.spellings(catalog.queues()))


class Senders:
    """A path, and the flows and sources of transfers on it."""

    def __init__(self, draw: Draws, scale: Scale, topology: str) -> None:
        self.draw, self.scale, self.topology = draw, scale, topology
        self.hops = 1
        self.walks: list[tuple[list[str], list[str] | None]] = []
        # Some algorithms need routers of their own kind: such a path has flows of them.
        self.router = draw.choice(sorted(catalog.routers())) if draw.chance(0.1) else None

    def counts(self) -> tuple[int, int]:
        """How many flows and how many sources there are."""
        draw = self.draw
        flows = draw.choices((1, 2, 3, 4, draw.randint(5, 40)), (30, 30, 15, 10, 8))[0]
        sources = draw.choices((0, 1, 2), (75, 20, 5))[0]
        return (flows if not sources or draw.chance(0.6) else 0), sources

    # ---- paths ----

    def dumbbell(self) -> Tables:
        """``[dumbbell]``."""
        form = self._bottleneck()
        form["rtt"] = units.format_time(2 * max(1, self.scale.rtt_ps // 2))
        return form | self._access()

    def parking_lot(self) -> Tables:
        """``[parking_lot]``, with a round trip that divides among the hops."""
        self.hops = self.draw.choices((1, 2, 3, 5, self.draw.randint(6, 30)), (2, 5, 4, 2, 1))[0]
        form = self._bottleneck() | {"hops": self.hops}
        share_ps = 2 * self.hops
        form["rtt"] = units.format_time(max(1, self.scale.rtt_ps // share_ps) * share_ps)
        return form | self._access()

    def _bottleneck(self) -> Tables:
        form: Tables = {"rate": units.format_rate(self.scale.rate_bps), "buffer": self._buffer(self.scale.rate_bps)}
        return form | self.bottleneck_queue() | self._impairments(self.scale.rtt_ps // 2)

    def _buffer(self, rate_bps: int) -> str:
        """A limit that mostly has room for a packet."""
        bdp_packets = rate_bps * self.scale.rtt_ps / (WIRE_BITS * S)
        # Some packets are several times as large as usual ones.
        least_packets = 1.5 if self.draw.chance(0.3) else 8.0
        least_share = least_packets / max(bdp_packets, 1e-9)
        return self.draw.buffer(least_share, shares=least_share < 100)

    def _access(self) -> Tables:
        draw = self.draw
        form: Tables = {}
        if draw.chance(0.3):
            form["access_rate"] = draw.rate(self.scale.rate_bps / 3, self.scale.rate_bps * 100)
        if draw.chance(0.3):
            # A multiple of the hops keeps the rest of the round trip divisible by them.
            unit_ps = 2 * self.hops
            delay_ps = int(self.scale.rtt_ps * draw.uniform(0, 0.25)) // unit_ps * unit_ps
            form["access_delay"] = units.format_time(delay_ps)
        return form

    def links(self) -> list[Tables]:
        """``[[link]]``: a row of nodes with links across it, and the walks that flows may take."""
        draw = self.draw
        nodes = [f"n{i}" for i in range(draw.choices((2, 3, 4, 8), (4, 4, 2, 1))[0])]
        ends = [(nodes[i], nodes[i + 1]) for i in range(len(nodes) - 1)]
        ends += [(start, end) for start, end in (draw.sample(nodes, 2) for _ in range(draw.choice((0, 0, 1, 2, 4))))]
        found = []
        for i, (start, end) in enumerate(ends):
            delay_ps = round(draw.time_ps(self.scale.rtt_ps / 200, self.scale.rtt_ps / 2))
            link: Tables = {"name": f"l{i}", "from": start, "to": end}
            link["rate"] = draw.rate(self.scale.rate_bps / 2, self.scale.rate_bps * 2)
            if i > 0 and draw.chance(0.1):
                delay_ps = 0
            link["delay"] = units.format_time(delay_ps)
            if draw.chance(0.8):
                link["buffer"] = self._buffer(self.scale.rate_bps // 2)
            link |= self.bottleneck_queue() | self._impairments(delay_ps)
            if draw.chance(0.15):
                link["duplex"] = draw.chance(0.5)
            if draw.chance(0.3):
                link["record"] = draw.chance(0.7)
            found.append(link)
        self.walks = self._walks(nodes, found)
        return found

    def _walks(self, nodes: list[str], links: list[Tables]) -> list[tuple[list[str], list[str] | None]]:
        """Some random walks, each with the reverse path where it does not use the same links."""
        draw = self.draw
        steps: dict[str, list[tuple[str, str]]] = {node: [] for node in nodes}
        for link in links:
            steps[link["from"]].append((link["name"], link["to"]))
            if link.get("duplex", True):
                steps[link["to"]].append((link["name"] + "/reverse", link["from"]))
        walks: list[tuple[list[str], list[str] | None]] = []
        for _ in range(6):
            at = begin = draw.choice(nodes)
            path: list[str] = []
            for _ in range(draw.randint(1, 4)):
                onward = [step for step in steps[at] if step[0] not in path]
                if onward:
                    name, at = draw.choice(onward)
                    path.append(name)
            back = self._way(steps, at, begin)
            named = {link["name"]: link for link in links}
            used = [named[name.removesuffix("/reverse")] for name in path]
            if path and back and any(link["delay"] != "0 s" for link in used):
                can_return = all(link.get("duplex", True) for link in used) or draw.chance(CONTRADICTS)
                walks.append((path, back if not can_return or draw.chance(0.4) else None))
        if not walks:
            links[0]["duplex"] = True
        return walks or [([links[0]["name"]], None)]

    def _way(self, steps: dict[str, list[tuple[str, str]]], start: str, end: str) -> list[str]:
        """A random way from a node to another without a link twice; empty where the walk did not get there."""
        at, way = start, []
        for _ in range(12):
            onward = [step for step in steps[at] if step[0] not in way]
            if not onward:
                return []
            name, at = self.draw.choice(onward)
            way.append(name)
            if at == end:
                return way
        return []

    def bottleneck_queue(self) -> Tables:
        """A queue discipline with some of its parameters."""
        draw = self.draw
        form: Tables = {}
        if self.router is not None and draw.chance(0.9):
            form["queue"] = self.router
        elif draw.chance(0.6):
            form["queue"] = draw.choice(queues())
        entry = catalog.queues()[form.get("queue", "droptail").partition(":")[0]]
        parameters = {
            declared["name"]: self._queue_parameter(declared)
            for declared in entry["parameters"]
            if declared["required"] or draw.chance(0.25)
        }
        return form | ({"queue_parameters": parameters} if parameters else {})

    def _queue_parameter(self, declared: dict[str, Any]) -> Any:
        draw, kind = self.draw, declared["type"]
        if kind == "amount":
            amount = draw.buffer(shares=draw.chance(0.2))
            return amount if amount != "unlimited" or draw.chance(CONTRADICTS) else f"{draw.count(1, 500)} packets"
        if kind == "packets":
            return f"{draw.count(1, 500)} packets"
        if kind == "rate":
            return draw.rate(self.scale.rate_bps / 10, self.scale.rate_bps * 2)
        if kind == "size":
            return draw.size(1600, 200_000)
        value = draw.parameter(declared)
        if kind == "duration":
            return units.format_time(max(1, round(value * S)))
        whole = kind == "integer" or (kind == "number" and float(value).is_integer() and draw.chance(0.5))
        return round(value) if whole else value

    def _impairments(self, delay_ps: int) -> Tables:
        draw, scale = self.draw, self.scale
        form: Tables = {}
        if draw.chance(0.25):
            form["loss"] = self._loss()
        if not draw.chance(0.4):
            return form
        kept = draw.choice((0.1, 0.2, 0.6))
        if draw.chance(kept):
            form["jitter"] = self._jitter()
        if draw.chance(kept):
            form["reorder"] = {"share": draw.share(1e-4, 0.3), "delay": draw.time(10 * US, scale.rtt_ps)}
        if draw.chance(kept):
            form["duplicate"] = draw.share(1e-4, 0.5)
        if draw.chance(kept):
            form["aggregation"] = {
                "packets": draw.choice((1, 2, 32, 65_535)),
                "access": draw.time(US, 5 * MS, zero=0.3),
                "contention": draw.time(US, 5 * MS, zero=0.5),
            }
        if draw.chance(kept):
            form["retransmission"] = {
                "loss": draw.share(1e-4, 0.7),
                "tries": draw.choice((1, 2, 7, 1000)),
                "delay": draw.time(US, scale.rtt_ps, zero=0.3),
                "in_order": draw.chance(0.5),
            }
        if draw.chance(0.5 * kept):
            form["channel"] = self._channel()
            return form if draw.chance(CONTRADICTS) else _without_bursts(form)
        if draw.chance(kept):
            form["rate_steps"] = self._rate_steps()
        elif draw.chance(kept) and (delay_ps > 0 or draw.chance(CONTRADICTS)):
            form["rate_trace"] = self._rate_trace()
            form = form if draw.chance(CONTRADICTS) else _without_bursts(form)
        elif draw.chance(kept):
            steps = [[step["at"], step["rate"]] for step in self._rate_steps()]
            form["rate_table"] = self._table(steps, "rates.csv")
        if draw.chance(kept):
            times = sorted({draw.time_ps(*scale.duration) for _ in range(draw.randint(1, 5))})
            steps = [[units.format_time(at), draw.time(US, scale.rtt_ps, zero=0.1)] for at in times]
            form["delay_table"] = self._table(steps, "delays.csv")
            if isinstance(form["delay_table"], dict) and draw.chance(0.5):
                form["delay_table"]["overtake"] = draw.chance(0.5)
        elif draw.chance(kept):
            times = sorted({draw.time_ps(*scale.duration) for _ in range(draw.randint(1, 5))})
            form["delay_steps"] = [{"at": units.format_time(at), "change": self._change(delay_ps)} for at in times]
        return form

    def _channel(self) -> Tables:
        draw = self.draw
        model = draw.choice(tuple(MODELS))
        form: Tables = {"model": model, "seed": draw.randint(0, 99)}
        for name, known in MODELS[model].parameters.items():
            if draw.chance(0.3):
                form[name] = f"{known.low + draw.random() * (known.default - known.low)!r} {known.unit}"
        if "low" in form and "high" not in form and not draw.chance(CONTRADICTS):
            del form["low"]
        return form

    def _change(self, delay_ps: int) -> str:
        shorter = -self.draw.randrange(delay_ps + 1)
        return units.format_offset(shorter) if self.draw.chance(0.5) else self.draw.time(1, self.scale.rtt_ps)

    def _loss(self) -> Any:
        """Losses, sometimes after the transmitter."""
        draw = self.draw
        loss = self._lost()
        if draw.chance(0.7):
            return loss
        if isinstance(loss, list):
            return {"intervals": loss, "at": draw.choice(("queue", "wire"))}
        whole = loss if isinstance(loss, dict) else {"probability": loss}
        return whole | {"at": draw.choice(("queue", "wire"))}

    def _lost(self) -> Any:
        draw = self.draw
        kind = draw.random()
        if kind < 0.4:
            return draw.share(1e-5, 0.3)
        if kind < 0.5:
            begin_ps, end_ps = sorted((draw.time_ps(*self.scale.duration), draw.time_ps(*self.scale.duration)))
            times = {"from": units.format_time(begin_ps), "to": units.format_time(end_ps + 1)}
            return {"probability": draw.share(1e-3, 1)} | times
        if kind < 0.6:
            if draw.chance(0.3):
                return {"intervals": str(FILES / "outages.csv")} | ({"probability": "30%"} if draw.chance(0.5) else {})
            ends = sorted({draw.time_ps(*self.scale.duration) for _ in range(draw.choice((2, 4, 20)))})
            pairs = list(zip(ends[::2], ends[1::2], strict=False))
            return [
                {"probability": draw.share(1e-3, 1), "from": units.format_time(a), "to": units.format_time(b)}
                for a, b in pairs or [(0, 1)]
            ]
        if kind < 0.7:
            states: Tables = {"good": draw.time(MS, 2 * S), "bad": draw.time(MS, 100 * MS)}
            return states | ({"in_bad": draw.share(0.1, 1)} if draw.chance(0.5) else {})
        if kind < 0.8:
            most = max(2, 2 * self.scale.packets)
            return {"packets": sorted({draw.count(1, most) for _ in range(draw.choice((1, 3, 30)))})}
        bursts = {"to_bad": draw.share(1e-4, 0.1), "to_good": draw.share(0.01, 1)}
        if draw.chance(0.3):
            bursts["in_good"] = draw.share(1e-5, 0.1)
        if draw.chance(0.5):
            bursts["in_bad"] = draw.share(0.1, 1)
        return bursts

    def _jitter(self) -> Tables:
        draw = self.draw
        kind = draw.choice(("uniform", "normal", "exponential", "samples"))
        if kind == "normal":
            return {"normal": draw.time(US, 20 * MS, zero=0.2), "deviation": draw.time(US, 20 * MS)}
        if kind == "samples":
            listed = [draw.time(US, 20 * MS, zero=0.3) for _ in range(draw.randint(1, 9))]
            return {"samples": str(FILES / "delays.txt") if draw.chance(0.2) else listed}
        return {kind: draw.time(US, 20 * MS)}

    def _rate_steps(self) -> list[Tables]:
        draw, scale = self.draw, self.scale
        times = sorted({draw.time_ps(*scale.duration) for _ in range(draw.randint(1, 5))})
        rates = [
            "0 bit/s" if draw.chance(0.3) else draw.rate(scale.rate_bps / 30, scale.rate_bps * 2) for _ in times[1:]
        ]
        rates.append(draw.rate(scale.rate_bps / 30, scale.rate_bps * 2))
        return [{"at": units.format_time(at), "rate": rate} for at, rate in zip(times, rates, strict=True)]

    def _table(self, rows: list[list[str]], file: str) -> Any:
        """A table over time: its rows or a file, perhaps with a period."""
        draw = self.draw
        if draw.chance(0.3):
            return str(FILES / file)
        if draw.chance(0.5):
            return rows
        repeat = units.format_time(units.parse_time(rows[-1][0]) + draw.time_ps(10 * MS, S))
        return {"rows": rows, "repeat": draw.choice((repeat, len(rows) > 1))}

    def _rate_trace(self) -> Any:
        draw = self.draw
        if draw.chance(0.2):
            return str(FILES / "downlink.trace")
        longest_ms = max(1, min(2**32 - 1, self.scale.duration_ps // MS))
        longest_ms = draw.choice((1, longest_ms, 2**32 - 1)) if draw.extreme else min(longest_ms, 2000)
        times = sorted(draw.randint(0, longest_ms) for _ in range(draw.choice((1, 4, 40))))
        return [*times[:-1], max(1, times[-1])]

    # ---- what sends ----

    def _place(self) -> Tables:
        """Place on the path at which the data of a flow or a source begin and end."""
        draw = self.draw
        form: Tables = {}
        if self.topology == "link":
            path, back = draw.choice(self.walks)
            return {"path": path} | ({"reverse_path": back} if back else {})
        if draw.chance(0.2):
            form["direction"] = draw.choice(("right", "left"))
        if self.topology == "parking_lot" and draw.chance(0.6):
            first, last = sorted(draw.randint(1, self.hops) for _ in range(2))
            form["hops"] = first if first == last and draw.chance(0.5) else [first, last]
        return form

    def _algorithm(self, transfers: bool = False) -> Tables:
        draw = self.draw
        name = draw.choice(algorithms())
        for _ in range(5):
            router = catalog.router(name)
            suits = router is None or router == self.router or draw.chance(0.02)
            if suits and (self.router is None or router == self.router or draw.chance(0.3)):
                break
            name = draw.choice(algorithms())
        if self.router is not None and draw.chance(0.5):
            name = draw.choice([each for each in algorithms() if catalog.router(each) == self.router])
        if transfers and name.startswith("udt") and not draw.chance(0.05):
            name = "cubic"
        if not transfers and draw.chance(0.01):
            given = {"increase": draw.spread(0.1, 100)} if draw.chance(0.3) else {}
            own = OWN[1] if draw.chance(CONTRADICTS) else OWN[0]
            return {"algorithm": OWN[0], "parameters": given} if given else {"algorithm": own}
        entry = catalog.algorithms()[name.partition(":")[0]]
        kept = draw.choice((0.0, 0.1, 0.1, 0.5))
        parameters = {
            declared["name"]: draw.parameter(declared) for declared in entry["parameters"] if draw.chance(kept)
        }
        if not draw.chance(CONTRADICTS):
            _harmonize(draw, name, parameters)
        return {"algorithm": name} | ({"parameters": parameters} if parameters else {})

    def flow(self, position: int) -> Tables:
        """One of ``[[flow]]``."""
        draw, scale = self.draw, self.scale
        form: Tables = {"name": f"f{position}"} if draw.chance(0.7) else {}
        form |= self._place()
        if draw.chance(0.1):
            form["datagrams"] = self._application() | ({"size": draw.size(29, 9000)} if draw.chance(0.7) else {})
        else:
            form |= self._algorithm()
            form |= self._endpoints(form["algorithm"].startswith("udt"))
        if draw.chance(0.4):
            form["start"] = draw.time(*scale.duration, zero=0.3)
        form |= self._stop(form)
        writes = "writes" in form.get("application", {})
        if draw.chance(0.2) and (not writes or draw.chance(CONTRADICTS)):
            form["size"] = draw.amount(1, max(2, scale.packets))
        if self.topology == "dumbbell" and draw.chance(0.2):
            form["rtt"] = units.format_time(2 * round(scale.rtt_ps // 2 * draw.spread(1, 8)))
        return form | (self._group(form) if draw.chance(0.1) else {})

    def _group(self, flow: Tables) -> Tables:
        """Fields that make a flow stand for several."""
        draw, scale = self.draw, self.scale
        form: Tables = {"count": draw.count(1, 300 if draw.extreme else 12)}
        if draw.chance(0.5):
            form["start_spread"] = draw.time(*scale.duration, zero=0.1)
        if self.topology == "dumbbell" and ("rtt" not in flow or draw.chance(0.02)) and draw.chance(0.4):
            form["rtts"] = self._rtts()
        return form

    def _endpoints(self, udt: bool) -> Tables:
        """Settings of the ends of a TCP flow; UDT's ends have only an application and a payload."""
        draw, scale = self.draw, self.scale
        form: Tables = {}
        if draw.chance(0.25):
            form["application"] = self._application() if udt or draw.chance(0.8) else {"writes": self._writes()}
        if udt and not draw.chance(0.02):
            return form | ({"stack": {"payload": draw.size(24, 9000)}} if draw.chance(0.3) else {})
        if draw.chance(0.3):
            form["stack"] = draw.choice(tuple(STACKS)) if draw.chance(0.4) else stack_of(draw, scale)
        if draw.chance(0.1):
            form["sender_clock"] = self._clock()
        if draw.chance(0.1):
            form["receiver_clock"] = self._clock()
        if draw.chance(0.1):
            form["base_rtt_error"] = draw.offset(US, scale.rtt_ps)
        return form

    def _clock(self) -> Tables:
        draw = self.draw
        whole = {
            "offset": draw.offset(US, S),
            "drift": f"{draw.choice((-1, 1)) * draw.count(1, 10**7)} ppb",
            "resolution": draw.time(US, 20 * MS, zero=0.2),
        }
        return {name: whole[name] for name in draw.subset(tuple(whole), 1)}

    def _writes(self) -> Any:
        draw, scale = self.draw, self.scale
        if draw.chance(0.3):
            return str(FILES / "writes.csv")
        times = sorted(draw.time_ps(*scale.duration) for _ in range(draw.choice((1, 3, 20))))
        return [{"at": units.format_time(at), "size": draw.size(1, 200_000)} for at in times]

    def _application(self) -> Tables:
        draw, scale = self.draw, self.scale
        form: Tables = {"rate": draw.rate(scale.rate_bps * 0.01, scale.rate_bps * 1.5)}
        kind = draw.random()
        if kind < 0.3:
            form["arrivals"] = draw.choice(ARRIVALS)
        elif kind < 0.5:
            form["frames"] = draw.time(MS, 200 * MS)
            if draw.chance(0.5):
                form["frame_shape"] = draw.uniform(0.1, 100) if draw.extreme else draw.spread(0.3, 5)
            if draw.chance(0.3):
                form["rate_steps"] = self._rate_steps()
        if draw.chance(0.4):
            least, most = scale.duration_ps / 500, scale.duration_ps
            form |= {"on": draw.time(least, most), "off": draw.time(least, most)}
            if not draw.chance(CONTRADICTS):
                form.pop("rate_steps", None)  # a step to 0 would be another kind of pause
            if draw.chance(0.5):
                form["times"] = draw.choice(TIMES)
            if draw.chance(0.2):
                form["shape"] = self._shape()
        return form

    def _shape(self) -> float:
        return 1 + (self.draw.choice((1e-12, 99.0)) if self.draw.extreme else self.draw.spread(0.05, 5))

    def source(self, position: int) -> Tables:
        """One of ``[[traffic]]``."""
        draw, scale = self.draw, self.scale
        form: Tables = {"name": f"t{position}"} if draw.chance(0.7) else {}
        form |= self._place() | self._algorithm(transfers=True)
        seconds = scale.duration_ps / S
        kind = draw.choice(("load", "per_second", "users", "file", "transfers"))
        if kind == "load":
            percent = draw.choice((1e-6, 1000)) if draw.extreme else draw.spread(1, 150)
            form["load"] = f"{percent:.9f}%" if draw.chance(0.7) else draw.rate(scale.rate_bps / 50, scale.rate_bps)
        elif kind == "per_second":
            form["per_second"] = draw.choice((1e-9, 1e9)) if draw.extreme else min(1e9, draw.spread(0.5, 300) / seconds)
        elif kind == "users":
            form |= {"users": 10**6 if draw.extreme else draw.count(1, 60)}
            form["think"] = draw.time(scale.duration_ps / 100, scale.duration_ps)
            if draw.chance(0.4):
                form["think_times"] = draw.choice(TIMES)
            if draw.chance(0.2):
                form["think_shape"] = self._shape()
        elif kind == "file":
            form["file"] = str(FILES / "transfers.csv")
        else:
            form["transfers"] = self._transfers()
        if kind in ("load", "per_second", "users"):
            form |= self._sizes_and_round_trips()
        if draw.chance(0.3):
            form["record"] = draw.choice(RECORDS)
        if draw.chance(0.2):
            form["start"] = draw.time(*scale.duration, zero=0.3)
        form |= self._stop(form)
        if draw.chance(0.2):
            form["stack"] = draw.choice(tuple(STACKS)) if draw.chance(0.4) else stack_of(draw, scale)
        return form

    def _stop(self, form: Tables) -> Tables:
        """Perhaps an end, mostly after the start."""
        draw = self.draw
        if not draw.chance(0.15):
            return {}
        begin_ps = units.parse_time(form.get("start", "0 s")) if not draw.extreme else 0
        return {"stop": units.format_time(min(units.MAX_TIME_PS, begin_ps + draw.time_ps(*self.scale.duration)))}

    def _transfers(self) -> list[list[str]]:
        draw, scale = self.draw, self.scale
        timed = draw.chance(0.4)
        rows = []
        for _ in range(draw.choice((1, 3, 20))):
            row = [draw.time(*scale.duration, zero=0.2), draw.size(1, 200_000)]
            rows.append([*row, draw.time(4 * scale.rtt_ps, 20 * scale.rtt_ps)] if timed else row)
        return rows

    def _sizes_and_round_trips(self) -> Tables:
        draw = self.draw
        form: Tables = {}
        if draw.chance(0.7):
            # A load of few bytes each would be far more transfers than packets.
            form["sizes"] = self._sizes()
        if draw.chance(0.2):
            form["rtts"] = self._rtts()
        return form

    def _rtts(self) -> Any:
        """A distribution of round-trip times."""
        draw, scale = self.draw, self.scale
        times = sorted(draw.time_ps(scale.rtt_ps, 20 * scale.rtt_ps) for _ in range(3))
        listed = [[share, units.format_time(time)] for share, time in zip((0, 0.5, 1), times, strict=True)]
        return draw.choice([*RTTS, str(FILES / "rtts.csv"), listed, listed])

    def _sizes(self) -> Tables:
        draw = self.draw
        kind = draw.choice(SIZES)
        form: Tables = {"distribution": kind} if kind != "lognormal-pareto" or draw.chance(0.5) else {}
        if kind != "lognormal-pareto":
            form["mean"] = draw.size(2000, 200_000)
            return form | ({"shape": self._shape()} if kind == "pareto" else {})
        whole = {
            "mu": draw.uniform(-1e3, 1e3) if draw.extreme else draw.uniform(6, 12),
            "sigma": draw.uniform(-1, 1e3) if draw.extreme else draw.uniform(0.1, 2),
            "body_share": draw.choice((0.0, 1.0, -1.0)) if draw.extreme else draw.uniform(0.5, 1),
            "tail": draw.size(10_000, 10**6),
            "tail_shape": draw.choice((0.0, 1.0, 1e9)) if draw.extreme else draw.uniform(1.01, 3),
            "most": draw.size(2 * 10**6, 10**9),
        }
        return form | {name: value for name, value in whole.items() if draw.chance(0.4)}


def _without_bursts(form: Tables) -> Tables:
    """Impairments without those that need a rate at which packets of a burst follow each other; a trace has none."""
    return {name: value for name, value in form.items() if name not in ("aggregation", "retransmission")}


def _harmonize(draw: Draws, algorithm: str, parameters: Tables) -> None:
    """Remove parameters until no two contradict each other."""
    while parameters:
        try:
            catalog.check_parameters(algorithm, parameters)
        except ScenarioError:
            del parameters[draw.choice(sorted(parameters))]
        else:
            return

"""Programs of the user's own in a guest: their plan, and the tables of their connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.rates import rate_mbps
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.form import Spec
from elephan.scenario.programs import check_files, executable, visible

if TYPE_CHECKING:
    import polars as pl

MEMORY_BYTES = 640 << 20
"""Memory of a guest for all programs and what they write."""
CLOCK = ["elephan_patience=100", "elephan_step=1000"]
"""Arguments of the kernel: a process that reads the clock 100 times without waiting spends 1 us at each later one."""
OUTPUT_BYTES = 64_000
"""Length of an output that is kept with a run: its beginning and its end."""
_SENDERS, _RECEIVERS = 0, 1
_PS_PER_NS = 1000
_NS_PER_S = 1e9
_RTTS = ("rtt_min_ms", "rtt_mean_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_p99_ms")
_INSIDE = ("loss_events", "ecn_events", "timeouts", "spurious_retransmits")
"""Counts that a program alone knows."""
_DELAYS = ("owd_min_ms", "owd_mean_ms", "owd_p50_ms", "owd_p95_ms", "owd_p99_ms")


def positions(form: Spec) -> list[int]:
    """Positions of the flows that are programs."""
    return [i for i, flow in enumerate(form.flows) if flow.program is not None]


def planned(
    scenario: Scenario, form: Spec, addresses: Mapping[int, tuple[str, str]]
) -> tuple[list[dict[str, Any]], list[tuple[int, str]], list[str]]:
    """The programs of a guest's plan, their addresses by namespace, and the folders of the host that they read.

    Args:
        scenario: the scenario, with the commands as the user wrote them.
        form: its canonical form.
        addresses: addresses of the sender and the receiver of each program, by the flow's position.
    """
    order = list(addresses)
    programs, hosts, folders = [], dict[tuple[int, str], None](), dict[str, None]()
    for number, i in enumerate(order):
        flow, program = form.flows[i], scenario.flow[i].program
        known = flow.program
        assert program is not None
        assert known is not None
        try:
            check_files(program, known)
        except ScenarioError as error:
            raise error.located(path=f"flow[{i}].program") from None
        by_end = dict(zip(("sender", "receiver"), addresses[i], strict=True))
        server_ip = by_end["sender" if program.sender == "server" else "receiver"]
        hosts |= dict.fromkeys(((_SENDERS, by_end["sender"]), (_RECEIVERS, by_end["receiver"])))
        folders |= dict.fromkeys(visible(program))
        values = {"address": server_ip, "port": program.port, "bytes": program.bytes, "seed": form.seed}

        programs.append(
            {
                "name": flow.name,
                "server": None if program.server is None else _command(program.server, values, f"/own/{number}/server"),
                "server_of": None if program.server_of is None else _number_of(form, order, program.server_of),
                "client": _command(program.client, values, f"/own/{number}/client"),
                "environment": {name: _filled(text, values) for name, text in program.environment.items()},
                "port": program.port,
                "ready": program.ready,
                "client_sends": program.sender == "client",
                "start_ps": flow.start_ps,
                "stop_ns": None if flow.stop_ps is None else flow.stop_ps // _PS_PER_NS,
            }
        )
    return programs, list(hosts), list(folders)


def check(form: Spec) -> None:
    """Check that programs with one server have it at one end of the path.

    Raises:
        ScenarioError: two programs have the same server at different ends.
    """
    known = {flow.name: flow.program for flow in form.flows if flow.program is not None}
    for i in positions(form):
        program = form.flows[i].program
        other = None if program is None or program.server_of is None else known[program.server_of]
        if program is not None and other is not None and other.client_sends != program.client_sends:
            raise ScenarioError(
                f"the server of '{program.server_of}' is at the other end of the path",
                path=f"flow[{i}].program.sender",
            )


def _number_of(form: Spec, order: Sequence[int], name: str) -> int:
    return next(number for number, i in enumerate(order) if form.flows[i].name == name)


def _command(words: Sequence[str], values: Mapping[str, Any], folder: str) -> list[str]:
    """The words of a command with its values, beginning with the path of the program."""
    first, *rest = words
    return [executable(first), *(_filled(word, {**values, "dir": folder}) for word in rest)]


def _filled(word: str, values: Mapping[str, Any]) -> str:
    """A word with the values of its placeholders; other braces stay."""
    for name, value in values.items():
        word = word.replace(f"{{{name}}}", str(value))
    return word


# ---- tables ----


class Connections:
    """The programs' connections, as the path has seen them.

    Args:
        form: the scenario's canonical form.
        found: the connections, as the path's program has written them.
        ended: the outcome of each program, as the guest has written it.
        times_ns: the sample times.
    """

    def __init__(
        self, form: Spec, found: list[dict[str, Any]], ended: list[dict[str, Any]], times_ns: Sequence[int]
    ) -> None:
        self._form, self._times_ns = form, list(times_ns)
        self._ended = dict(zip(positions(form), ended, strict=True))
        self._of = {i: [one for one in found if one["flow"] == i] for i in positions(form)}

    def warnings(self) -> list[str]:
        """One sentence on each program whose data went against the direction of its path."""
        found = []
        for i, connections in self._of.items():
            along, against = (sum(one["directions"][way]["payload"] for one in connections) for way in (0, 1))
            if against > along:
                program = self._form.flows[i].program
                end = "server" if program is not None and program.client_sends else "client"
                found.append(
                    f"{self._form.flows[i].name}: {against} B of its data took the reverse path and {along} B the "
                    f'path, whose numbers are shown; write sender = "{end}"'
                )
        return found

    def flows(self) -> pl.DataFrame:
        """Rows of ``flows``: one for each program, and one for each of its connections, ``name/1`` and on."""
        import polars as pl

        rows = []
        for i, connections in self._of.items():
            series = [self._series(one) for one in connections]
            whole = _Series.of_all(series, len(self._times_ns))
            started, ended = (self._ended[i][key] for key in ("started_ns", "ended_ns"))
            rows.append(self._row(i, self._form.flows[i].name, "program", connections, whole, started, ended))
            for number, (one, own) in enumerate(zip(connections, series, strict=True), 1):
                name = f"{self._form.flows[i].name}/{number}"
                first_ns, last_ns = one["first_ns"], one["last_ns"]
                rows.append(self._row(i, name, one["protocol"], [one], own, first_ns, last_ns))
        floats = (
            *_RTTS, *_DELAYS, "cwnd_mean", "cwnd_max", "completion_s", "start_s", "receive_window_limited_fraction",
        )  # fmt: skip
        counts = (*_INSIDE, "retransmits", "missing_packets")
        kinds: dict[str, type[pl.DataType]] = {**dict.fromkeys(floats, pl.Float64), **dict.fromkeys(counts, pl.UInt64)}
        return pl.DataFrame(rows, schema_overrides=kinds)

    def _series(self, one: dict[str, Any]) -> _Series:
        """Counts of the packets of a connection until each sample time."""
        found = _Series.nothing(len(self._times_ns))
        for at in one["samples"]:
            for name, values in vars(found).items():
                values[at["number"]] = at[name]
        return found

    def _row(
        self,
        i: int,
        name: str,
        algorithm: str,
        connections: list[dict[str, Any]],
        series: _Series,
        started_ns: int | None,
        ended_ns: int | None,
    ) -> dict[str, Any]:
        measure = self._form.measure
        first, last = (self._times_ns.index(at // _PS_PER_NS) for at in (measure.from_ps, measure.to_ps))
        seconds = (measure.to_ps - measure.from_ps) / 1e12
        ways = [one["directions"][0] for one in connections]
        is_tcp = all(one["protocol"] == "tcp" for one in connections)

        def total(key: str) -> int:
            return sum(way[key] for way in ways)

        # Distributions of several connections are not kept together.
        alone = ways[0] if len(ways) == 1 else {}
        rtts, delays = alone.get("rtt_ms") or [None] * 5, alone.get("delay_ms") or [None] * 5
        started_s = None if started_ns is None else started_ns / _NS_PER_S
        return {
            "name": name,
            "algorithm": algorithm,
            "start_s": self._form.flows[i].start_ps / 1e12 if started_s is None else started_s,
            "goodput_mbps": rate_mbps(float(series.payload[last] - series.payload[first]), seconds),
            "throughput_mbps": rate_mbps(float(series.bytes[last] - series.bytes[first]), seconds),
            "segments_delivered": total("data_packets"),
            "segments_sent": total("sent_packets"),
            # The headers of QUIC are encrypted, and the rest is inside the program.
            "retransmits": total("retransmits") if is_tcp else None,
            **dict.fromkeys(_INSIDE),
            "missing_packets": total("sent_packets") - total("packets"),
            **dict(zip(_RTTS, rtts, strict=True)),
            **dict(zip(_DELAYS, delays, strict=True)),
            "cwnd_mean": None,
            "cwnd_max": None,
            "marked_segments": total("marked"),
            "receive_window_limited_fraction": None,
            "completion_s": None if ended_ns is None or started_ns is None else (ended_ns - started_ns) / _NS_PER_S,
        }

    def samples(self) -> pl.DataFrame:
        """Rows of ``samples``: those of each program, then those of each connection."""
        import polars as pl

        frames = []
        for i, connections in self._of.items():
            series = [self._series(one) for one in connections]
            whole = _Series.of_all(series, len(self._times_ns))
            name = self._form.flows[i].name
            of_tcp = [one["protocol"] == "tcp" for one in connections]
            frames += [self._samples_of(name, whole, is_tcp=all(of_tcp))]
            frames += [
                self._samples_of(f"{name}/{number}", own, is_tcp=is_tcp)
                for number, (own, is_tcp) in enumerate(zip(series, of_tcp, strict=True), 1)
            ]
        return pl.concat(frames).with_columns(pl.col("flow").cast(pl.Categorical))

    def _samples_of(self, name: str, series: _Series, *, is_tcp: bool) -> pl.DataFrame:
        import polars as pl

        rows, unsigned, real = len(self._times_ns), pl.UInt64, pl.Float64
        nothing, uncounted = (pl.Series([None] * rows, dtype=kind) for kind in (real, unsigned))
        return pl.DataFrame(
            {
                "time_s": [time / _NS_PER_S for time in self._times_ns],
                "flow": [name] * rows,
                **dict.fromkeys(("cwnd", "ssthresh", "srtt_s"), nothing),
                "rtt_s": pl.Series([at / _NS_PER_S if at else None for at in series.rtt_ns], dtype=real),
                "in_flight": uncounted.cast(pl.UInt32),
                "delivered_segments": pl.Series(series.data_packets, dtype=unsigned),
                "delivered_bytes": pl.Series(series.payload, dtype=unsigned),
                "wire_bytes": pl.Series(series.bytes, dtype=unsigned),
                "network_bytes": pl.Series(series.network_bytes, dtype=unsigned),
                "retransmits": pl.Series(series.retransmits, dtype=unsigned) if is_tcp else uncounted,
                **dict.fromkeys(("loss_events", "ecn_events", "timeouts"), uncounted),
            }
        )


@dataclass(frozen=True)
class _Series:
    """Counts of the packets of connections until each sample time.

    Attributes:
        bytes: bytes of the packets that had arrived.
        payload: their payload.
        data_packets: packets that had arrived with new payload.
        retransmits: packets that repeat data.
        rtt_ns: latest RTT; 0 before the first.
        network_bytes: bytes on the path.
    """

    bytes: list[int]
    payload: list[int]
    data_packets: list[int]
    retransmits: list[int]
    rtt_ns: list[int]
    network_bytes: list[int]

    @classmethod
    def nothing(cls, length: int) -> _Series:
        """Zeros."""
        return cls(*([0] * length for _ in range(6)))

    @classmethod
    def of_all(cls, series: Sequence[_Series], length: int) -> _Series:
        """Sums over several connections, which have no common RTT; those of a single one have its own."""
        if len(series) == 1:
            return series[0]
        found = cls.nothing(length)
        for one in series:
            for name in vars(found).keys() - {"rtt_ns"}:
                totals, more = getattr(found, name), getattr(one, name)
                totals[:] = map(sum, zip(totals, more, strict=True))
        return found

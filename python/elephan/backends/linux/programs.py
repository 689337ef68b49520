"""Programs of the user's own in a guest: their plan, and the tables of their connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elephan.backends.linux import qlogs
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
_DATE_S = 1_767_225_600
"""Date at which servers start (crates/guest, programs.rs)."""
_PS_PER_NS = 1000
_NS_PER_S = 1e9
_NS_PER_MS = 1e6
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
        logs: what the programs wrote about their connections.
        times_ns: the sample times.
    """

    def __init__(
        self,
        form: Spec,
        found: list[dict[str, Any]],
        ended: list[dict[str, Any]],
        logs: qlogs.Logs,
        times_ns: Sequence[int],
    ) -> None:
        self._form, self._times_ns = form, list(times_ns)
        self._ended = dict(zip(positions(form), ended, strict=True))
        self._of = {i: [one for one in found if one["flow"] == i] for i in positions(form)}
        self._logs, self._unmatched = self._matched(logs)

    def _matched(self, logs: qlogs.Logs) -> tuple[dict[int, _Told], list[str]]:
        """The logs of the connections whose data they send, by the identity of the connection, and complaints."""
        order = list(self._of)
        found: dict[int, _Told] = {}
        complaints = []
        pools: dict[tuple[int, str], list[dict[str, Any]]] = {}
        for number, i in enumerate(order):
            program = self._form.flows[i].program
            assert program is not None
            if not program.client_sends and program.server_of is not None:
                number = _number_of(self._form, order, program.server_of)
            role = "client" if program.client_sends else "server"
            pools.setdefault((number, role), []).extend(one for one in self._of[i] if one["protocol"] == "udp")
        for (number, role), connections in pools.items():
            waiting = list(connections)
            nameless = []
            for log in logs.get((number, role), ()):
                named = [one for one in waiting if log.group and one["original_id"] == log.group]
                waiting = [one for one in waiting if one not in named]
                found |= {id(one): self._told(one, log, number, role) for one in named}
                nameless += [] if named else [log]
            # A log without the id of its connection is of the only one, or their orders are the same.
            if len(nameless) == len(waiting) and (len(waiting) == 1 or not any(log.group for log in nameless)):
                found |= {
                    id(one): self._told(one, log, number, role) for one, log in zip(waiting, nameless, strict=True)
                }
            elif any(log.metrics for log in nameless):
                name = self._form.flows[order[number]].name
                complaints.append(f"{name}: {len(nameless)} of its qlogs belong to no connection that the path knows")
        return found, complaints

    def _told(self, one: dict[str, Any], log: qlogs.Log, number: int, role: str) -> _Told:
        if log.dated:
            dated_ns = list(self._ended.values())[number]["dated_ns"]
            return _Told(log, dated_ns - _DATE_S * 10**9, one["largest_payload"])
        # A log counts from the moment at which its end knows of the connection.
        zero_ns = one["first_ns"] if role == "client" else one["reached_ns"]
        return _Told(log, zero_ns or 0, one["largest_payload"])

    def warnings(self) -> list[str]:
        """One sentence on each program whose data went against the direction of its path."""
        found = list(self._unmatched)
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
        told = [self._logs.get(id(one)) for one in connections]
        own = _of_logs(told, measure.from_ps // _PS_PER_NS, measure.to_ps // _PS_PER_NS)
        rtts, delays = alone.get("rtt_ms") or own.pop("rtts", [None] * 5), alone.get("delay_ms") or [None] * 5
        own.pop("rtts", None)
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
            **own,
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
            told = [self._of_log(one) for one in connections]
            alone = told[0] if len(told) == 1 else {}
            frames += [self._samples_of(name, whole, is_tcp=all(of_tcp), own=alone)]
            frames += [
                self._samples_of(f"{name}/{number}", one, is_tcp=is_tcp, own=own)
                for number, (one, is_tcp, own) in enumerate(zip(series, of_tcp, told, strict=True), 1)
            ]
        return pl.concat(frames).with_columns(pl.col("flow").cast(pl.Categorical))

    def _of_log(self, one: dict[str, Any]) -> dict[str, list[Any]]:
        """Columns of ``samples`` that a connection's log has."""
        told = self._logs.get(id(one))
        if told is None:
            return {}
        seen = qlogs.at_times(told.log, [told.ms(at_ns) for at_ns in self._times_ns])
        ended = [at_ns > one["last_ns"] for at_ns in self._times_ns]
        columns = list(zip(*seen.values, strict=True))

        def scaled(column: int, unit: float) -> list[float | None]:
            known = zip(columns[column], ended, strict=True)
            return [None if value is None or is_over else value / unit for value, is_over in known]

        flying = [None if value is None else round(value) for value in scaled(1, told.payload)]
        found: dict[str, list[Any] | None] = {
            "cwnd": scaled(0, told.payload),
            "in_flight": flying,
            "ssthresh": scaled(2, told.payload),
            "srtt_s": scaled(3, 1e3),
            "rtt_s": scaled(4, 1e3),
            "retransmits": seen.lost,
            "loss_events": seen.events,
            "ecn_events": seen.marks,
        }
        return {name: values for name, values in found.items() if values is not None and set(values) != {None}}

    def _samples_of(self, name: str, series: _Series, *, is_tcp: bool, own: Mapping[str, list[Any]]) -> pl.DataFrame:
        import polars as pl

        rows, unsigned, real = len(self._times_ns), pl.UInt64, pl.Float64
        nothing, uncounted = (pl.Series([None] * rows, dtype=kind) for kind in (real, unsigned))
        table = pl.DataFrame(
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
        return table.with_columns(pl.Series(name, values, dtype=table.schema[name]) for name, values in own.items())


@dataclass(frozen=True)
class _Told:
    """A log of a connection.

    Attributes:
        log: the log.
        zero_ns: the run's time at which the log's times are 0.
        payload: largest payload of a datagram, bytes: a segment.
    """

    log: qlogs.Log
    zero_ns: int
    payload: int

    def ms(self, at_ns: int) -> float:
        """A time of the run as the log's, ms."""
        return (at_ns - self.zero_ns) / _NS_PER_MS


def _of_logs(told: Sequence[_Told | None], from_ns: int, to_ns: int) -> dict[str, Any]:
    """Columns of ``flows`` that the logs of one or several connections have; empty if one has no log."""
    known = [one for one in told if one is not None]
    if not known or len(known) < len(told):
        return {}
    found: dict[str, Any] = {"retransmits": sum(len(one.log.lost_ms) for one in known)}
    for name, times in (
        ("loss_events", [one.log.events_ms for one in known]), ("ecn_events", [one.log.marks_ms for one in known]),
    ):  # fmt: skip
        counted = [len(one) for one in times if one is not None]
        if len(counted) == len(known):
            found[name] = sum(counted)
    if len(known) > 1:
        return found
    one = known[0]
    window = qlogs.mean_window(one.log, one.ms(from_ns), one.ms(to_ns))
    if window is not None:
        found |= {"cwnd_mean": window[0] / one.payload, "cwnd_max": window[1] / one.payload}
    rtts = sorted(
        values[4]
        for time_ms, values in one.log.metrics
        if values[4] is not None and one.ms(from_ns) <= time_ms < one.ms(to_ns)
    )
    if rtts:
        quantiles = [rtts[min(int(share * len(rtts)), len(rtts) - 1)] for share in (0.5, 0.95, 0.99)]
        found["rtts"] = [rtts[0], sum(rtts) / len(rtts), *quantiles]
    return found


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

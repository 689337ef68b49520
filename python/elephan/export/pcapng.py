"""A run as a packet capture, for Wireshark, tshark, tcptrace and other programs that read pcapng.

The capture holds headers only. Times count from 2000-01-01 00:00 UTC, the beginning of the run. Each flow has its own
interface and pair of hosts; the first flow has 10.0.0.1 and 10.128.0.1. The sender connects from port 40000 on to port
5001.

- Sequence numbers are bytes: segment × payload, minus what earlier parts of segments lack, plus one for the SYN.
- The event log leaves handshakes out, so the capture puts one before a flow's first segment, from which programs learn
  the window scale and the segment size. It takes the links' propagation delay at a receiver, but 1 ns at a sender,
  because Wireshark takes a retransmission for a reordered segment if it follows another segment within the handshake's
  duration.
- The handshake asks for ECN if the flow's segments are ECN-capable, and its packets are shown as not marked. With
  accurate feedback (RFC 9768), segments count no marked ACKs; those of a Linux host have the AccECN option too.
- Datagrams are UDP packets with their size on the wire.
- The advertised window is the stack's receive window, or the largest window of TCP if the stack has no receive window.
- The timestamps option is present if the stack's header has room for it (52 bytes). The timestamp is the time of the
  host's clock in the scenario, ms, and an ACK echoes the one from which the engine's sender takes its RTT sample, also
  in recovery.
- The size of a packet is the sum of these headers and its payload, even if the stack's header has another size.

The format (draft-ietf-opsawg-pcapng) is written here column by column, since general packet writers take some ten
microseconds per packet, and a run has millions of packets.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from elephan.export import headers
from elephan.export.events import ack_departures
from elephan.export.headers import Column, Packets
from elephan.runs import Run
from elephan.scenario import ScenarioError
from elephan.scenario.catalog import algorithms
from elephan.scenario.form import FlowSpec, Spec
from elephan.scenario.lookups import has_option_in_segments, wire_bytes
from elephan.scenario.stacks import is_udt
from elephan.version import __version__
from elephan.writing import whole_file

if TYPE_CHECKING:
    import polars as pl

Side = Literal["sender", "receiver"]
SIDES: tuple[Side, ...] = ("sender", "receiver")

EPOCH_S = 946_684_800
CHUNK = 200_000
SNAPLEN = 96
_ETHERNET = 1
_NANOSECONDS = 9
_INBOUND, _OUTBOUND = 1, 2
_KINDS = {"sender": ("sent", "acked"), "receiver": ("received", "ack_sent")}
LARGEST_PACKET = 65_535
# A counter of marked packets that begins (RFC 9768 section 3.2.1).
_NO_MARKS = headers.AE + headers.ECE
# Fields EE0B, ECEB and EE1B before any data arrive.
_NO_OCTETS = (1, 0, 1)


def write_pcapng(run: Run, events: pl.DataFrame, path: str | Path, at: Side = "sender") -> int:
    """Write the packets of all flows as a host would capture them.

    Args:
        run: run of the packets.
        events: its event log, from :func:`elephan.export.events_of`.
        path: the file.
        at: side of the capture: the senders (segments as they leave, ACKs as they arrive) or the receivers.

    Returns:
        Number of packets in the file.

    Raises:
        ScenarioError: a segment is too large for IPv4.
        OSError: the file cannot be written.
    """
    flows = run.form.flows
    for i, flow in enumerate(flows):
        size = flow.stack.payload_bytes
        if size + headers.IP_BYTES + headers.LARGEST_TCP_BYTES > LARGEST_PACKET:
            raise ScenarioError(
                f"a payload of {size} B leaves no room for headers in an IPv4 packet", path=f"flow[{i}]"
            )
    packets = captured(run, events, at)
    with whole_file(path) as place, place.open("wb") as file:
        file.write(_section(f"elephan {__version__}", f"elephan run {run.id}, captured at the {at}s"))
        for flow in flows:
            file.write(_interface(flow.name, f"the {at} of flow {flow.name}, {flow.algorithm}"))
        _write_packets(file, packets, at)
    return len(packets)


def captured(run: Run, events: pl.DataFrame, at: Side) -> Packets:
    """The packets that pass a host, in order of time, handshakes included."""
    import polars as pl

    form = run.form
    table = _with_stamps(events, form)
    connections = [i for i, flow in enumerate(form.flows) if not flow.datagrams]
    opens = (pl.col("kind") == "sent") & (pl.col("segment") == 0) & ~pl.col("retransmit")
    first = table.filter(opens & pl.col("flow_index").is_in(connections))
    capable = set(table.filter(pl.col("ect0") | pl.col("ect1"))["flow_index"])
    # An algorithm with a form of ECN of its own has capable packets from the SYN on, if they are ECT(0).
    own_form = {i for i in set(table.filter("ect0")["flow_index"]) if _needs_marks(form.flows[i])}
    # The counter of marked packets begins at 5, which has this flag; an echo never has it.
    counting = set(table.filter("ae")["flow_index"])
    shakes = [
        _handshake(
            form,
            index,
            stamp_s,
            at=at,
            is_capable=index in own_form,
            ecn=_asked(form.flows[index], index in capable, index in counting, index in own_form),
        )
        for index, stamp_s in first.select("flow_index", "stamp_s").iter_rows()
    ]
    shown = table.filter(pl.col("kind").is_in(_KINDS[at]))
    packets = _packets(shown, form.flows, _Parts(table, form.flows), counting)
    return Packets.merged([*shakes, packets])


def _needs_marks(flow: FlowSpec) -> bool:
    """True if a flow's algorithm has a form of ECN of its own."""
    return bool(algorithms().get(flow.algorithm.partition(":")[0], {}).get("needs_marks"))


def _asked(flow: FlowSpec, is_capable: bool, counts: bool, from_syn: bool) -> tuple[int, int, int]:
    """The flags of ECN in a flow's SYN, SYN-ACK and ACK (RFC 3168 section 6.1.1; RFC 9768, tables 2 and 3)."""
    accurate = headers.AE + headers.CWR + headers.ECE
    if counts:
        arrived = headers.AE if from_syn else headers.CWR
        return accurate, arrived, arrived
    if flow.stack.accurate_ecn:
        broken = accurate if flow.stack.receiver_ecn == "broken" else 0
        return accurate, headers.ECE if is_capable else broken, 0
    return (headers.CWR + headers.ECE, headers.ECE, 0) if is_capable else (0, 0, 0)


def _handshake(
    form: Spec, index: int, start_s: float, *, at: Side, is_capable: bool, ecn: tuple[int, int, int]
) -> Packets:
    """SYN, SYN/ACK and ACK before the first segment, which leaves at ``start_s``."""
    flow = form.flows[index]
    there_s, back_s = _delay_s(form, flow.path), _delay_s(form, flow.reverse_path)
    asked_s, answered_s = start_s - there_s - back_s, start_s - back_s
    index_column = np.full(3, index)
    answer = np.array([False, True, False])
    made_s = np.array([asked_s, answered_s, start_s])
    tsval = _clock_ms(form, index_column, made_s, receiver=answer)
    windows = headers.Windows.of(flow.stack)
    syn = np.array([True, True, False])
    seen_ns = np.rint(np.array([answered_s, answered_s, start_s + there_s]) * 1e9).astype(np.int64)
    if at == "sender":
        seen_ns = np.rint(start_s * 1e9).astype(np.int64) + np.array([-1, 0, 0])
    is_counting = bool(ecn[0] & headers.AE and ecn[2])
    first_octets = (np.array([False, True, True]) & (is_counting and flow.stack.accurate_ecn_option))[:, None]
    return Packets(
        time_ns=seen_ns + EPOCH_S * 10**9,
        flow=index_column,
        ack=answer,
        datagram=np.zeros(3, dtype=bool),
        seq=np.array([0, 0, 1]),
        ackno=np.array([0, 1, 1]),
        bits=np.array([headers.SYN, headers.SYN + headers.ACK, headers.ACK]) + np.array(ecn),
        ecn=np.where(syn & is_capable, headers.ECT0, 0),
        window=np.array([LARGEST_PACKET, min(windows.receiver << windows.scale, LARGEST_PACKET), LARGEST_PACKET]),
        payload=np.zeros(3, dtype=np.int64),
        stamped=np.full(3, headers.has_stamps(flow.stack)),
        tsval=tsval,
        tsecr=np.array([0, tsval[0], tsval[1]]),
        sacks=np.full((3, 3, 2), -1, dtype=np.int64),
        syn_options=syn,
        scale=np.where(answer, windows.scale, 0),
        mss=np.where(syn, flow.stack.payload_bytes + headers.STAMPS_BYTES * headers.has_stamps(flow.stack), 0),
        accecn=np.where(first_octets, np.array(_NO_OCTETS), -1),
    )


def _delay_s(form: Spec, path: Sequence[int]) -> float:
    """Propagation delay of links, s."""
    return sum(form.links[link].delay_ps for link in path) / 1e12


def _with_stamps(events: pl.DataFrame, form: Spec) -> pl.DataFrame:
    """The events at hosts, in the order of the log, with both fields of the timestamps option in ms."""
    import polars as pl

    index = {flow.name: i for i, flow in enumerate(form.flows)}
    kinds = [kind for kinds in _KINDS.values() for kind in kinds]
    table = events.with_row_index("row").filter(pl.col("kind").cast(pl.String).is_in(kinds))
    names = pl.col("flow").cast(pl.String)
    table = table.with_columns(
        names.replace_strict(index, return_dtype=pl.UInt32).alias("flow_index"), pl.col("kind").cast(pl.String)
    )
    left = ack_departures(table).select("row", "left_s")
    table = table.join(left, on="row", how="left", maintain_order="left")
    # The timestamp is the time at which a segment was created or an ACK was sent.
    made = pl.when("ack").then(pl.coalesce("left_s", "time_s")).otherwise(pl.col("stamp_s"))
    table = table.with_columns(made.alias("made_s"))
    flow = table["flow_index"].to_numpy()
    ack = table["ack"].to_numpy()
    made_ms = _clock_ms(form, flow, table["made_s"].to_numpy(), receiver=ack)
    echo_ms = _clock_ms(form, flow, table["stamp_s"].to_numpy(), receiver=np.zeros_like(ack))
    table = table.with_columns(pl.Series("tsval", made_ms), pl.Series("echoed", echo_ms))
    # A segment echoes the last received ACK; the first segments echo the SYN-ACK.
    heard = pl.when(pl.col("kind") == "acked").then(pl.col("tsval")).forward_fill().over("flow_index")
    table = table.with_columns(heard.alias("heard"))
    sent = table.filter(pl.col("kind") == "sent").select(
        "flow_index", "segment", "stamp_s", pl.col("heard").alias("told")
    )
    sent = sent.unique(["flow_index", "segment", "stamp_s"], keep="first")
    table = table.join(sent, on=["flow_index", "segment", "stamp_s"], how="left", maintain_order="left")
    # Before the first ACK: the latest possible timestamp of a SYN-ACK.
    back_s = np.array([_delay_s(form, f.reverse_path) for f in form.flows])
    unheard_ms = _clock_ms(form, flow, table["stamp_s"].to_numpy() - back_s[flow], receiver=np.ones_like(ack))
    told = pl.coalesce("told", pl.Series(unheard_ms))
    return table.with_columns(pl.when("ack").then(pl.col("echoed")).otherwise(told).alias("tsecr"))


def _clock_ms(form: Spec, flow: NDArray[Any], time_s: NDArray[np.float64], receiver: NDArray[Any]) -> NDArray[np.int64]:
    """Times of the hosts' clocks, ms, plus one day, so that no time is negative."""
    shown = np.zeros(len(time_s), dtype=np.int64)
    for index, spec in enumerate(form.flows):
        for is_receiver, clock in ((False, spec.sender_clock), (True, spec.receiver_clock)):
            mine = (flow == index) & (receiver == is_receiver)
            ps = np.rint(time_s[mine] * 1e12).astype(np.int64)
            # The time is split, so that the product stays within 64 bits.
            drift = ps // 10**9 * clock.drift_ppb + ps % 10**9 * clock.drift_ppb // 10**9
            tick = max(1, clock.resolution_ps)
            reading = (ps + drift + clock.offset_ps) // tick * tick
            shown[mine] = reading // 10**9 + headers.CLOCK_BASE_MS
    return shown


def _payload_bytes(flow: FlowSpec) -> int:
    """Payload of a full segment; for a datagram, its size on the wire without the headers of IP and UDP."""
    if not flow.datagrams:
        return flow.stack.payload_bytes
    return max(0, wire_bytes(flow.stack) - headers.IP_BYTES - headers.UDP_BYTES)


class _Parts:
    """The parts of segments in an event log: segments with fewer bytes than the others."""

    def __init__(self, table: pl.DataFrame, flows: Sequence[FlowSpec]) -> None:
        import polars as pl

        self._whole = np.array([wire_bytes(f.stack) for f in flows], dtype=np.int64)
        # The packets of other transports have many sizes.
        self._may_have = np.array([f.stack.tso and f.foreign is None and not is_udt(f.algorithm) for f in flows])
        sent = table.filter(pl.col("kind") == "sent").select("flow_index", "segment", "bytes")
        missing = self.missing(sent)
        parts = sent.with_columns(pl.Series("missing", missing)).filter(pl.col("missing") > 0)
        parts = parts.unique(["flow_index", "segment"]).sort("segment")
        self._of_flow = {
            int(key): (part["segment"].to_numpy(), np.cumsum(part["missing"].to_numpy()))
            for (key,), part in parts.partition_by("flow_index", as_dict=True).items()
        }

    def missing(self, table: pl.DataFrame) -> NDArray[np.int64]:
        """Bytes that the segment of each row lacks."""
        flow = table["flow_index"].to_numpy().astype(np.int64)
        lacking: NDArray[np.int64] = self._whole[flow] - table["bytes"].to_numpy().astype(np.int64)
        return np.where(self._may_have[flow], lacking, 0)

    def before(self, flow: NDArray[Any], segment: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bytes that the parts before each segment lack."""
        lacking = np.zeros(len(segment), dtype=np.int64)
        for index, (parts, sums) in self._of_flow.items():
            mine = flow == index
            lacking[mine] = np.concatenate([[0], sums])[np.searchsorted(parts, segment[mine], side="left")]
        return lacking


def _packets(table: pl.DataFrame, flows: Sequence[FlowSpec], parts: _Parts, counting: set[int]) -> Packets:
    """The rows of a capture as columns of header fields."""
    flow = table["flow_index"].to_numpy().astype(np.int64)
    ack = table["ack"].to_numpy()
    payload = np.array([_payload_bytes(f) for f in flows], dtype=np.int64)[flow]
    datagram = np.array([f.datagrams for f in flows])[flow]
    segment = table["segment"].to_numpy().astype(np.int64)
    sacks = np.full((table.height, 3, 2), -1, dtype=np.int64)
    for block in range(3):
        for edge, name in enumerate(("first", "past")):
            values = table[f"sack_{block + 1}_{name}"].cast(int).fill_null(-1).to_numpy()
            sacks[:, block, edge] = np.where(values < 0, -1, values * payload - parts.before(flow, values) + 1)
    ecn = np.select(
        [table["ce"].to_numpy() & ~ack, table["ect0"].to_numpy(), table["ect1"].to_numpy()],
        [headers.CE, headers.ECT0, headers.ECT1],
        0,
    )
    first = segment * payload - parts.before(flow, segment)
    counts = np.isin(flow, list(counting))
    bits = headers.ACK + headers.ECE * table["ece"].to_numpy()
    bits += headers.CWR * (table["cwr"].to_numpy() & (~ack | counts)) + headers.AE * table["ae"].to_numpy()
    bits = np.where(counts & ~ack, headers.ACK + _NO_MARKS, bits)
    accecn = np.stack([table[name].cast(int).fill_null(-1).to_numpy() for name in ("ee0b", "eceb", "ee1b")], axis=1)
    with_option = np.array([has_option_in_segments(f.stack) for f in flows])[flow]
    accecn = np.where((counts & ~ack & with_option)[:, None], np.array(_NO_OCTETS), accecn)
    spans = [headers.Windows.of(f.stack) for f in flows]
    from_receiver = np.array([w.receiver for w in spans])[flow]
    return Packets(
        time_ns=np.rint(table["time_s"].to_numpy() * 1e9).astype(np.int64) + EPOCH_S * 10**9,
        flow=flow,
        ack=ack,
        datagram=datagram,
        seq=np.where(ack, 1, first + 1),
        ackno=np.where(ack, first + 1, 1),
        bits=bits,
        ecn=ecn,
        window=np.where(ack, from_receiver, LARGEST_PACKET),
        payload=np.where(ack, 0, payload - parts.missing(table)),
        stamped=np.array([headers.has_stamps(f.stack) for f in flows])[flow] & ~datagram,
        tsval=table["tsval"].to_numpy(),
        tsecr=table["tsecr"].to_numpy(),
        sacks=sacks,
        syn_options=np.zeros(table.height, dtype=bool),
        scale=np.zeros(table.height, dtype=np.int64),
        mss=np.zeros(table.height, dtype=np.int64),
        accecn=accecn,
    )


def _write_packets(file: BinaryIO, packets: Packets, at: Side) -> None:
    """Enhanced Packet Blocks (draft-ietf-opsawg-pcapng section 4.3)."""
    for begin in range(0, len(packets), CHUNK):
        file.write(_blocks(packets.rows(slice(begin, begin + CHUNK)), begin, at))


def _blocks(packets: Packets, begin: int, at: Side) -> bytes:
    rows: list[tuple[Column, NDArray[np.uint8]]] = []
    lengths = np.empty(len(packets), dtype=np.int64)
    for which in packets.alike():
        some = packets.rows(which)
        data = headers.encoded(some, begin + which)
        rows.append((which, _framed(some, data, at)))
        lengths[which] = rows[-1][1].shape[1]
    ends = np.cumsum(lengths)
    buffer = np.empty(int(ends[-1]), dtype=np.uint8)
    for which, row in rows:
        buffer[(ends[which] - lengths[which])[:, None] + np.arange(row.shape[1])] = row
    return buffer.tobytes()


def _framed(packets: Packets, data: NDArray[np.uint8], at: Side) -> NDArray[np.uint8]:
    """The blocks of packets of one length, one row for each packet."""
    captured_bytes = data.shape[1]
    padded_words = -(-captured_bytes // 4)
    length = 4 * (7 + padded_words + 4)
    block = np.zeros((len(packets), length // 4), dtype="<u4")
    inbound = packets.ack == (at == "sender")
    head = [6, length, packets.flow, packets.time_ns >> 32, packets.time_ns & 0xFFFF_FFFF, captured_bytes]
    for i, word in enumerate([*head, captured_bytes + packets.payload]):
        block[:, i] = word
    tail = [2 | 4 << 16, np.where(inbound, _INBOUND, _OUTBOUND), 0, length]
    for i, word in enumerate(tail):
        block[:, 7 + padded_words + i] = word
    octets = block.view(np.uint8)
    octets[:, 28 : 28 + captured_bytes] = data
    return octets


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + length + body + length


def _section(program: str, comment: str) -> bytes:
    """Section Header Block: the program that wrote the file, and the run."""
    fixed = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    return _block(0x0A0D0D0A, fixed + _option(1, comment.encode()) + _option(4, program.encode()) + _option(0, b""))


def _interface(name: str, description: str) -> bytes:
    """Interface Description Block: Ethernet, headers only, ns."""
    options = _option(2, name.encode()) + _option(3, description.encode()) + _option(9, bytes([_NANOSECONDS]))
    return _block(1, struct.pack("<HHI", _ETHERNET, 0, SNAPLEN) + options + _option(0, b""))

"""The scenario as a user writes it: one frozen model for each table of the TOML file, with the same field names.

A field's Python value is the quantity as an exact integer (bit/s, ps, bytes); it is written to a file with its unit.
Extra fields are an error, so that a misspelled field is never silently replaced by a default.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, PlainSerializer, model_validator

from elephan.scenario.commands import PROGRAM, parse_command, to_flows
from elephan.scenario.errors import ScenarioError
from elephan.scenario.fields import (
    MOST_FLOWS,
    RECORD_ALL,
    RECORD_QUANTILES,
    BufferSize,
    Data,
    Drift,
    LossModel,
    Name,
    Offset,
    PositiveTime,
    QueueParameters,
    Rate,
    Record,
    Size,
    Switch,
    Text,
    Time,
    Writes,
    chosen,
    counted,
    dump_load,
    dump_rtts,
    dump_transfers,
    finite,
    parse_algorithm,
    parse_environment,
    parse_files,
    parse_frequency,
    parse_hops,
    parse_load,
    parse_parameters,
    parse_rtts,
    parse_seed,
    parse_shape,
    parse_transfers,
    parse_weibull,
    parsed,
)
from elephan.scenario.link_tables import (
    Aggregation,
    AggregationField,
    ChannelField,
    DelayStep,
    DelayStepsField,
    DelayTableField,
    DuplicateField,
    Jitter,
    JitterField,
    RateStep,
    RateStepsField,
    RateTableField,
    RateTraceField,
    Reorder,
    ReorderField,
    Retransmission,
    RetransmissionField,
)
from elephan.scenario.losses import Loss
from elephan.scenario.stack_table import StackChoice, StackSpec
from elephan.scenario.table import Table
from elephan.scenario.units import Buffer
from elephan.scenario.words import listed

ARRIVALS = ("even", "poisson")
TIMES = ("constant", "exponential", "pareto")
RECORDS = ("all", "summary")
SEGMENTS, TRAINS = "segment", "train"
RESOLUTIONS = (SEGMENTS, TRAINS)
HOSTS = "hosts"
PERTURBATIONS = (HOSTS, "none")
SIZES = ("constant", "exponential", "pareto", "lognormal-pareto")
FLOW_BACKENDS = ("sim", "linux", "quic")
"""Backends of single flows: the simulator, and those that run some flows while the engine simulates the others."""

DATAGRAMS = "datagrams"
DATAGRAM_HEADER_BYTES = 28


class Measure(Table):
    """``[measure]``: the measurement window of the metrics."""

    from_: Time | None = Field(
        None, alias="from", description="start; half of the duration by default", examples=["250 s"]
    )
    to: PositiveTime | None = Field(None, description="end; the end of the run by default", examples=["500 s"])


class Events(Table):
    """``[events]``: record the events of each packet; ``events = true`` is short for all of the run."""

    limit: Annotated[int, counted(1, 10**9, "a number of events")] = Field(
        10_000_000,
        description="maximum number of events, about 100 bytes each; a run with more is cancelled",
        examples=[50_000_000],
    )
    from_: Time = Field(0, alias="from", description="start of the log", examples=["10 s"])
    to: PositiveTime | None = Field(
        None, description="end of the log; the end of the run by default", examples=["12 s"]
    )


def parse_events(value: Any) -> Any:
    """``events = true`` as a table, ``events = false`` as none; a table is unchanged.

    Raises:
        ScenarioError: the value is neither a switch nor a table.
    """
    if value is None or isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, dict | Events):
        raise ScenarioError(f"{value!r} is not an event log; write true or a table ({', '.join(field_names(Events))})")
    return value


def _dump_events(events: Events | None) -> bool | dict[str, Any] | None:
    return None if events is None else events.model_dump(by_alias=True, exclude_unset=True, exclude_none=True) or True


EventsChoice = Annotated[Events | None, parsed(parse_events), PlainSerializer(_dump_events)]


_LOSSES = [
    "0.01%",
    {"probability": "10%", "at": "wire"},
    {"probability": "20%", "from": "20 s", "to": "25 s"},
    {"intervals": "outages.csv"},
    {"packets": [100, 250]},
    {"to_bad": "0.1%", "to_good": "20%", "in_bad": "50%"},
    {"good": "2 s", "bad": "20 ms"},
]


class Impaired(Table):
    """Impairments of a link, with the course of its rate and of its delay.

    Pydantic lists the fields of a later base first, so a link's own fields are in a base behind this one where they
    come before these fields, and in the class where they come after them.
    """

    jitter: JitterField = None
    reorder: ReorderField = None
    duplicate: DuplicateField = 0.0
    aggregation: AggregationField = None
    retransmission: RetransmissionField = None
    rate_steps: RateStepsField = ()
    rate_table: RateTableField = None
    rate_trace: RateTraceField = None
    delay_steps: DelayStepsField = ()
    delay_table: DelayTableField = None
    channel: ChannelField = None


class Bottleneck(Table):
    """Fields of the links in the middle of a shorthand."""

    rate: Rate = Field(description="rate of the bottleneck, each way", examples=["622 Mbit/s"])
    rtt: PositiveTime = Field(description="two-way propagation delay from end to end", examples=["100 ms"])
    buffer: BufferSize = Field(
        description='queue limit of the bottleneck, each way: packets, bytes, a fraction of the BDP, or "unlimited"',
        examples=["20% BDP", "1555 packets", "2 MB"],
    )
    queue: Name = Field("droptail", description="queue discipline of the bottleneck", examples=["droptail:ns2"])
    queue_parameters: QueueParameters = Field(
        default_factory=dict,
        description="parameters of the queue discipline that differ from their defaults",
        examples=[{"target": "5 ms"}],
    )
    loss: LossModel = Field(
        default_factory=Loss,
        description=(
            'loss on the bottleneck\'s link to the right, before its queue unless at = "wire": a probability, '
            "intervals, positions in order of arrival, from 1, or bursts; the fields from loss to channel apply to "
            "this link only, except the delays of a channel"
        ),
        examples=_LOSSES,
    )


class Path(Impaired, Bottleneck):
    """Fields that the two shorthands share: the links in the middle, and the access links of each flow."""

    access_rate: Rate | None = Field(
        None,
        description="rate of each flow's two access links; by default ten times the highest rate of the bottleneck: of "
        "rate, steps, table, channel, and the fullest millisecond of a trace",
        examples=["1 Gbit/s"],
    )
    access_delay: Time = Field(0, description="one-way delay of each access link", examples=["1 ms"])


class Dumbbell(Path):
    """``[dumbbell]``: all flows share one bottleneck, and each flow has its own access link on either side."""


class ParkingLot(Path):
    """``[parking_lot]``: several bottlenecks in a row; a flow crosses all bottlenecks, or the bottlenecks that ``hops``
    names."""

    hops: Annotated[int, counted(1, 1000, "a number of hops")] = Field(
        description="bottlenecks in the row; each has an equal share of the delay", examples=[3]
    )


class Named(Table):
    """``path``: a path by its name, in place of links: a model that is shipped, or a recording that was imported;
    ``path = "leo"`` is short for a table with only the name.
    """

    name: Name = Field(description="name of a path, as elephan paths lists them", examples=["leo"])
    direction: Annotated[str, chosen(("down", "up"), "a direction")] = Field(
        "down", description="direction of the path that the data take"
    )
    seed: Annotated[int, parsed(parse_seed)] = Field(1, description="seed of a model's drawn values", examples=[2])
    buffer: BufferSize | None = Field(
        None, description="queue limit for the data, in place of the path's own", examples=["2 BDP"]
    )
    queue: Name | None = Field(None, description="queue discipline for the data", examples=["fq_codel"])
    queue_parameters: QueueParameters = Field(default_factory=dict, description="parameters of that discipline")
    loss: LossModel | None = Field(None, description="loss of the data, as of a link", examples=["0.01%"])


class Wire(Table):
    """Fields of a link between two nodes, up to its queue and its loss."""

    name: Name = Field(
        description="unique name; the opposite direction of a duplex link is called name/reverse", examples=["west"]
    )
    from_: Name = Field(alias="from", description="node at which the link starts", examples=["a"])
    to: Name = Field(description="node at which the link ends", examples=["b"])
    rate: Rate = Field(description="rate of the link", examples=["622 Mbit/s"])
    delay: Time = Field(description="one-way propagation delay", examples=["48 ms"])
    buffer: BufferSize = Field(
        default_factory=lambda: Buffer(unlimited=True),
        description='queue limit: packets, bytes, a fraction of the BDP of the longest path over it, or "unlimited"',
        examples=["20% BDP"],
    )
    queue: Name = Field("droptail", description="queue discipline", examples=["droptail"])
    queue_parameters: QueueParameters = Field(
        default_factory=dict,
        description="parameters of the queue discipline that differ from their defaults",
        examples=[{"mark": "30 kB"}],
    )
    loss: LossModel = Field(
        default_factory=Loss,
        description='loss, before the queue unless at = "wire": a probability, intervals, positions in order of '
        "arrival, from 1, or bursts",
        examples=_LOSSES,
    )


class Link(Impaired, Wire):
    """``[[link]]``: one link of a graph, between two nodes."""

    duplex: Switch = Field(
        True,
        description="a second, opposite link of the same kind; losses, jitter and changes are on the first link only",
    )
    record: Switch | None = Field(
        None, description="record the queue over time; by default if the buffer is limited and data crosses the link"
    )


_RttDistribution = Annotated[str | tuple[tuple[float, int], ...], parsed(parse_rtts), PlainSerializer(dump_rtts)]


class HostClock(Table):
    """A host's clock, which its timestamps show."""

    offset: Offset = Field(0, description="offset from true time at the start", examples=["-3 ms"])
    drift: Drift = Field(0, description="drift of the clock; positive if the clock is fast", examples=["50 ppm"])
    resolution: Time = Field(0, description="length of a tick; 0 s for a clock without ticks", examples=["1 ms"])


class Supply(Table):
    """Fields that applications and datagrams share: the course of a rate."""

    arrivals: Annotated[str, chosen(ARRIVALS, "a way to arrive")] = Field(
        "even", description="arrivals of segments: equally spaced (even) or a Poisson process (poisson)"
    )
    frames: PositiveTime | None = Field(
        None,
        description="interval of frames of random size, as in a video: a variable bit rate",
        examples=["40 ms"],
    )
    frame_shape: Annotated[float, parsed(parse_weibull)] = Field(
        0.8099,
        description=(
            "shape of the Weibull distribution of the frames' sizes: 1 is exponential, and a larger shape is "
            "steadier (the default is that of IEEE 802.11ax's evaluation methodology for video)"
        ),
        examples=[3.0],
    )
    rate_steps: tuple[RateStep, ...] = Field(
        (),
        description='changes of the rate of the frames at given times, as by an encoder; "0 bit/s" during a pause',
        examples=[[{"at": "20 s", "rate": "1 Mbit/s"}]],
    )
    on: PositiveTime | None = Field(
        None, description="mean duration of an on period; always on by default", examples=["500 ms"]
    )
    off: PositiveTime | None = Field(None, description="mean duration of an off period", examples=["500 ms"])
    times: Annotated[str, chosen(TIMES, "a distribution of times")] = Field(
        "exponential", description=f"distribution of the on and off times: {listed(TIMES)}"
    )
    shape: Annotated[float, parsed(parse_shape)] = Field(
        1.5, description="shape of pareto times: above 1; up to 2 the variance is infinite", examples=[1.5]
    )


class Application(Supply):
    """``application``: a flow's data arrives over time; without an application all data is available at the start."""

    rate: Rate | None = Field(
        None, description="rate of user data in on periods; instead of writes", examples=["8 Mbit/s"]
    )
    writes: Writes = Field(
        (),
        description="writes of given sizes at given times, instead of a rate: a list, or a .csv or .parquet file with "
        "the columns time and size; each write has whole segments of its own",
        examples=[[{"at": "1 s", "size": "100 kB"}, {"at": "2 s", "size": "20 kB"}], "requests.csv"],
    )


class Datagrams(Supply):
    """``datagrams``: a flow of datagrams instead of TCP, without acknowledgments, retransmissions or congestion
    control."""

    rate: Rate = Field(description="rate in on periods, on the wire", examples=["8 Mbit/s"])
    size: Size = Field(1000, description="size of a datagram on the wire, with 28 B of headers", examples=["1000 B"])


class Program(Table):
    """``[[program]]``: a server and a client of your own on the hosts of the path, in a Linux guest in virtual time.

    In the commands ``{address}`` is the server's address, and ``{port}``, ``{bytes}``, ``{seed}`` and ``{dir}`` (a
    folder that the program may write) are replaced too.
    """

    server: Annotated[tuple[str, ...], parsed(parse_command)] | None = Field(
        None, description="command of the server: its words, or a text that is split as a shell splits it",
        examples=[["iperf3", "-s", "-p", "{port}"]],
    )  # fmt: skip
    server_of: Name | None = Field(
        None, description="name of another program, whose server this client uses", examples=["program-1"]
    )
    client: Annotated[tuple[str, ...], parsed(parse_command)] = Field(
        description="command of the client; its end is the end of the program",
        examples=[["iperf3", "-c", "{address}", "-p", "{port}", "-n", "{bytes}"]],
    )
    environment: Annotated[dict[str, str], parsed(parse_environment)] = Field(
        default_factory=dict, description="environment variables of both", examples=[{"RUST_LOG": "info"}]
    )
    port: Annotated[int, counted(1, 65_535, "a port")] = Field(
        4433, description="port of the server; the client starts when something listens there", examples=[5201]
    )
    ready: Text | None = Field(
        None, description="text in the server's output that shows that it is ready, in place of its port",
        examples=["listening"],
    )  # fmt: skip
    bytes: Size = Field(10**7, description="the amount of data that {bytes} stands for", examples=["10 MB"])
    sender: Annotated[str, chosen(("server", "client"), "an end")] = Field(
        "server", description="the end at the beginning of the path, whose data take the path's own direction"
    )
    files: Annotated[tuple[str, ...], parsed(parse_files)] = Field(
        (), description="files and folders of the host that both may read, besides installed programs and the folders "
        "of files that the commands name",
        examples=[["./certificates"]],
    )  # fmt: skip


class Flow(Table):
    """``[[flow]]``: one TCP connection that sends as much as its window allows or its application supplies."""

    name: Name | None = Field(None, description="unique; algorithm-position by default", examples=["first"])
    algorithm: Annotated[str, parsed(parse_algorithm)] = Field(
        description="congestion control, with a preset after a colon; or a user-defined algorithm: a file and a class",
        examples=["cubic", "cubic:2005", "./mine.py:Mine"],
    )
    parameters: Annotated[dict[str, Any], parsed(parse_parameters)] = Field(
        default_factory=dict,
        description="parameters that differ from the algorithm's preset; user-defined algorithms get them as keywords",
        examples=[{"beta": 0.7}],
    )
    count: Annotated[int, counted(1, MOST_FLOWS, "a number of flows")] = Field(
        1, description="number of such flows: a group, named name-1, name-2 and so on", examples=[1000]
    )
    start: Time = Field(0, description="time of the flow's start (start_jitter is added)", examples=["50 s"])
    start_spread: Time = Field(
        0, description="a group: the starts of its flows are equally spaced over this time",
        examples=["5 s"],
    )  # fmt: skip
    stop: PositiveTime | None = Field(None, description="time of the flow's end; never by default", examples=["300 s"])
    application: Application | None = Field(
        None, description="an application that limits the flow: a rate, on and off times, or writes",
        examples=[{"rate": "8 Mbit/s"}],
    )  # fmt: skip
    datagrams: Datagrams | None = Field(
        None, description="datagrams at a rate, with on and off times, or as a Poisson process; no congestion control",
        examples=[{"rate": "5 Mbit/s", "arrivals": "poisson"}],
    )  # fmt: skip
    program: Program | None = Field(None, description="a program instead of TCP; [[program]] is short for it")
    size: Data | None = Field(None, description="amount of data; unlimited by default", examples=["10 MB"])
    backend: Annotated[str, chosen(FLOW_BACKENDS, "a backend of single flows")] | None = Field(
        None,
        description="linux: a real Linux kernel has both ends (--on linux); quic: quinn has both ends (--on quic); "
        "sim: the flow is simulated on the same path. If a flow has linux or quic, flows without this field are "
        "simulated",
        examples=["linux", "quic"],
    )
    stack: StackChoice | None = Field(None, description="its stack; omitted fields come from the scenario's")
    rtt: PositiveTime | None = Field(
        None, description=(
            "dumbbell: two-way propagation delay of the flow; the difference from the dumbbell's rtt is added to the "
            "flow's access links"
        ),
        examples=["200 ms"],
    )  # fmt: skip
    rtts: _RttDistribution | None = Field(
        None,
        description="dumbbell: round-trip times of a group's flows: aikat, a file with a column rtt_ms, or quantiles",
        examples=["aikat", [[0, "20 ms"], [0.5, "60 ms"], [1, "200 ms"]]],
    )  # fmt: skip
    sender_clock: HostClock | None = Field(
        None, description="clock of the flow's sender, for one-way delays: offset, drift, resolution",
        examples=[{"offset": "3 ms", "resolution": "1 ms"}],
    )  # fmt: skip
    receiver_clock: HostClock | None = Field(
        None, description="clock of the flow's receiver", examples=[{"drift": "50 ppm"}]
    )
    base_rtt_error: Offset = Field(
        0, description="error of the base RTT that the flow's algorithm assumes; may be negative",
        examples=["20 ms"],
    )  # fmt: skip
    direction: Annotated[str, chosen(("right", "left"), "a direction")] = Field(
        "right", description="dumbbell, parking_lot: direction of its data; left is opposite to the default"
    )
    hops: Annotated[tuple[int, int], parsed(parse_hops)] | None = Field(
        None,
        description="parking_lot: the hop that the flow crosses, or the first and the last hop; all by default",
        examples=[2],
    )
    path: tuple[Name, ...] | None = Field(
        None, description="graph: the links that its data crosses", examples=[["west", "east"]]
    )
    reverse_path: tuple[Name, ...] | None = Field(
        None, description="graph: the links that its ACKs cross; the opposite directions of the path by default"
    )

    @model_validator(mode="before")
    @classmethod
    def _name_datagrams(cls, table: Any) -> Any:
        """Name datagrams and programs in place of an algorithm, since they have none of the engine's."""
        if isinstance(table, dict) and table.get("datagrams") is not None:
            return {"algorithm": DATAGRAMS} | table
        if isinstance(table, dict) and table.get(PROGRAM) is not None:
            return {"algorithm": PROGRAM, "backend": "linux"} | table
        return table


class Sizes(Table):
    """``sizes``: the distribution of the sizes of a source's transfers."""

    distribution: Annotated[str, chosen(SIZES, "a distribution of sizes")] = Field(
        "lognormal-pareto", description=f"{listed(SIZES)}", examples=["pareto"]
    )
    mean: Size = Field(25_000, description="mean of a constant, exponential or pareto distribution", examples=["25 kB"])
    shape: Annotated[float, parsed(parse_shape)] = Field(
        1.2, description="shape of pareto: above 1; up to 2 the variance is infinite", examples=[1.2]
    )
    mu: Annotated[float, parsed(finite(0, 40))] = Field(
        9.357, description="lognormal-pareto: mean of the body's logarithm, of bytes (Barford 1998)"
    )
    sigma: Annotated[float, parsed(finite(1e-6, 20))] = Field(
        1.318, description="lognormal-pareto: standard deviation of the body's logarithm (Barford 1998)"
    )
    body_share: Annotated[float, parsed(finite(0, 1))] = Field(
        0.93, description="fraction of the transfers in the body; the rest is in the tail (unverified)"
    )
    tail: Size = Field(133_000, description="size at which the body ends and the tail begins (Barford 1998)")
    tail_shape: Annotated[float, parsed(finite(0.01, 100))] = Field(1.1, description="shape of the tail (Barford 1998)")
    most: Size = Field(10**8, description="largest size of the tail (an assumption, so that the variance is finite)")


class Traffic(Table):
    """``[[traffic]]``: a source of TCP transfers that come and go."""

    name: Name | None = Field(None, description="unique; traffic-position by default", examples=["web"])
    algorithm: Annotated[str, parsed(parse_algorithm)] = Field(
        description="congestion control of its transfers, as of a flow", examples=["cubic"]
    )
    parameters: Annotated[dict[str, Any], parsed(parse_parameters)] = Field(
        default_factory=dict, description="parameters of the algorithm that differ from its preset"
    )
    load: Annotated[float | int, parsed(parse_load), PlainSerializer(dump_load)] | None = Field(
        None,
        description="Poisson arrivals with this load on the wire: a fraction of the path's slowest link, or a rate",
        examples=["60%", "40 Mbit/s"],
    )
    per_second: Annotated[float, parsed(parse_frequency)] | None = Field(
        None, description="Poisson arrivals with this number of transfers per second", examples=[50.0]
    )
    users: Annotated[int, counted(1, 10**6, "a number of users")] | None = Field(
        None, description="number of users, each of whom makes one transfer after another", examples=[20]
    )
    think: PositiveTime | None = Field(
        None, description="mean time from the end of a user's transfer to the next", examples=["1 s"]
    )
    think_times: Annotated[str, chosen(TIMES, "a distribution of times")] = Field(
        "exponential", description=f"distribution of the think times: {listed(TIMES)}"
    )
    think_shape: Annotated[float, parsed(parse_shape)] = Field(
        1.5, description="shape of pareto times: above 1", examples=[1.5]
    )
    file: Text | None = Field(
        None, description="transfers from a CSV or Parquet file: start_s, size_bytes, optionally rtt_ms",
        examples=["transfers.csv"],
    )  # fmt: skip
    transfers: Annotated[
        tuple[tuple[int, int, int | None], ...],
        parsed(parse_transfers), PlainSerializer(dump_transfers),
    ] | None = Field(
        None, description="list of transfers: start, size, optionally the round-trip time",
        examples=[[["0 s", "10 MB"], ["2 s", "1 MB", "80 ms"]]],
    )  # fmt: skip
    sizes: Sizes = Field(default_factory=Sizes, description="distribution of their sizes")
    rtts: _RttDistribution | None = Field(
        None,
        description="their round-trip times: aikat, a file with a column rtt_ms, or quantiles; the path's by default",
        examples=["aikat", [[0, "20 ms"], [0.5, "60 ms"], [1, "200 ms"]]],
    )  # fmt: skip
    record: Annotated[str, chosen(RECORDS, "a record of transfers")] = Field(
        "all",
        description=(
            "record of the transfers: all (a row for each transfer) or summary (sums, and distributions whose size "
            "is constant)"
        ),
        examples=["summary"],
    )
    start: Time = Field(0, description="earliest start of a transfer", examples=["10 s"])
    stop: PositiveTime | None = Field(None, description="latest start of a transfer; the end of the run by default")
    stack: StackChoice | None = Field(None, description="its stack; omitted fields come from the scenario's")
    direction: Annotated[str, chosen(("right", "left"), "a direction")] = Field(
        "right", description="dumbbell, parking_lot: direction of its data"
    )
    hops: Annotated[tuple[int, int], parsed(parse_hops)] | None = Field(
        None, description="parking_lot: the hops that the transfers cross; all by default", examples=[2]
    )
    path: tuple[Name, ...] | None = Field(None, description="graph: the links that its data cross")
    reverse_path: tuple[Name, ...] | None = Field(None, description="graph: the links that its ACKs cross")


class ScenarioTable(Table):
    """The whole file."""

    title: Text | None = Field(None, description="title in one line; not part of the hash", examples=["a late flow"])
    seed: Annotated[int, parsed(parse_seed)] = Field(
        1, description="seed of the random streams; not part of the hash", examples=[1]
    )
    duration: PositiveTime = Field(description="simulated time", examples=["500 s"])
    sample_period: PositiveTime = Field(
        100 * 10**9, description="sampling interval of windows and queues", examples=["100 ms"]
    )
    resolution: Annotated[str, chosen(RESOLUTIONS, "a resolution")] = Field(
        SEGMENTS,
        description=(
            "segment, or train: on a long fat path the simulator handles consecutive segments of a flow together, as "
            "long as no queue, loss or window is close to a decision"
        ),
        examples=[TRAINS],
    )
    perturb: Annotated[str, chosen(PERTURBATIONS, "a perturbation")] | None = Field(
        None,
        description=(
            "random delays that depend on the seed. hosts: starts within 4 times the longest RTT, and packets up to "
            "0.2 ms or 1 % of the shortest RTT late; none: no delays; a given start_jitter or send_jitter has "
            "priority"
        ),
        examples=[HOSTS],
    )
    start_jitter: Time = Field(
        10 * 10**9,
        description="maximum of a random delay of each flow's start, so that seeds differ",
        examples=["10 ms"],
    )
    send_jitter: Time = Field(
        0,
        description="maximum of a random delay of each data packet at its sender; the order stays",
        examples=["10 us"],
    )
    stack: StackChoice = Field(
        default_factory=lambda: StackSpec(base="linux"), description="the TCP stack of every flow", examples=["ns2"]
    )
    measure: Measure = Field(
        default_factory=Measure, description="measurement window of the run, to which the metrics apply"
    )
    events: EventsChoice = Field(None, description="record the events of each packet")
    internals: Switch = Field(
        False,
        description="record the internal variables of each flow's algorithm, with the windows",
        examples=[True],
    )
    record: Record = Field(
        RECORD_ALL,
        description=f"flows whose samples are recorded: all, a number of each group, or none with {RECORD_QUANTILES}",
        examples=[100, RECORD_QUANTILES],
    )
    path: Named | None = Field(None, description="a path by its name; the scenario then has its links")
    dumbbell_: Dumbbell | None = Field(None, alias="dumbbell", description="one shared bottleneck")
    parking_lot: ParkingLot | None = Field(None, description="several bottlenecks in a row")
    link: tuple[Link, ...] = Field((), description="the links of a graph, instead of a shorthand")
    flow: tuple[Flow, ...] = Field((), description="the TCP connections")
    traffic: tuple[Traffic, ...] = Field((), description="transfers that come and go")

    @model_validator(mode="before")
    @classmethod
    def _programs(cls, tables: Any) -> Any:
        """Read ``[[program]]`` as flows."""
        return to_flows(tables)


TABLES: dict[str, type[Table]] = {
    "stack": StackSpec,
    "measure": Measure,
    "events": Events,
    "path": Named,
    "dumbbell": Dumbbell,
    "parking_lot": ParkingLot,
    "link": Link,
    "jitter": Jitter,
    "reorder": Reorder,
    "aggregation": Aggregation,
    "retransmission": Retransmission,
    "rate_steps": RateStep,
    "delay_steps": DelayStep,
    "flow": Flow,
    "application": Application,
    "datagrams": Datagrams,
    "program": Program,
    "traffic": Traffic,
    "sizes": Sizes,
}


def field_names(table: type[Table]) -> list[str]:
    """The names of a table's fields."""
    return [field.alias or name for name, field in table.model_fields.items()]

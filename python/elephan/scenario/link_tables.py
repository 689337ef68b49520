"""Tables of a link as a user writes them: delays, losses of order, transmitters, and rates and delays over time."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from elephan.scenario.fields import (
    ChannelChoice,
    DelayTable,
    Offset,
    PositiveTime,
    RateTable,
    Samples,
    Share,
    StepRate,
    Switch,
    Time,
    Trace,
    counted,
)
from elephan.scenario.table import Table


class Jitter(Table):
    """``jitter``: a random delay of each packet, one of four distributions; no packet overtakes another."""

    uniform: PositiveTime | None = Field(
        None, description="uniform distribution from 0 to this value", examples=["2 ms"]
    )
    normal: Time | None = Field(
        None,
        description="normal distribution with this mean and ``deviation``; negative values are drawn again",
        examples=["5 ms"],
    )
    deviation: PositiveTime | None = Field(
        None, description="standard deviation of the normal distribution", examples=["1 ms"]
    )
    exponential: PositiveTime | None = Field(
        None, description="exponential distribution with this mean", examples=["1 ms"]
    )
    samples: Samples | None = Field(
        None,
        description="measured delays with equal probabilities: a list, or a file with one delay per line",
        examples=[["0.2 ms", "0.5 ms", "7 ms"]],
    )


class Reorder(Table):
    """``reorder``: a fraction of the packets is delayed, and may be overtaken."""

    share: Share = Field(description="fraction of the packets that are delayed", examples=["1%"])
    delay: PositiveTime = Field(description="additional delay", examples=["5 ms"])


class Aggregation(Table):
    """``aggregation``: a transmitter gains access to its medium, then sends the waiting packets back to back
    (A-MPDU)."""

    packets: Annotated[int, counted(1, 65_535, "a number of packets")] = Field(
        description="maximum number of packets in a burst", examples=[32]
    )
    access: Time = Field(
        0,
        description="constant time for each burst: spaces between frames, backoff, preamble, block ACK",
        examples=["150 us"],
    )
    contention: Time = Field(
        0,
        description="mean of an additional, exponentially distributed time: contention for the medium",
        examples=["2 ms"],
    )


class Retransmission(Table):
    """``retransmission``: a link layer that retransmits lost packets (ARQ), so that losses become delay."""

    loss: Share = Field(description="probability that a transmission fails", examples=["10%"])
    tries: Annotated[int, counted(1, 1000, "a number of transmissions")] = Field(
        7, description="maximum number of transmissions of a packet, after which the packet is lost", examples=[4]
    )
    delay: Time = Field(
        0,
        description="additional delay for each retransmission of a packet, besides its transmission",
        examples=["8 ms"],
    )
    in_order: Switch = Field(
        True, description="true: later packets wait for a retransmitted packet; false: later packets overtake it"
    )


class RateStep(Table):
    """``rate_steps``: a rate from a time on; a packet in transmission continues at the new rate."""

    at: Time = Field(description="time of the change", examples=["20 s"])
    rate: StepRate = Field(
        description='rate from this time on; "0 bit/s" while the link is down', examples=["50 Mbit/s"]
    )


class DelayStep(Table):
    """``delay_steps``: a change of route at a time; packets on a shorter route overtake packets on a longer route."""

    at: Time = Field(description="time of the change, for packets sent at this time or later", examples=["20 s"])
    change: Offset = Field(description="difference to the link's delay; negative if shorter", examples=["-5 ms"])


# Fields that Path and Link have in common.
JitterField = Annotated[
    Jitter | None, Field(description="random delay of each packet; the order stays", examples=[{"exponential": "1 ms"}])
]
ReorderField = Annotated[
    Reorder | None,
    Field(description="delayed packets, which may be overtaken", examples=[{"share": "1%", "delay": "5 ms"}]),
]
DuplicateField = Annotated[Share, Field(description="fraction of the packets that arrive twice", examples=["0.1%"])]
AggregationField = Annotated[
    Aggregation | None,
    Field(description="bursts of a transmitter that must gain access", examples=[{"packets": 32, "access": "150 us"}]),
]
RetransmissionField = Annotated[
    Retransmission | None,
    Field(description="retransmission by the link layer", examples=[{"loss": "10%", "delay": "8 ms"}]),
]
RateStepsField = Annotated[
    tuple[RateStep, ...],
    Field(description="changes of the rate at given times", examples=[[{"at": "20 s", "rate": "50 Mbit/s"}]]),
]
RateTableField = Annotated[
    RateTable,
    Field(
        description="rate over time: a .csv or .parquet file with the columns time and rate, or a list of rows; with "
        "repeat the table begins again, otherwise the last value holds; rate then only determines buffers",
        examples=["cellular.csv", [["0 s", "20 Mbit/s"], ["1 s", "5 Mbit/s"]], {"file": "lte.csv", "repeat": True}],
    ),
]
DelayTableField = Annotated[
    DelayTable,
    Field(
        description="one-way delay over time, instead of the link's own: a .csv or .parquet file with the columns time "
        "and delay, or a list of rows; packets stay in order unless overtake = true",
        examples=["pings.csv", [["0 s", "20 ms"], ["1 s", "35 ms"]], {"file": "pings.csv", "repeat": "60 s"}],
    ),
]
RateTraceField = Annotated[
    Trace | None,
    Field(
        description="instead of rate, times at which a packet of 1500 B may leave, repeated: a file of "
        "Mahimahi's, or a list in ms; rate then only determines buffers",
        examples=["downlink.trace", [2, 5, 5, 9]],
    ),
]
ChannelField = Annotated[
    ChannelChoice,
    Field(
        description="a radio channel instead of steps, tables and rate_trace: a model (leo, lte, sprout or "
        "wifi), its own seed and its parameters; rate then only determines buffers",
        examples=[{"model": "leo", "seed": 1}, {"model": "lte", "snr": "15 dB"}],
    ),
]
DelayStepsField = Annotated[
    tuple[DelayStep, ...],
    Field(description="changes of route", examples=[[{"at": "20 s", "change": "15 ms"}]]),
]

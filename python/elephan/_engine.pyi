"""The compiled engine's interface for Python."""

import math
from collections.abc import Callable, Mapping
from typing import Any, final

class Cancelled(Exception): ...  # noqa: N818

class CallbackError(Exception):
    """A user's algorithm raised; ``args`` are the flow's index, the callback and the simulated time in s."""

class EngineDefectError(Exception):
    """A defect of the engine; ``args`` are the failed check and the line of the source."""

class ParameterError(ValueError):
    """A parameter is wrong; ``args`` are its name, or ``None`` if several contradict each other, and the message."""

class MemoryLimitError(Exception):
    """A run needs more memory than its limit."""

def run(
    spec_json: str,
    progress: Callable[[float], bool] | None = None,
    algorithms: Mapping[int, object] | None = None,
    memory: int = ...,
) -> dict[str, Any]: ...
def memory(spec_json: str) -> int: ...
def quantiles() -> list[float]: ...
def spread(values: list[float]) -> list[float]: ...
def check(spec_json: str) -> None: ...
def check_parameters(algorithm: str, parameters: dict[str, Any]) -> None: ...
def queue_form(kind: str, given: dict[str, Any], rate_bps: int, packet_bytes: int) -> str: ...
def counts_jiffies(algorithm: str, parameters: dict[str, Any]) -> bool: ...
def send_buffers(spec_json: str) -> list[int]: ...
def stream_key(seed: int, name: str) -> int: ...
def timer_phase_ns(seed: int, hz: int) -> int: ...
def algorithms() -> str: ...
def queues() -> str: ...
def schema() -> str: ...
def version() -> str: ...

@final
class Start:
    """Start of a connection."""

    def __init__(
        self,
        *,
        now: float = 0.0,
        initial_window: float = 10.0,
        initial_ssthresh: float = math.inf,
        segment_bytes: float = 1448.0,
        hz: float = 1000.0,
        seed: int = 0,
        rtt: float | None = None,
    ) -> None: ...
    @property
    def now(self) -> float: ...
    @property
    def initial_window(self) -> float: ...
    @property
    def initial_ssthresh(self) -> float: ...
    @property
    def segment_bytes(self) -> float: ...
    @property
    def hz(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def rtt(self) -> float | None: ...

@final
class Ack:
    """An ACK that acknowledges new data, cumulatively or by SACK."""

    def __init__(
        self,
        *,
        now: float = 0.0,
        acked: float = 1.0,
        rtt: float | None = None,
        owd: float | None = None,
        min_rtt: float = math.inf,
        srtt: float = 0.0,
        delivery: Delivery | None = None,
        in_flight: float = 0.0,
        window_at_send: float = 0.0,
        round_start: bool = False,
        in_recovery: bool = False,
        window_limited: bool = True,
        marked: float = 0.0,
    ) -> None: ...
    @property
    def now(self) -> float: ...
    @property
    def acked(self) -> float: ...
    @property
    def rtt(self) -> float | None: ...
    @property
    def owd(self) -> float | None: ...
    @property
    def min_rtt(self) -> float: ...
    @property
    def srtt(self) -> float: ...
    @property
    def delivery(self) -> Delivery | None: ...
    @property
    def in_flight(self) -> float: ...
    @property
    def window_at_send(self) -> float: ...
    @property
    def round_start(self) -> bool: ...
    @property
    def in_recovery(self) -> bool: ...
    @property
    def window_limited(self) -> bool: ...
    @property
    def marked(self) -> float: ...
    @property
    def may_grow(self) -> bool: ...
    @property
    def sent_at(self) -> float: ...

@final
class Signal:
    """A congestion signal or a timeout."""

    def __init__(
        self,
        *,
        now: float = 0.0,
        in_flight: float = 0.0,
        cause: str = "loss",
        srtt: float = 0.0,
        min_rtt: float = math.inf,
        repeated: bool = False,
        kept: float = 0.0,
    ) -> None: ...
    @property
    def now(self) -> float: ...
    @property
    def in_flight(self) -> float: ...
    @property
    def cause(self) -> str: ...
    @property
    def srtt(self) -> float: ...
    @property
    def min_rtt(self) -> float: ...
    @property
    def repeated(self) -> bool: ...
    @property
    def kept(self) -> float: ...

@final
class Sent:
    """A segment put on the wire."""

    def __init__(self, *, now: float = 0.0, in_flight: float = 1.0, retransmission: bool = False) -> None: ...
    @property
    def now(self) -> float: ...
    @property
    def in_flight(self) -> float: ...
    @property
    def retransmission(self) -> bool: ...

@final
class Lost:
    """A segment declared lost."""

    def __init__(
        self,
        *,
        now: float = 0.0,
        sent_at: float = 0.0,
        delivered: float = 0.0,
        prior_delivered: float = 0.0,
        app_limited: bool = False,
        tx_in_flight: float = 0.0,
        lost: float = 0.0,
    ) -> None: ...
    @property
    def now(self) -> float: ...
    @property
    def sent_at(self) -> float: ...
    @property
    def delivered(self) -> float: ...
    @property
    def prior_delivered(self) -> float: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def tx_in_flight(self) -> float: ...
    @property
    def lost(self) -> float: ...

@final
class Delivery:
    """A delivery-rate sample."""

    def __init__(
        self,
        *,
        rate: float | None = None,
        interval: float = 0.0,
        delivered: float = 0.0,
        prior_delivered: float = 0.0,
        app_limited: bool = False,
        tx_in_flight: float = 0.0,
        lost: float = 0.0,
        departs_in: float = 0.0,
    ) -> None: ...
    @property
    def rate(self) -> float | None: ...
    @property
    def interval(self) -> float: ...
    @property
    def delivered(self) -> float: ...
    @property
    def prior_delivered(self) -> float: ...
    @property
    def app_limited(self) -> bool: ...
    @property
    def tx_in_flight(self) -> float: ...
    @property
    def lost(self) -> float: ...
    @property
    def departs_in(self) -> float: ...

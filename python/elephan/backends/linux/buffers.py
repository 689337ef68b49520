"""Sizes of the buffers and windows of a guest's sockets."""

from __future__ import annotations

import json
import math
from functools import cached_property

from elephan.scenario import catalog
from elephan.scenario.document import write
from elephan.scenario.form import FlowSpec, Spec

READ_BYTES = 64 << 10
"""Low-water mark of receivers, bytes: a receiver reads when this amount has arrived."""

LEAST_QUICK_ACKS = 16
"""Segments that Linux acknowledges one by one at the start of any connection (TCP_MAX_QUICKACKS)."""

BUFFER_MAX_BYTES = 1 << 30
"""Largest value of the socket options for the buffer sizes, bytes."""

_BUFFER_MIN_BYTES = 1 << 20
_LEAST_WINDOW = 20
# Overhead of a packet in the kernel's memory, bytes: the window is the fraction payload / (payload + overhead) of the
# buffer.
_PACKET_OVERHEAD_BYTES = 856
_UNSCALED_BITS = 15


class Buffers:
    """Buffers and windows of the flows of a form, by the flows' positions."""

    def __init__(self, form: Spec) -> None:
        self._form = form

    @cached_property
    def _in_linuxs_accounting(self) -> list[int]:
        sizes: list[int] = catalog.engine().send_buffers(json.dumps(write(self._form)))
        return sizes

    def send_buffer_bytes(self, i: int) -> int:
        """Value of the socket option for the send buffer, bytes. Linux doubles this value, and expects data to fill
        half of the doubled size."""
        return min(BUFFER_MAX_BYTES, -(-self._in_linuxs_accounting[i] // 2))

    def receive_buffer_bytes(self, i: int) -> int:
        """Value of the socket option for the receive buffer, bytes. Data that wait in the buffer must not limit the
        receive window: the window's growth would pause, and each pause adds quick ACKs. After a loss, a whole window
        may wait. The first receive window gets half of the buffer."""
        flow, bound_bytes = self._form.flows[i], self.window_bound_bytes(i)
        wanted = max(
            int((2 * bound_bytes + READ_BYTES) / _learned(flow)), self.first_window(i) * flow.stack.payload_bytes
        )
        return min(BUFFER_MAX_BYTES, wanted + _BUFFER_MIN_BYTES)

    def window_bound_bytes(self, i: int) -> int:
        """Upper bound of the receive window, bytes: the bound in the flow's stack, or the first window plus its
        growth."""
        stack = self._form.flows[i].stack
        return (self._last_window(i) if stack.receive_window is None else stack.receive_window) * stack.payload_bytes

    def first_window(self, i: int) -> int:
        """First receive window, segments: the final receive window minus the growth that ``quick_acks`` allows."""
        return self._last_window(i) - _growth_segments(self._form.flows[i])

    def _last_window(self, i: int) -> int:
        """Receive window of a flow whose stack has no bound, segments.

        The receiver announces a multiple of the window's unit. A window that is also a whole number of segments is
        announced exactly, and the sender never fills the rest of the window with a part of a segment.
        """
        flow = self._form.flows[i]
        payload_bytes = flow.stack.payload_bytes
        fits = int(self.send_buffer_bytes(i) * _learned(flow) / payload_bytes)
        segments = max(_LEAST_WINDOW + _growth_segments(flow), fits)
        while (window_bytes := segments * payload_bytes) % (unit := _window_unit(window_bytes)):
            segments += -segments % (unit // math.gcd(unit, payload_bytes))
        return segments


def _window_unit(window_bytes: int) -> int:
    """Unit in which a receiver announces windows of up to ``window_bytes``, bytes (RFC 7323 section 2.2;
    tcp_select_initial_window)."""
    return 1 << max(0, window_bytes.bit_length() - 1 - _UNSCALED_BITS)


def _growth_segments(flow: FlowSpec) -> int:
    """Growth of the receive window during the quick ACKs at the start, segments: two for each received segment
    (tcp_grow_window)."""
    return 2 * max(0, flow.stack.quick_acks - LEAST_QUICK_ACKS)


def _learned(flow: FlowSpec) -> float:
    """The receive window as a fraction of the socket option's value, after the kernel has measured the packets'
    overhead (tcp_update_scaling_ratio)."""
    return 2 * flow.stack.payload_bytes / (flow.stack.payload_bytes + _PACKET_OVERHEAD_BYTES)

"""Sizes of the buffers and windows of a guest's sockets."""

from __future__ import annotations

import json
from functools import cached_property

from elephan.scenario import catalog
from elephan.scenario.document import write
from elephan.scenario.form import FlowSpec, Spec, StackSpec
from elephan.scenario.stacks import LINUX

READ_BYTES = 64 << 10
"""Low-water mark of receivers, bytes: a receiver reads when this amount has arrived."""

LEAST_QUICK_ACKS = 16
"""Segments that Linux acknowledges one by one at the start of any connection (TCP_MAX_QUICKACKS)."""

BUFFER_MAX_BYTES = 1 << 30
"""Largest value of the socket options for the buffer sizes, bytes."""

_BUFFER_MIN_BYTES = 1 << 20
# Overhead of a packet in the kernel's memory, bytes: the window is the fraction payload / (payload + overhead) of the
# buffer.
_PACKET_OVERHEAD_BYTES = 856
# The same for packets that are read at once (crates/sim/src/endpoint/receiver/window.rs).
_VETH_OVERHEAD_BYTES = 840


class Buffers:
    """Buffers and windows of the flows of a form, by the flows' positions."""

    def __init__(self, form: Spec) -> None:
        self._form = form

    @cached_property
    def _send_buffers(self) -> list[int]:
        """Send buffers in Linux's accounting, bytes."""
        sizes: list[int] = catalog.engine().send_buffers(json.dumps(write(self._form)))
        return sizes

    @cached_property
    def _windows(self) -> list[tuple[int, int]]:
        """Receive windows before and after their growth, segments, of flows whose stack has no bound."""
        windows: list[tuple[int, int]] = catalog.engine().receive_windows(json.dumps(write(self._form)))
        return windows

    def send_buffer_bytes(self, i: int) -> int:
        """Value of the socket option for the send buffer, bytes. Linux doubles this value, and expects data to fill
        half of the doubled size."""
        return min(BUFFER_MAX_BYTES, -(-self._send_buffers[i] // 2))

    def receive_buffer_bytes(self, i: int) -> int:
        """Value of the socket option for the receive buffer, bytes. Data that wait in the buffer must not limit the
        receive window: the window's growth would pause, and each pause adds quick ACKs. After a loss, a whole window
        may wait. The first receive window gets half of the buffer.

        For a program that reads at once, Linux adapts the buffer itself (0), unless the program states a window.
        """
        flow, bound_bytes = self._form.flows[i], self.window_bound_bytes(i)
        if flow.stack.reads_at_once:
            stated = flow.stack.receive_window
            return 0 if stated is None else -(-stated * (flow.stack.payload_bytes + _VETH_OVERHEAD_BYTES) // 2)
        first_bytes = self.first_window(i) * _mss_bytes(flow.stack)
        wanted = max(int((2 * bound_bytes + READ_BYTES) / _learned(flow)), first_bytes)
        return min(BUFFER_MAX_BYTES, wanted + _BUFFER_MIN_BYTES)

    def window_bound_bytes(self, i: int) -> int:
        """Upper bound of the receive window, bytes: the bound in the flow's stack, or the first window plus its
        growth."""
        stack = self._form.flows[i].stack
        if stack.receive_window is None:
            first, last = self._windows[i]
            # Half of the segments add twice the size with the AccECN option, the others without it (tcp_grow_window).
            return first * _mss_bytes(stack) + (last - first) * (_mss_bytes(stack) + stack.payload_bytes) // 2
        return stack.receive_window * stack.payload_bytes

    def first_window(self, i: int) -> int:
        """First receive window, segments: the final receive window minus the growth that ``quick_acks`` allows."""
        return self._windows[i][0]

    def stated_first_window(self, i: int) -> int | None:
        """First receive window for the receiver's route; ``None`` if Linux chooses it, for a program that reads at
        once."""
        return None if self._form.flows[i].stack.reads_at_once else self.first_window(i)


def _mss_bytes(stack: StackSpec) -> int:
    """Segment size in whose multiples Linux counts its first window, bytes (advmss), with the AccECN option."""
    return stack.payload_bytes + stack.header_bytes - LINUX.header_bytes


def _learned(flow: FlowSpec) -> float:
    """The receive window as a fraction of the socket option's value, after the kernel has measured the packets'
    overhead (tcp_update_scaling_ratio)."""
    return 2 * flow.stack.payload_bytes / (flow.stack.payload_bytes + _PACKET_OVERHEAD_BYTES)

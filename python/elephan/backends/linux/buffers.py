"""Sizes of the buffers and windows of a guest's sockets."""

from __future__ import annotations

import math

from elephan.scenario.document import changed_fields
from elephan.scenario.form import FlowSpec, LinkSpec, Spec
from elephan.scenario.lookups import queue_switch, wire_bytes

READ_BYTES = 64 << 10
"""Low-water mark of receivers, bytes: a receiver reads when this amount has arrived."""

LEAST_QUICK_ACKS = 16
"""Segments that Linux acknowledges one by one at the start of any connection (TCP_MAX_QUICKACKS)."""

BUFFER_MAX_BYTES = 1 << 30
"""Largest value of the socket options for the buffer sizes, bytes."""

_BUFFER_MIN_BYTES = 1 << 20
_UNBOUNDED_QUEUE_BYTES = 16 << 20
_SPARE_S = 0.05
_LEAST_WINDOW = 20
# Overhead of a packet in the kernel's memory, bytes: the window is the fraction payload / (payload + overhead) of the
# buffer.
_PACKET_OVERHEAD_BYTES = 856
_UNSCALED_BITS = 15
_PS_PER_S = 10**12


def send_buffer_bytes(form: Spec, flow: FlowSpec) -> int:
    """Value of the socket options for the buffer sizes, bytes. Linux doubles this value, and expects data to fill half
    of the doubled size."""
    if flow.stack.send_buffer_bytes is not None:
        return min(BUFFER_MAX_BYTES, -(-flow.stack.send_buffer_bytes // 2))
    growth_bytes = _growth_segments(flow) * flow.stack.payload_bytes
    wanted = max(2 * _window_bytes(form, flow), int(growth_bytes / _learned(flow)))
    return min(BUFFER_MAX_BYTES, wanted + _BUFFER_MIN_BYTES)


def receive_buffer_bytes(form: Spec, flow: FlowSpec) -> int:
    """Value of the socket option for the receive buffer, bytes. Data that wait in the buffer must not limit the receive
    window: the window's growth would pause, and each pause adds quick ACKs. After a loss, a whole window may wait. The
    first receive window gets half of the buffer."""
    waiting = window_bound_bytes(form, flow) + READ_BYTES
    wanted = max(
        int((window_bound_bytes(form, flow) + waiting) / _learned(flow)),
        first_window(form, flow) * flow.stack.payload_bytes,
    )
    return min(BUFFER_MAX_BYTES, wanted + _BUFFER_MIN_BYTES)


def window_bound_bytes(form: Spec, flow: FlowSpec) -> int:
    """Upper bound of the receive window, bytes: the bound in the flow's stack, or the first window plus its growth."""
    bound = flow.stack.receive_window
    return (_last_window(form, flow) if bound is None else bound) * flow.stack.payload_bytes


def first_window(form: Spec, flow: FlowSpec) -> int:
    """First receive window, segments: the final receive window minus the growth that ``quick_acks`` allows."""
    return _last_window(form, flow) - _growth_segments(flow)


def _last_window(form: Spec, flow: FlowSpec) -> int:
    """Receive window of a flow whose stack has no bound, segments.

    The receiver announces a multiple of the window's unit. A window that is also a whole number of segments is
    announced exactly, and the sender never fills the rest of the window with a part of a segment.
    """
    payload_bytes = flow.stack.payload_bytes
    fits = int(send_buffer_bytes(form, flow) * _learned(flow) / payload_bytes)
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


def _window_bytes(form: Spec, flow: FlowSpec) -> int:
    """Bytes that fit on the path of a flow and into its queues, with a margin for the receiver's reads."""
    fastest = {i: _fastest_bps(form.links[i]) for i in flow.path}
    slowest_bps = min(fastest.values())
    waiting = 0
    for i in flow.path:
        room = _room_bytes(form.links[i], wire_bytes(flow.stack))
        if room is not None:
            waiting += room
        elif fastest[i] == slowest_bps:
            waiting += _UNBOUNDED_QUEUE_BYTES
    longest_s = sum(_longest_ps(form.links[i]) for i in (*flow.path, *flow.reverse_path)) / _PS_PER_S
    return int(slowest_bps / 8 * (longest_s + _SPARE_S)) + waiting


def _room_bytes(link: LinkSpec, wire: int) -> int | None:
    """Capacity of a link's queue, bytes, including the packet in transmission; ``None`` if unlimited or unknown."""
    if link.impairments is not None and changed_fields(link.impairments) - {"rate_steps", "delay_steps"}:
        return None
    queue = link.queue
    limits = [] if queue.limit_packets is None else [queue.limit_packets]
    limits += [] if queue.limit_bytes is None else [queue.limit_bytes // wire]
    in_service = 0 if queue.kind == "droptail" and queue_switch(queue, "count_in_service") else 1
    return max(1, min(limits) + in_service) * wire if limits else None


def _fastest_bps(link: LinkSpec) -> int:
    steps = () if link.impairments is None else link.impairments.rate_steps
    return max([link.rate_bps, *(step.rate_bps for step in steps)])


def _longest_ps(link: LinkSpec) -> int:
    steps = () if link.impairments is None else link.impairments.delay_steps
    return max([link.delay_ps, *(step.delay_ps for step in steps)])

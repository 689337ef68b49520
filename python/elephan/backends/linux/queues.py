"""The kernel's own queue disciplines: options of each, in the kernel's units, for a link of a scenario."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from elephan.scenario import ScenarioError, catalog
from elephan.scenario.form import LinkSpec, QueueSpec
from elephan.scenario.lookups import queue_number, queue_switch

Options = list[tuple[int, list[int]]]

UNLIMITED_PACKETS = 1 << 30
"""Limit of an unlimited queue, packets."""

_UINT32_MAX = 2**32 - 1
_PS_PER_US = 10**6
_UNLIMITED_BYTES = 1 << 31
# The kernel's units: steps of PIE's and DualPI2's weights, and the number for the drop probability 1 of RED.
_PIE_STEPS = 16
_DUALPI2_STEPS = 256
_RED_CERTAIN = 2**32 - 1
_RED_ECN, _RED_HARDDROP, _RED_ADAPTIVE = 1, 2, 4
# The table for RED's average after an idle time: number of entries, and the largest number of halvings in an entry.
_RED_TABLE, _RED_MOST_HALVINGS = 256, 31
_RED_BITS = 31


def document(link: LinkSpec, limit: int | None, packet_bytes: int, where: str) -> dict[str, Any]:
    """A device's queue in a guest's plan: the kernel's queue discipline, which is served at the link's rate.

    Args:
        link: the link.
        limit: largest number of queued packets; ``None`` if unlimited.
        packet_bytes: size of the largest packet.
        where: field of the scenario with the discipline.

    Raises:
        ScenarioError: the kernel does not support a value.
    """
    kind = link.queue.kind.partition(":")[2]
    options, marks_at = _KINDS[kind]
    packets = UNLIMITED_PACKETS if limit is None else limit
    try:
        made = options(link, packets, packet_bytes)
    except _RangeError as error:
        raise ScenarioError(f"{link.queue.kind}: {error}", path=where) from None
    # RED measures idle times, and notices them only if its packets are in a queue of its own (crates/guest,
    # netlink.rs).
    idle_limit = packets if kind == "red" else None
    return {
        "rate_bps": link.rate_bps,
        "kind": kind,
        "options": made,
        "marks_at": marks_at,
        "idle_limit": idle_limit,
    }


def is_kernels(queue: QueueSpec) -> bool:
    """True if a queue is one of the kernel's own disciplines."""
    return catalog.backend_of_queue(queue.kind) is not None


class _RangeError(Exception):
    """A value that the kernel does not support; the message names it."""


def _word(kind: int, value: float) -> tuple[int, list[int]]:
    if not 0 <= value <= _UINT32_MAX:
        raise _RangeError(f"{value:g} is more than the kernel counts to")
    return kind, list(struct.pack("=I", int(value)))


def _us(queue: QueueSpec, name: str) -> int:
    """A duration in whole microseconds, the kernel's unit."""
    ps = int(queue_number(queue, f"{name}_ps"))
    if ps % _PS_PER_US:
        raise _RangeError(f"{name} has to be whole microseconds, and is {ps} ps")
    return ps // _PS_PER_US


def _codel(link: LinkSpec, packets: int, _packet_bytes: int) -> Options:
    queue = link.queue
    return [
        _word(1, _us(queue, "target")), _word(2, packets), _word(3, _us(queue, "interval")),
        _word(4, queue_switch(queue, "ecn")),
    ]  # fmt: skip


def _fq_codel(link: LinkSpec, packets: int, packet_bytes: int) -> Options:
    queue = link.queue
    return [
        *_codel(link, packets, packet_bytes), _word(5, queue_number(queue, "queues")),
        _word(6, queue_number(queue, "quantum")), _word(8, queue_number(queue, "drop_batch")),
        # The kernel's own limit of 32 MB of memory is raised, so that the scenario's limit applies.
        _word(9, _UNLIMITED_BYTES),
    ]  # fmt: skip


def _pie(link: LinkSpec, packets: int, _packet_bytes: int) -> Options:
    queue = link.queue
    return [
        _word(1, _us(queue, "target")), _word(2, packets), _word(3, _us(queue, "update")),
        *(_word(kind, _PIE_STEPS * queue_number(queue, name)) for kind, name in ((4, "alpha"), (5, "beta"))),
        _word(6, queue_switch(queue, "ecn")),
    ]  # fmt: skip


def _dualpi2(link: LinkSpec, packets: int, _packet_bytes: int) -> Options:
    queue = link.queue
    scaled = ((5, "alpha"), (6, "beta"))
    bytes_of = ((10, "coupling"), (13, "classic_percent"), (14, "ecn_mask"))
    return [
        _word(1, packets), _word(2, _UINT32_MAX), _word(3, _us(queue, "target")), _word(4, _us(queue, "update")),
        *(_word(kind, _DUALPI2_STEPS * queue_number(queue, name)) for kind, name in scaled),
        _word(8, _us(queue, "step")),
        *((kind, [int(queue_number(queue, name))]) for kind, name in bytes_of),
    ]  # fmt: skip


def _fq(link: LinkSpec, packets: int, _packet_bytes: int) -> Options:
    rows = ((2, "flow_limit"), (3, "quantum"), (4, "initial_quantum"))
    return [_word(1, packets), *(_word(kind, queue_number(link.queue, name)) for kind, name in rows)]


def _red(link: LinkSpec, packets: int, packet_bytes: int) -> Options:
    """Options of RED. The kernel's RED counts bytes, so thresholds and limit are multiplied by the size of a full
    packet."""
    queue = link.queue
    low, high = (round(queue_number(queue, name) * packet_bytes) for name in ("min_packets", "max_packets"))
    shift = round(-math.log2(queue_number(queue, "weight")))
    if high.bit_length() + shift > _RED_BITS:
        raise _RangeError(
            f"max = {high} bytes with a weight of 1/{1 << shift} is beyond the kernel's 32 bits; "
            "lower max, or raise weight"
        )
    limit = min(_UNLIMITED_BYTES, packets * packet_bytes)
    flags = sum(
        bit for bit, name in ((_RED_ECN, "ecn"), (_RED_HARDDROP, "harddrop"), (_RED_ADAPTIVE, "adaptive"))
        if queue_switch(queue, name)
    )  # fmt: skip
    scale, table = _idle_table(shift, 8e6 * packet_bytes / link.rate_bps)
    parameters = struct.pack("=IIIBBBB", limit, low, high, shift, 0, scale, flags)
    max_p = max(1, round(queue_number(queue, "max_p") * _RED_CERTAIN))
    return [(1, list(parameters)), (2, table), _word(3, max_p)]


def _idle_table(shift: int, packet_us: float) -> tuple[int, list[int]]:
    """Scale and entries of the kernel's table for the decay of RED's average after idle times, in halvings.

    Entry ``i`` is for an idle time of ``i << scale`` µs. During an idle time, RED treats the queue as if one packet
    arrived at an empty queue every ``packet_us``; each such packet multiplies the average queue length by ``1 -
    weight``. The kernel interpolates within the first entry only, and halves the average after any longer time, so the
    step of the table is about one half-life.
    """
    half_life_us = -packet_us / math.log2(1 - 2.0**-shift)
    scale = min(_RED_BITS, max(0, math.floor(math.log2(half_life_us))))
    return scale, [min(_RED_MOST_HALVINGS, int((i << scale) / half_life_us)) for i in range(_RED_TABLE)]


_KINDS: dict[str, tuple[Callable[[LinkSpec, int, int], Options], int]] = {
    "codel": (_codel, 24),
    "fq_codel": (_fq_codel, 12),
    "pie": (_pie, 36),
    "dualpi2": (_dualpi2, 24),
    "red": (_red, 12),
    "fq": (_fq, 80),
}
"""For each discipline, by its name in the kernel: its options, and the offset of the counter of marks in its
statistics, bytes."""

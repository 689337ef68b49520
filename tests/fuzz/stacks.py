"""Random stacks of hosts."""

from __future__ import annotations

from tests.fuzz.draws import MS, US, Draws, S
from tests.fuzz.scale import CONTRADICTS, Scale, Tables

from elephan.scenario.stack_table import StackSpec
from elephan.scenario.stacks import DETECTIONS, HOST_RULES, HOSTS, RECOVERIES, STACKS


def stack_of(draw: Draws, scale: Scale) -> Tables:
    whole: Tables = {
        "base": draw.choice(tuple(STACKS)),
        "payload": draw.size(1, 9000) if draw.chance(0.3) else draw.size(500, 9000),
        "header": draw.size(1, 120),
        "ack_size": draw.size(20, 120),
        "sack_block": draw.size(1, 16),
        "sack_option": draw.size(1, 8),
        "initial_window": draw.amount(1, 200, octets=9000),
        "initial_ssthresh": draw.limit(1, 1000, octets=9000),
        "receive_window": draw.limit(1, 10_000, octets=9000),
        "ack_every": draw.choice((1, 1, 2, 2, 3, 8, 64)),
        "delayed_ack": draw.time(100 * US, 500 * MS, zero=0.05),
        "quick_acks": draw.choice((0, 1, 16, 1000, 10**6)),
        "min_rto": draw.time(MS, S),
        "max_rto": draw.time(10 * S, 200 * S),
        "initial_rto": draw.time(10 * MS, 4 * S),
        "rto_granularity": draw.time(10 * US, 300 * MS, zero=0.2),
        "host": draw.choice(HOSTS),
        "without": draw.subset(HOST_RULES),
        "detection": draw.choice(DETECTIONS),
        "recovery": draw.choice(RECOVERIES),
        "limited_transmit": draw.chance(0.5),
        "max_burst": draw.choice(("unlimited", 1, 2, 3, 10, 10**6)),
        "dup_threshold": draw.choice((1, 2, 3, 4, 100, 10**6)),
        "any_ack_restarts_timer": draw.chance(0.5),
        "time_one_segment": draw.chance(0.5),
        "undo": draw.chance(0.5),
        "handshake": draw.chance(0.5),
        "fast_open": draw.chance(0.3),
        "tso": draw.chance(0.5),
        "reads_at_once": draw.chance(0.3),
        "ecn": draw.chance(0.6),
        "pacing": draw.chance(0.6),
        "host_ack": draw.time(1, 100 * US, zero=0.2),
        "host_scan": draw.time(1, US, zero=0.2),
        "hide_losses": draw.chance(0.1),
        "hide_marks": draw.chance(0.1),
        "accurate_ecn": draw.chance(0.3),
        "accurate_ecn_option": draw.chance(0.5),
        "receiver_ecn": draw.choice(("accurate", "accurate", "classic", "none", "broken")),
        "divide_acks": draw.choice((1, 2, 10, 1000)),
        "count_acks": draw.chance(0.2),
    }
    # A field that is new in the schema has its examples, until it is drawn above.
    for name, field in StackSpec.model_fields.items():
        if name not in whole and field.examples:
            whole[name] = draw.choice(field.examples)
    kept = draw.choice((0.06, 0.15, 0.5))
    stack = {name: value for name, value in whole.items() if draw.chance(kept)}
    return stack if draw.chance(CONTRADICTS) else _consistent(draw, stack)


def _consistent(draw: Draws, stack: Tables) -> Tables:
    """The stack without fields that contradict each other."""
    base = STACKS[stack.get("base", "linux")]
    if stack.get("host", base.host) != "linux":
        stack.pop("without", None)
    if stack.get("ack_every", base.ack_every) > 1 and not base.delayed_ack_ps and "delayed_ack" not in stack:
        stack["delayed_ack"] = draw.time(100 * US, 500 * MS)
    if stack.get("fast_open"):
        stack["handshake"] = True
    if stack.get("accurate_ecn_option") or stack.get("receiver_ecn"):
        stack["accurate_ecn"] = True
    if stack.get("accurate_ecn_option") and stack.get("host", base.host) == "linux":
        stack.pop("header", None)
    if stack.get("receiver_ecn"):
        stack["handshake"] = True
    return stack

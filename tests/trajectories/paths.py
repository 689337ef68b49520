"""Eight small paths that together reach every queue discipline, every kind of flow and every impairment.

A path is a scenario as a dict, without its stack and with ``ALGORITHM`` where an algorithm's name goes.
"""

from __future__ import annotations

from typing import Any

ALGORITHM = "<algorithm>"
Form = dict[str, Any]


def _link(name: str, start: str, end: str, rate: str, **more: Any) -> Form:
    return {"name": name, "from": start, "to": end, "rate": rate, "delay": "5 ms"} | more


PATHS: dict[str, Form] = {
    # Slow start, its overshoot and several loss events; a second flow starts late.
    "long-fat": {
        "duration": "12 s",
        "dumbbell": {"rate": "50 Mbit/s", "rtt": "100 ms", "buffer": "20% BDP"},
        "flow": [{"algorithm": ALGORITHM}, {"algorithm": ALGORITHM, "start": "3 s"}],
    },
    # A deep buffer, RTTs of one to four, and a rival.
    "deep": {
        "duration": "15 s",
        "dumbbell": {"rate": "12 Mbit/s", "rtt": "40 ms", "buffer": "4 BDP"},
        "flow": [
            {"algorithm": ALGORITHM},
            {"algorithm": ALGORITHM, "rtt": "160 ms"},
            {"algorithm": "cubic", "start": "5 s", "stop": "10 s"},
        ],
    },
    # Loss without congestion: random, in bursts, and a link that is down for a second.
    "lossy": {
        "duration": "12 s",
        "dumbbell": {
            "rate": "20 Mbit/s",
            "rtt": "60 ms",
            "buffer": "1 BDP",
            "loss": {"to_bad": "0.05%", "to_good": "30%", "in_bad": "50%"},
            "rate_steps": [{"at": "6 s", "rate": "0 bit/s"}, {"at": "7 s", "rate": "20 Mbit/s"}],
        },
        "flow": [{"algorithm": ALGORITHM}],
    },
    # Packets out of order, twice, and with a jitter; a route that changes; clocks that differ; a slow host.
    "jittery": {
        "duration": "10 s",
        "stack": {"host_ack": "5 us", "host_scan": "50 ns", "hz": 250},
        "dumbbell": {
            "rate": "20 Mbit/s",
            "rtt": "50 ms",
            "buffer": "100 packets",
            "loss": "0.02%",
            "jitter": {"exponential": "0.3 ms"},
            "reorder": {"share": "0.2%", "delay": "6 ms"},
            "duplicate": "0.1%",
            "delay_steps": [{"at": "5 s", "change": "15 ms"}],
        },
        "flow": [
            {
                "algorithm": ALGORITHM,
                "sender_clock": {"offset": "3 ms", "resolution": "1 ms"},
                "receiver_clock": {"drift": "50 ppm"},
                "base_rtt_error": "2 ms",
            }
        ],
    },
    # Marks instead of drops, paced segments, and the jitter of sending.
    "marked": {
        "stack": {"ecn": True, "pacing": True},
        "duration": "10 s",
        "send_jitter": "20 us",
        "dumbbell": {"rate": "20 Mbit/s", "rtt": "50 ms", "buffer": "2 BDP", "queue": "codel"},
        "flow": [{"algorithm": ALGORITHM}, {"algorithm": ALGORITHM, "rtt": "80 ms"}],
    },
    # Three queue disciplines in a row, reverse data, ACKs that meet it, datagrams.
    "parking": {
        "duration": "8 s",
        "link": [
            _link("west", "a", "b", "20 Mbit/s", buffer="60 packets", queue="red"),
            _link("middle", "b", "c", "16 Mbit/s", buffer="80 packets", queue="fq_codel"),
            _link("east", "c", "d", "18 Mbit/s", buffer="70 packets", queue="pie"),
        ],
        "flow": [
            {"algorithm": ALGORITHM, "path": ["west", "middle", "east"]},
            {"algorithm": ALGORITHM, "path": ["middle"], "start": "1 s"},
            {"algorithm": "reno", "path": ["east/reverse", "middle/reverse"], "start": "2 s"},
            {"datagrams": {"rate": "3 Mbit/s", "arrivals": "poisson"}, "path": ["west"]},
        ],
    },
    # Applications that pause, and an event log.
    "sparse": {
        "duration": "12 s",
        "events": {"from": "2 s", "to": "2.5 s"},
        "dumbbell": {"rate": "15 Mbit/s", "rtt": "70 ms", "buffer": "50 packets", "queue": "dualpi2"},
        "flow": [
            {"algorithm": ALGORITHM, "application": {"rate": "12 Mbit/s", "on": "1 s", "off": "500 ms"}},
            {"algorithm": ALGORITHM, "size": "2 MB", "start": "4 s"},
        ],
    },
    # Transfers that come and go, and a long-lived flow; a small receive window.
    "transfers": {
        "duration": "10 s",
        "dumbbell": {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "60 kB"},
        "flow": [{"algorithm": ALGORITHM, "stack": {"receive_window": "120 kB"}}],
        "traffic": [
            {"algorithm": ALGORITHM, "load": "30%", "sizes": {"distribution": "pareto", "mean": "30 kB"}},
            {"algorithm": "reno", "users": 3, "think": "500 ms", "rtts": "aikat"},
        ],
    },
}


def filled(form: Any, algorithm: str, router: str | None) -> Any:
    """A path with an algorithm in it, and with the queue discipline that the algorithm needs in its routers."""
    if isinstance(form, dict):
        made = {key: filled(value, algorithm, router) for key, value in form.items()}
        if router is not None and "buffer" in made:
            made["queue"] = router
        return made
    if isinstance(form, list):
        return [filled(value, algorithm, router) for value in form]
    return algorithm if form == ALGORITHM else form

"""Writes the page docs/reference/aqm.md and its pictures from the measurements of benches/aqm.py."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update(
    {"svg.hashsalt": "elephan", "svg.fonttype": "none", "path.simplify_threshold": 0.3, "font.size": 9,
     "font.sans-serif": ["DejaVu Sans"], "axes.spines.top": False, "axes.spines.right": False}
)  # fmt: skip
import matplotlib.pyplot as plt  # noqa: E402

Row = dict[str, Any]
OURS, OTHER, LIGHT = "#1f5fa8", "#c03a2b", "#999999"
NAMES = {"reno": "Reno", "cubic": "CUBIC", "prague": "Prague"}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def numbers(values: Iterable[float], form: str) -> str:
    return ", ".join(format(value, form) for value in values)


def red_rows(ours: Row, ns2: Row) -> Iterable[Sequence[str]]:
    for kind in ("adaptive", "plain"):
        for algorithm in ("reno", "cubic"):
            own = ours[f"{algorithm} {kind}"]
            sides = [("Elephan", own)]
            sides += [
                (f"ns-2, `wait_` {word}", ns2[f"{algorithm} {kind} wait {wait}"])
                for wait, word in ((0, "off"), (1, "on"))
            ]
            for who, row in sides:
                shares = numbers((100 * x for x in row["drop_share"]), ".1f")
                yield (kind, NAMES[algorithm], who, numbers(row["queue"], ".2f"), shares)


def codel_rows(ours: Row) -> Iterable[Sequence[str]]:
    for algorithm in ("cubic", "reno"):
        for load in ("web", "no web", "10 packets"):
            for queue, name in (("codel", "CoDel"), ("droptail", "tail drop")):
                row = ours[f"{queue} {algorithm} {load}"]
                packets, time = row["per_packet_ms"], row["over_time_ms"]
                what = "10 packets, web" if load == "10 packets" else f"830 packets, {load}"
                yield (
                    NAMES[algorithm], what, name, numbers(packets[:2], ".2f"), format(time[2], ".1f"),
                    format(time[3], ".0f"), format(row["carried_mb"], ".0f"),
                )  # fmt: skip


def static_rows(ours: Row) -> Iterable[Sequence[str]]:
    for key in [key for key in ours if key.startswith("cubic")]:
        _, rate, flows = key.split()
        cells = [f"{rate} Mbit/s", flows]
        for algorithm in ("cubic", "reno"):
            row = ours[f"{algorithm} {rate} {flows}"]
            cells += [f"{row['median_ms']:.2f}", f"{100 * row['utilization']:.1f}"]
        yield cells


def pie_rows(ours: Row) -> Iterable[Sequence[str]]:
    for name, row in ours.items():
        algorithm, load = name.split(" ", 1)
        spread = " to ".join(f"{x:.1f}" for x in row["spread_ms"])
        yield (NAMES[algorithm], load, f"{row['mean_ms']:.2f}", spread, f"{100 * row['utilization']:.1f}")


def dual_rows(ours: Row, published: Row) -> Iterable[Sequence[str]]:
    def cells(who: str, classic: str, flows: Row) -> Sequence[str]:
        row = [who, NAMES[classic]]
        for flow in ("prague", classic):
            row += [f"{flows[flow]['goodput_mbps']:.1f}", f"{flows[flow]['rtt_mean_ms']:.2f}"]
        return [*row, f"{flows[classic]['retransmits']:.0f}"]

    yield cells("published", "cubic", published)
    for classic in ("cubic", "reno"):
        yield cells("Elephan", classic, ours[classic])


def picture(folder: Path, name: str, figure: Any) -> None:
    """Writes a figure as SVG, with coordinates to a tenth of a point."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    short = re.sub(r"(\d+\.\d)\d+", r"\1", text.getvalue())
    (folder / f"aqm-{name}.svg").write_text(re.sub(r"\n +", "\n", short), encoding="utf-8")


def panels(count: int = 2) -> Any:
    return plt.subplots(1, count, figsize=(9, 3), layout="constrained")


def times(curve: Sequence[float], step_s: float = 0.5) -> list[float]:
    return [(i + 0.5) * step_s for i in range(len(curve))]


def draw(measured: Row, ns2: Row, folder: Path) -> None:
    """The four pictures."""
    figure, axes = panels()
    for axis, kind in zip(axes, ("plain", "adaptive"), strict=True):
        sides = (
            (ns2[f"reno {kind} wait 1"], LIGHT, "ns-2, wait_ on"),
            (ns2[f"reno {kind} wait 0"], OTHER, "ns-2, wait_ off"),
        )
        for row, color, label in (*sides, (measured["red"][f"reno {kind}"], OURS, "Elephan")):
            axis.plot(times(row["curve"]), row["curve"], color=color, linewidth=0.9, label=label)
        axis.axhspan(9, 11, color="#dddddd", zorder=0)
        axis.set(title=f"{kind} RED, Reno", xlabel="time, s", ylabel="packets waiting", xlim=(0, 50), ylim=(0, 26))
    axes[1].legend(frameon=False, fontsize=8)
    picture(folder, "red", figure)

    figure, (left, right) = panels()
    for queue, color, label in (("droptail", OTHER, "tail drop"), ("codel", OURS, "CoDel")):
        row = measured["codel"][f"{queue} cubic web"]
        left.plot(
            times(row["curve_ms"]), [max(x, 0.01) for x in row["curve_ms"]], color=color, linewidth=0.8, label=label
        )
        right.plot(times(row["curve_mb"]), row["curve_mb"], color=color, linewidth=0.9, label=label)
    left.set(xlabel="time, s", ylabel="delay in the queue, ms", yscale="log", xlim=(0, 300))
    right.set(xlabel="time, s", ylabel="carried, MB", xlim=(0, 300))
    right.legend(frameon=False, fontsize=8)
    picture(folder, "codel", figure)

    loads = [name.split(" ", 1)[1] for name in measured["pie"] if name.startswith("reno")]
    figure, axes = panels(3)
    for axis, load in zip(axes, loads, strict=True):
        for algorithm, color in (("cubic", OTHER), ("reno", OURS)):
            curve = measured["pie"][f"{algorithm} {load}"]["curve_ms"]
            axis.plot(times(curve), curve, color=color, linewidth=0.7, label=NAMES[algorithm])
        axis.axhline(20, color=LIGHT, linewidth=0.8, linestyle=":")
        axis.set(title=load, xlabel="time, s", xlim=(0, 100), ylim=(0, 80))
        axis.title.set_fontsize(8)
    axes[0].set_ylabel("delay in the queue, ms")
    axes[0].legend(frameon=False, fontsize=8)
    picture(folder, "pie", figure)

    figure, axes = panels()
    for axis, classic in zip(axes, ("cubic", "reno"), strict=True):
        for flow, color in (("prague", OURS), (classic, OTHER)):
            curve = measured["dualpi2"][classic][flow]["curve_mbps"]
            axis.plot(times(curve), curve, color=color, linewidth=0.9, label=NAMES[flow])
        axis.set(xlabel="time, s", ylabel="goodput, Mbit/s", xlim=(0, 40), ylim=(0, 105))
        axis.legend(frameon=False, fontsize=8)
    for rate, color in ((65.8, OURS), (29.7, OTHER)):
        axes[0].axhline(rate, color=color, linewidth=0.8, linestyle=":")
    picture(folder, "dualpi2", figure)


def write(measured: Row, ns2: Row, published: Row, folder: Path) -> None:
    """Writes the page and its pictures into a folder."""
    draw(measured, ns2, folder)
    (folder / "aqm.md").write_text(page(measured, ns2, published), encoding="utf-8")


def page(measured: Row, ns2: Row, published: Row) -> str:
    """The whole page."""
    return TEXT.format(
        red=table(["RED", "algorithm", "", "packets waiting", "dropped, %"], red_rows(measured["red"], ns2)),
        codel=table(
            ["algorithm", "buffer, load", "queue", "50 %, 75 % of packets, ms", "95 % of the time, ms", "most, ms",
             "carried, MB"],
            codel_rows(measured["codel"]),
        ),
        static=table(
            ["rate", "flows", "CUBIC: median, ms", "used, %", "Reno: median, ms", "used, %"],
            static_rows(measured["static"]),
        ),
        pie=table(["algorithm", "load", "mean delay, ms", "5 % to 95 %, ms", "used, %"], pie_rows(measured["pie"])),
        dualpi2=table(
            ["", "classic flow", "Prague, Mbit/s", "its RTT, ms", "classic, Mbit/s", "its RTT, ms", "resent"],
            dual_rows(measured["dualpi2"], published),
        ),
    )  # fmt: skip


TEXT = """<!-- written by benches/aqm.py from tests/reference/aqm: change the program, not this page -->

# Queue disciplines beside their papers

This page repeats one published figure for each of four disciplines, with Reno and with CUBIC. `benches/aqm.py` has the
scenarios and writes this page; `tests/reference/aqm` has the measured values and their tests.

## RED

Floyd, Gummadi and Shenker, *Adaptive RED* (2001), show a link with two long flows; twenty other flows join them at 25
s. The scenario is in ns-2's own test suite, by the first author (`red2` with fixed parameters, `red2Adapt` with
adaptive ones). The link has 1.5 Mbit/s, a buffer of 25 packets, and thresholds of 5 and 15 packets. The target range of
adaptive RED is the middle fifth between the thresholds: an average queue of 9 to 11 packets. Each row has the means
over 10–25 s, 30–40 s and 40–50 s, of five seeds.

{red}
![packets waiting over time](aqm-red.svg)

**Reproduced.** Adaptive RED keeps the queue in its range before the other flows join, and again within the last ten
seconds, with Reno and with CUBIC. With fixed parameters the queue more than doubles.

**ns-2 with its defaults differs, because of `wait_`.** ns-2's RED lets 1/p packets pass after a drop before it may drop
again; the RED of the 1993 paper (Figure 2) and Elephan's RED do not. So ns-2 drops fewer packets at the same average
queue length, and the average has to be larger. With `wait_` off, the queues of ns-2 and Elephan agree within 10 %. With
CUBIC, ns-2 drops up to a tenth less, since its CUBIC has another sender (TCP/Linux).

## CoDel

Nichols and Jacobson, *Controlling Queue Delay* (ACM Queue 10(5), 2012), Figure 7, have a link of 100 Mbit/s whose
rate steps to 10, 1, 50, 1 and 100 Mbit/s every 50 s. The link has a buffer of one BDP (830 packets), four long flows
and five web connections a second. For CoDel, the paper gives a median delay of 2.7 ms, at most 5 ms for 75 % of the
packets, and less than 90 ms for 95 % of the simulated time. For tail drop, it gives delays of up to 10 s. The
throughput with CoDel is nearly that with tail drop. With a buffer of ten packets, the throughput is about 75 % lower.

{codel}
![delay and data carried over time](aqm-codel.svg)

**Reproduced:** tail drop has delays of 10 s. CoDel's delay is a hundredth of tail drop's and has spikes where the rate
falls, and CoDel carries nearly the same amount of data. With CUBIC, CoDel's 75 % quantile is between 3 and 4 ms.

**Differs: the delay for 95 % of the time, because of the web traffic.** The paper does not give the sizes of its web
transfers. Elephan's transfers (the defaults of `[[traffic]]`, 5 a second) are more than 1 Mbit/s can carry, so there is
a standing queue in the 100 s with this rate. Without web transfers (the row *no web*), the delay with CoDel is
below 90 ms for 95 % of the time with Reno. With CUBIC this quantile is 78 to 127 ms in five seeds, with a median of
93 ms.

**Differs: the median delay, and the throughput with ten packets of buffer.** The median is below the paper's: most
packets are carried in the two parts at 100 Mbit/s, where the queue is short. A buffer of ten packets costs about half
of the throughput, and not three quarters. The paper names neither the version of its TCP nor the transfers; no
experiment here explains these two differences.

Figure 5 of the same paper has fixed rates. For long flows alone, and packets with a transmission time below 5 ms, the
paper says that the median delay should approach the target of 5 ms, and that Reno gives slightly lower utilization than
CUBIC. The table has Elephan's values at an RTT of 100 ms:

{static}
Reno's utilization is lower than CUBIC's in nearly every row. The median is near the target with 20 flows at 45 and 100
Mbit/s. The median is below the target where few flows leave the queue empty for most of the time. The median is above
the target where many flows share a slow link, since each flow keeps a few packets in the queue, whatever is dropped.

## PIE

Pan et al., *PIE* (IEEE HPSR 2013), simulate static sources on a link with 10 Mbit/s, an RTT of 100 ms, packets of
1000 bytes, and a reference delay of 20 ms (t_update 30 ms, α 0.125, β 1.25, bursts of 100 ms). Under light load (5
flows), heavy load (50) and 5 flows with two datagram streams of 6 Mbit/s each, PIE keeps the delay around the
reference, and the link is full. The table has the delays from 20 s on:

{pie}
![delay over time](aqm-pie.svg)

**Reproduced**, with Reno and with CUBIC: the mean is within 10 % of 20 ms under each load. The discipline is that of
RFC 8033, which refines the paper's discipline.

## DualPI2

The authors of the discipline published the raw data of their runs for the ICCRG meeting of IETF 109 (20 November
2020; `iccrg-exp` in the L4S team's repository `l4steam.github.io`). In these runs, DualPI2 in Linux has
100 Mbit/s, 20 ms, one Prague flow and one CUBIC flow without ECN, for 40 s.

{dualpi2}
![goodput over time](aqm-dualpi2.svg)

**Reproduced:** both rates are within 5 % of the published rates, and both mean RTTs within 2 %. Prague's packets wait
for a fraction of a millisecond, and CUBIC's for about the target of 15 ms. Dotted lines are the published means. There
is no published run with Reno; in Elephan, Reno is close to CUBIC, which is in its Reno-friendly region on this path.
"""

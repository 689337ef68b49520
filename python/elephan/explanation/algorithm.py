"""The algorithm of a sender, by replay: each candidate follows the capture, and its transmissions are compared.

A replay never diverges: the segments outstanding and the losses are always those of the capture, and only the window
and the pacing rate are the candidate's (``crates/sim/src/endpoint/replay.rs``). For each segment it says from when on
the candidate would have let it leave. The sender's own algorithm lets nearly all of them leave when they did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from elephan import _engine
from elephan.explanation.as_sent import MS_NS
from elephan.explanation.results import AlgorithmFit, Match
from elephan.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from elephan.explanation.events import Events


@dataclass(frozen=True)
class Bounds:
    """Least values from which on an algorithm is named, from captures of Linux whose algorithm is known.

    Attributes:
        score: least score.
        clear_score: least score of an algorithm that leads all others clearly.
        lead: lead over all others that is clear.
    """

    score: float
    clear_score: float
    lead: float


AT_SENDER = Bounds(0.98, 0.9, 0.15)
ELSEWHERE = Bounds(0.96, 0.85, 0.2)
NUMBERED = Bounds(0.96, 0.95, 0.15)
DRAWN = ((0.75, 0.25), (0.85, 0.15))
"""The same, of an algorithm with random numbers, which a replay can only guess: least scores, and the lead over all
other algorithms that each needs."""
LEAST_OF_FEW_GUESSES = 0.5
"""Least score with few guesses from which on many are made."""
WORTH_OF_GUESSES = 0.03
"""Lead that guessed random numbers can give to an algorithm."""
ALIKE = 0.003
"""Difference of scores up to which a capture cannot tell two algorithms apart."""
MOST_NAMES = 3
LEAST_SEGMENTS = 200
_JIFFY_NS, _PHASES = 4 * MS_NS, 16
"""Time between timer interrupts of the stack that replays, that of Linux with HZ=250, and phases that are tried."""
_MOST_IN_PHASE = 3
"""Candidates that are tried at each phase, if none does all that the sender did at the first one."""

_USUAL = (
    "cubic", "bbr", "reno", "bbr3", "dctcp", "prague", "htcp", "illinois", "vegas", "westwood", "veno", "bic", "hybla",
    "yeah", "cdg", "nv", "hstcp", "stcp", "lp", "compound", "copa", "ledbat++", "ledbat",
)  # fmt: skip
"""Algorithms in the order in which hosts have them, which decides between those that a capture cannot tell apart."""
_TOLERANCES_S = (0.2e-3, 1e-3)
_SHARE_OF_RTT = 1 / 16


@dataclass(frozen=True)
class Followed:
    """A replay, to be drawn.

    Attributes:
        algorithm: the algorithm.
        segments: for each segment, ``sent_s`` and ``allowed_s``: when it left, and since when the algorithm allows it.
        windows: after each event, ``time_s``, ``window`` and ``in_flight``, in segments.
    """

    algorithm: str
    segments: pl.DataFrame
    windows: pl.DataFrame


class Replays:
    """Replays of one capture."""

    def __init__(self, events: Events) -> None:
        self.events = events
        stack = msgspec.structs.replace(
            _stack(), payload_bytes=events.payload_bytes, initial_window=events.first_window, ecn=events.ecn
        )
        self._replay = _engine.Replay(
            events.table,
            msgspec.json.encode(stack).decode(),
            round(events.handshake_s * 1e12),
            round(events.start_s * 1e12),
            events.segments,
            events.phase_ns * 1000,
            None if events.within is None else events.within.captured,
        )

    def follow(self, algorithm: str) -> Followed:
        """Follow the capture with an algorithm, with or without a preset.

        Raises:
            ScenarioError: the algorithm is unknown, or cannot run over a path without routers of its own.
        """
        import polars as pl

        if algorithm.split(":")[0] not in {name.split(":")[0] for name in candidates(ecn=True)}:
            raise ScenarioError(f"'{algorithm}' is no algorithm of a TCP sender alone", source="--replay")
        try:
            allowed, windows = self._replay.follow(algorithm, True)
        except ValueError as error:
            raise ScenarioError(str(error), source="--replay") from None
        offset, found = self.events.offset_s, pl.DataFrame(allowed)["allowed_s"].fill_null(np.nan).to_numpy()
        segments = pl.DataFrame({"sent_s": self._sent(found) - offset, "allowed_s": found - offset})
        return Followed(algorithm, segments, pl.DataFrame(windows).with_columns(pl.col("time_s") - offset))

    def score(self, algorithm: str, tolerances: Sequence[float], *, many: bool = False) -> float:
        """Share of the segments that leave when the algorithm allows, as the mean over tolerances.

        Away from a sender that does not number its packets, some of what left before a loss and during a recovery is a
        guess, and where a guess is wrong by a segment, the algorithm's window stays so until the next loss. So from one
        loss to the next, the window may be wrong by a segment.

        Args:
            algorithm: the algorithm.
            tolerances: differences in time that count for nothing, s.
            many: guess random numbers many times.
        """
        import polars as pl

        allowed = pl.DataFrame(self._replay.follow(algorithm, many)[0])["allowed_s"].fill_null(np.nan).to_numpy()
        sent, within = self._sent(allowed), self.events.within
        if self.events.exact or within is not None:
            known = slice(None) if within is None else within.known
            late = np.abs(sent - allowed)[known]
            return float(np.mean([late <= tolerance for tolerance in tolerances]))
        # A segment leaves when a window that is smaller by one would let the next one leave.
        allowed = np.nan_to_num(allowed, nan=np.inf)
        shifted = [allowed, np.append(allowed[1:], np.inf), np.insert(allowed[:-1], 0, np.inf)]
        alike = np.array([[np.abs(one - sent) <= tolerance for tolerance in tolerances] for one in shifted])
        counts = np.add.reduceat(alike, self._epochs, axis=2).sum(axis=1)
        chosen = np.repeat(np.argmax(counts, axis=0), np.diff(np.append(self._epochs, len(sent))))
        return float(np.take_along_axis(alike, chosen[None, None, :], axis=0).mean())

    @cached_property
    def _epochs(self) -> NDArray[np.int64]:
        """The first segment after each loss, if the one before is a round trip ago at least."""
        seen, sent = self.events.seen, self.events.sent_s
        times = np.sort(seen.left_s[seen.left_lost])
        first = times[np.diff(times, prepend=-np.inf) > self.events.handshake_s]
        return np.unique(np.insert(np.minimum(np.searchsorted(sent, first), len(sent) - 1), 0, 0))

    def _sent(self, allowed: NDArray[np.float64]) -> NDArray[np.float64]:
        """When each segment left: if that is known within bounds only, at the time in them when it was allowed, or as
        close to this as they are. What the capture lacks left when it was allowed."""
        within = self.events.within
        if within is None:
            return self.events.sent_s
        inside = np.where(within.known, np.clip(allowed, within.low_s, within.high_s), allowed)
        found: NDArray[np.float64] = np.where(np.isnan(inside), self.events.sent_s, inside)
        return found


def fit_algorithm(events: Events, leave_out: Iterable[str] = (), jobs: int = 2) -> AlgorithmFit:
    """Find the algorithm of a sender.

    Args:
        events: what the capture shows.
        leave_out: algorithms that are no candidates, without presets.
        jobs: replays at a time.
    """
    tolerances = tolerances_of(events)
    if events.segments < LEAST_SEGMENTS:
        reason = f"the capture has {events.segments} segments, at least {LEAST_SEGMENTS} are needed"
        return AlgorithmFit((), (), tolerances[-1], reason)
    out = set(leave_out)
    names = [name for name in candidates(ecn=events.ecn) if name.split(":")[0] not in out]
    replays = Replays(events)

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        scores = dict(zip(names, pool.map(partial(replays.score, tolerances=tolerances), names), strict=True))
        drawn = [name for name in names if name.split(":")[0] in _drawing() and scores[name] >= LEAST_OF_FEW_GUESSES]
        many = pool.map(partial(replays.score, tolerances=tolerances, many=True), drawn)
        scores |= {name: max(scores[name], score) for name, score in zip(drawn, many, strict=True)}
        if max(scores.values()) < 1 - ALIKE:
            first = sorted(names, key=scores.__getitem__, reverse=True)[:_MOST_IN_PHASE]
            # Guessed random numbers make more difference than a phase.
            first = [name for name in first if name.split(":")[0] not in _drawing()]
            for phase in _phases(events):
                found = pool.map(partial(Replays(phase).score, tolerances=tolerances), first)
                scores |= {name: max(scores[name], score) for name, score in zip(first, found, strict=True)}
    return judged(scores, events.segments, tolerances[-1], bounds_of(events))


def in_phase(events: Events, algorithm: str) -> Events:
    """The events with the phase of timer interrupts at which an algorithm does most of what the sender did."""
    tolerances = tolerances_of(events)
    return max((events, *_phases(events)), key=lambda phase: Replays(phase).score(algorithm, tolerances))


def _phases(events: Events) -> list[Events]:
    """The events with other phases of timer interrupts: algorithms count in jiffies, and no packet shows when one
    begins, since the clock of timestamps is another one."""
    return [replace(events, phase_ns=events.phase_ns + number * _JIFFY_NS // _PHASES) for number in range(1, _PHASES)]


def bounds_of(events: Events) -> Bounds:
    """Bounds of a capture, by its place and by whether its sender numbers packets."""
    if events.exact:
        return AT_SENDER
    return ELSEWHERE if events.within is None else NUMBERED


def judged(scores: dict[str, float], segments: int, tolerance_s: float, bounds: Bounds = AT_SENDER) -> AlgorithmFit:
    """The algorithm that scores name."""
    ranking = tuple(
        Match(name, score, segments)
        for name, score in sorted(scores.items(), key=lambda item: (-item[1], _place(item[0])))
    )
    best: dict[str, Match] = {}
    for match in ranking:
        base = match.algorithm.split(":")[0]
        known = best.setdefault(base, match)
        is_alike = base in _drawing() and match.score >= known.score - WORTH_OF_GUESSES
        if is_alike and _place(match.algorithm) < _place(known.algorithm):
            best[base] = match
    first = _first(best, bounds.score)
    alike = [match for match in best.values() if abs(match.score - first.score) <= ALIKE]
    alike.sort(key=lambda match: _place(match.algorithm))
    others = [match.score for match in best.values() if match not in alike]
    lead = first.score - max(others, default=0.0)
    share = f"{first.algorithm} sends {first.score:.1%} of the segments when the sender did"
    is_drawn = all(match.algorithm.split(":")[0] in _drawing() for match in alike)
    fits = first.score >= bounds.score or (first.score >= bounds.clear_score and lead >= bounds.lead)
    if not fits and is_drawn:
        fits = any(first.score >= score and lead >= least for score, least in DRAWN)
    if not fits:
        return AlgorithmFit((), ranking, tolerance_s, f"none of {len(best)} algorithms fits: {share}")
    names = tuple(match.algorithm for match in alike[:MOST_NAMES])
    if len(alike) > 1:
        more = "" if len(alike) <= MOST_NAMES else f", nor from {len(alike) - MOST_NAMES} others"
        share += f", and this capture cannot tell these algorithms apart{more}"
    return AlgorithmFit(names, ranking, tolerance_s, share)


def _first(best: dict[str, Match], least: float) -> Match:
    """The best algorithm. One whose random numbers are guessed must be better by more than guesses can make it."""
    first = next(iter(best.values()))
    if first.algorithm.split(":")[0] not in _drawing():
        return first
    certain = (match for name, match in best.items() if name not in _drawing())
    other = next(certain, first)
    return other if other.score >= max(least, first.score - WORTH_OF_GUESSES) else first


def tolerances_of(events: Events) -> Sequence[float]:
    """Differences in time up to which a segment counts as sent alike, s; a score is the mean over them. Away from the
    sender, times of departure are known to a tick of its clock."""
    share = events.handshake_s * _SHARE_OF_RTT
    if events.exact:
        return (*_TOLERANCES_S, max(_TOLERANCES_S[-1], share))
    tick = events.clock_ns / 1e9
    return tick, max(tick, share / 4), max(tick, share)


@cache
def _drawing() -> frozenset[str]:
    """Algorithms with random numbers, which a replay can only guess."""
    return frozenset(entry["name"] for entry in json.loads(_engine.algorithms()) if entry["draws"])


@cache
def candidates(*, ecn: bool) -> tuple[str, ...]:
    """Algorithms and presets that a TCP sender can have by itself, without those that need marks if there are none."""
    found = []
    for entry in json.loads(_engine.algorithms()):
        name = entry["name"]
        if entry["router"] or not entry["hosted"] or (entry["needs_marks"] and not ecn):
            continue
        found += [f"{name}:{preset['name']}" if preset["name"] else name for preset in entry["presets"]]
    return tuple(found)


def _place(name: str) -> tuple[int, int, str]:
    """Order of algorithms between which scores do not decide: usual ones first, and of these the presets of Linux."""
    base, _, preset = name.partition(":")
    usual = _USUAL.index(base) if base in _USUAL else len(_USUAL)
    return usual, 0 if preset == "linux" else 1 if not preset else 2, name


@cache
def _stack() -> msgspec.Struct:
    """The transport of a current Linux host."""
    scenario = Scenario.dumbbell(["reno"], rate="1 Mbit/s", rtt="10 ms", buffer="10 packets", duration="1 s")
    stack: msgspec.Struct = scenario.form.flows[0].stack
    return stack

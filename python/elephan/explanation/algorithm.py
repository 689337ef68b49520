"""The algorithm of a sender, by replay: each candidate follows the capture, and its transmissions are compared.

A replay never diverges: the segments outstanding and the losses are always those of the capture, and only the window
and the pacing rate are the candidate's (``crates/sim/src/endpoint/replay.rs``). For each segment it says from when on
the candidate would have let it leave. The sender's own algorithm lets nearly all of them leave when they did.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from elephan import _engine
from elephan.explanation.results import AlgorithmFit, Match
from elephan.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from elephan.explanation.events import Events

LEAST_SCORE = 0.96
"""Least score of an algorithm that is named."""
LEAST_CLEAR_SCORE, LEAST_LEAD = 0.9, 0.1
"""Least score, and lead over all others, of an algorithm that no other comes near."""
LEAST_SCORE_OF_DRAWN = 0.75
"""The same, of an algorithm with random numbers, which a replay can only guess."""
LEAST_LEAD_OF_DRAWN = 0.25
"""Lead over all other algorithms that it needs then."""
WORTH_OF_GUESSES = 0.03
"""Lead that guessed random numbers can give to an algorithm."""
ALIKE = 0.003
"""Difference of scores up to which a capture cannot tell two algorithms apart."""
MOST_NAMES = 3
LEAST_SEGMENTS = 200

_USUAL = (
    "cubic", "bbr", "reno", "bbr3", "dctcp", "prague", "htcp", "illinois", "vegas", "westwood", "veno", "bic", "hybla",
    "yeah", "cdg", "nv", "hstcp", "stcp", "lp", "compound", "copa", "ledbat++", "ledbat",
)  # fmt: skip
"""Algorithms in the order in which hosts have them, which decides between those that a capture cannot tell apart."""
_TOLERANCES_S = (0.2e-3, 1e-3)
_SHARE_OF_RTT = 1 / 16
_OTHERS = 0.5e-3


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
            allowed, windows = self._replay.follow(algorithm)
        except ValueError as error:
            raise ScenarioError(str(error), source="--replay") from None
        segments = pl.DataFrame(allowed).with_columns(pl.Series("sent_s", self.events.sent_s))
        offset = self.events.offset_s
        segments = segments.select(pl.col("sent_s") - offset, pl.col("allowed_s") - offset)
        return Followed(algorithm, segments, pl.DataFrame(windows).with_columns(pl.col("time_s") - offset))

    def errors(self, algorithm: str) -> NDArray[np.float64]:
        """Times by which segments left earlier or later than the algorithm allows, s; infinite if it never does."""
        import polars as pl

        allowed = pl.DataFrame(self._replay.follow(algorithm)[0])["allowed_s"].fill_null(np.inf).to_numpy()
        found: NDArray[np.float64] = np.abs(np.nan_to_num(allowed, nan=np.inf) - self.events.sent_s)
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

    def score(name: str) -> float:
        errors = replays.errors(name)
        return float(np.mean([(errors <= tolerance).mean() for tolerance in tolerances]))

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        scores = dict(zip(names, pool.map(score, names), strict=True))
    return judged(scores, events.segments, tolerances[-1])


def judged(scores: dict[str, float], segments: int, tolerance_s: float) -> AlgorithmFit:
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
    first = _first(best)
    alike = [match for match in best.values() if abs(match.score - first.score) <= ALIKE]
    alike.sort(key=lambda match: _place(match.algorithm))
    others = [match.score for match in best.values() if match not in alike]
    lead = first.score - max(others, default=0.0)
    share = f"{first.algorithm} sends {first.score:.1%} of the segments when the sender did"
    is_drawn = all(match.algorithm.split(":")[0] in _drawing() for match in alike)
    fits = first.score >= LEAST_SCORE or (first.score >= LEAST_CLEAR_SCORE and lead >= LEAST_LEAD)
    if not fits and is_drawn:
        fits = first.score >= LEAST_SCORE_OF_DRAWN and lead >= LEAST_LEAD_OF_DRAWN
    if not fits:
        return AlgorithmFit((), ranking, tolerance_s, f"none of {len(best)} algorithms fits: {share}")
    names = tuple(match.algorithm for match in alike[:MOST_NAMES])
    if len(alike) > 1:
        more = "" if len(alike) <= MOST_NAMES else f", nor from {len(alike) - MOST_NAMES} others"
        share += f", and this capture cannot tell these algorithms apart{more}"
    return AlgorithmFit(names, ranking, tolerance_s, share)


def _first(best: dict[str, Match]) -> Match:
    """The best algorithm. One whose random numbers are guessed must be better by more than guesses can make it."""
    first = next(iter(best.values()))
    if first.algorithm.split(":")[0] not in _drawing():
        return first
    certain = (match for name, match in best.items() if name not in _drawing())
    other = next(certain, first)
    return other if other.score >= max(LEAST_SCORE, first.score - WORTH_OF_GUESSES) else first


def tolerances_of(events: Events) -> Sequence[float]:
    """Differences in time up to which a segment counts as sent alike, s; a score is the mean over them. Away from the
    sender, times of departure are known to a tick of its clock."""
    share = events.handshake_s * _SHARE_OF_RTT
    if events.exact:
        return (*_TOLERANCES_S, max(_TOLERANCES_S[-1], share))
    tick = events.clock_ns / 1e9
    return tick + _OTHERS, max(2 * tick, share), max(4 * tick, 2 * share)


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

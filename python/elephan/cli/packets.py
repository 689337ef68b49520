"""A saved run's packets as files: ``elephan show RUN --pcapng FILE --qlog FILE``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from elephan.cli import common
from elephan.cli.progress import meter
from elephan.scenario import ScenarioError
from elephan.scenario.units import parse_time
from elephan.scenario.words import hint

if TYPE_CHECKING:
    import polars as pl

    from elephan.progress import Meter
    from elephan.runs import Run

LARGE_BYTES = 50_000_000
"""Size of a log from which on it is said beforehand."""
SIDES = ("sender", "receiver")


@dataclass(frozen=True)
class Packets:
    """Files to write from a run's packets.

    Attributes:
        pcapng: the capture, if any.
        qlog: the senders' log, if any.
        at: side of the flows at which packets are captured; ``None`` for the sender's side.
        window: text of the window's ends; ``None`` for the whole run.
        flows: names of flows; empty for all.
        allow_programs: true if the programs of the scenario may run again.
    """

    pcapng: str | None
    qlog: str | None
    at: str | None = None
    window: tuple[str, str] | None = None
    flows: Sequence[str] = ()
    allow_programs: bool = False

    def __bool__(self) -> bool:
        return self.pcapng is not None or self.qlog is not None

    def check(self) -> None:
        """Check that the side ``at`` exists, and that ``at`` is given only together with a capture.

        Raises:
            ScenarioError: the check fails.
        """
        if self.at is None:
            return
        if self.at not in SIDES:
            raise ScenarioError(
                f"'{self.at}' is not an end of a flow; {hint(self.at, SIDES)}", path="--at", source="show"
            )
        if self.pcapng is None:
            raise ScenarioError("--at belongs to --pcapng FILE", source="show")

    def write(self, run: Run) -> list[Path]:
        """Write the files.

        Raises:
            ScenarioError: there are too many events for a log, the window is outside the run, or a flow is unknown.
        """
        from elephan import export

        self._check_flows(run)
        if run.backend == "quic":
            return self._write_quinn(run)
        if run.backend.startswith("linux"):
            return self._write_guest(run)
        events = self._events(run)
        written = []
        if self.pcapng is not None:
            export.write_pcapng(run, events, self.pcapng, self._side())
            written.append(Path(self.pcapng))
        if self.qlog is not None:
            self._announce(export.qlog_bytes(events))
            with meter() as progress:
                export.write_qlog(run, events, self.qlog, lambda done, total: progress(done, total, 0, 1))
            written.append(Path(self.qlog))
        return written

    def _announce(self, octets: int) -> None:
        """Say that a log will be large, before it is written."""
        if octets < LARGE_BYTES:
            return
        advice = "" if self.window is not None else "; --window FROM TO and --flow NAME make it smaller"
        common.warn(f"{self.qlog}: about {octets / 1e6:,.0f} MB{advice}")

    def _write_quinn(self, run: Run) -> list[Path]:
        """Write quinn's own log, the only record of a QUIC connection's packets."""
        from elephan import export

        if self.qlog is None or self.pcapng is not None:
            raise ScenarioError("a run on 'quic' has no capture; write --qlog FILE", path="--pcapng", source="show")
        if self.window is not None:
            raise ScenarioError("quinn logs the whole run; leave it out", path="--window", source="show")
        total_s = run.form.duration_ps / 1e12
        with meter() as progress:
            return export.write_quinn_qlog(run, self.qlog, self.flows, _reporting(progress, total_s))

    def _write_guest(self, run: Run) -> list[Path]:
        """Write all frames of the guest's devices; Wireshark can select flows and times."""
        from elephan import export

        if self.pcapng is None or self.qlog is not None:
            raise ScenarioError("a run on 'linux' has no qlog; write --pcapng FILE", path="--qlog", source="show")
        if self.window is not None or self.flows:
            option = "--window" if self.window is not None else "--flow"
            raise ScenarioError("the capture has all frames of the guest; leave it out", path=option, source="show")
        total_s = run.form.duration_ps / 1e12
        with meter() as progress:
            export.write_guest_pcapng(
                run, self.pcapng, self._side(), _reporting(progress, total_s), allow_programs=self.allow_programs
            )
        return [Path(self.pcapng)]

    def _side(self) -> Literal["sender", "receiver"]:
        return cast("Literal['sender', 'receiver']", self.at or "sender")

    def _check_flows(self, run: Run) -> None:
        names = [flow.name for flow in run.form.flows]
        for flow in self.flows:
            if flow not in names:
                raise ScenarioError(
                    f"'{flow}' is not a flow of this run; {hint(flow, names)}", path="--flow", source="show"
                )

    def _events(self, run: Run) -> pl.DataFrame:
        import polars as pl

        from elephan import export

        from_ps, to_ps = self._window()
        total_s = run.form.duration_ps / 1e12
        with meter() as progress:
            events = export.events_of(run, from_ps, to_ps, _reporting(progress, total_s))
        return events.filter(pl.col("flow").cast(pl.String).is_in(list(self.flows))) if self.flows else events

    def _window(self) -> tuple[int, int | None]:
        if self.window is None:
            return 0, None
        try:
            from_ps, to_ps = (parse_time(end) for end in self.window)
        except ScenarioError as error:
            raise error.located(path="--window", source="show") from None
        if from_ps >= to_ps:
            raise ScenarioError(f"'{self.window[1]}' is not after '{self.window[0]}'", path="--window", source="show")
        return from_ps, to_ps


def _reporting(progress: Meter, total_s: float) -> Callable[[float], bool]:
    """A progress callback that shows the progress of ``total_s`` simulated seconds and never cancels."""

    def report(fraction: float) -> bool:
        progress(fraction * total_s, total_s, 0, 1)
        return True

    return report

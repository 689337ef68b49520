"""`Run`: the result of a scenario on any backend."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from elephan.hooks import hook
from elephan.runs import saved
from elephan.runs.crowds import MOST_ROWS, crowd_table, over_flows, shown_quantiles
from elephan.runs.errors import DamagedRunError, RunError, shown
from elephan.runs.saved import MANIFEST, MANIFEST_FORMAT, SUMMARY, run_id
from elephan.scenario import Scenario, document
from elephan.scenario.catalog import engine
from elephan.scenario.form import Spec
from elephan.scenario.groups import Group, groups_of, without_groups

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Size = str | tuple[float, float]

SUMMARY_FORMAT = 5

T = TypeVar("T")


class Run:
    """The result of one run: its scenario, its tables and its numbers.

    Tables are read at the first access. A run is created by :func:`elephan.run`, :meth:`load` or, for other backends
    and for tests, :meth:`from_tables`.

    Attributes:
        id: scenario hash, backend and seed; the folder's name in the store.
        manifest: provenance: canonical scenario, versions, seed, host, command, warnings, conservation counts.
        cached: true if the result was saved before the call.
    """

    def __init__(
        self,
        manifest: Mapping[str, Any],
        *,
        folder: Path | None = None,
        tables: Mapping[str, Any] | None = None,
        scenario: Scenario | None = None,
        cached: bool = False,
    ) -> None:
        self.manifest = dict(manifest)
        self.id = str(manifest["id"])
        self.cached = cached
        self._folder = folder
        self._tables: dict[str, Any] = dict(tables or {})
        self._scenario = scenario
        self._kept: dict[Hashable, Any] = {}

    @classmethod
    def load(cls, folder: str | Path, *, cached: bool = True) -> Run:
        """A saved run.

        Raises:
            DamagedRunError: one of the run's files is no longer as it was saved, or has another format.
            RunError: the folder contains no run.
        """
        folder = Path(folder).absolute()
        return cls(saved.load(folder), folder=folder, cached=cached)

    @classmethod
    def from_tables(
        cls,
        scenario: Scenario,
        tables: Mapping[str, Any],
        *,
        backend: str = "sim",
        seed: int | None = None,
        summary: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Run:
        """A run in memory, from a backend's tables (anything that Arrow's PyCapsule interface can read).

        Args:
            scenario: the scenario of the run.
            tables: ``flows``, ``samples`` and ``links``, and ``events`` if the scenario asks for it.
            backend: name of the backend.
            seed: seed of the random streams; the scenario's seed by default.
            summary: the backend's totals.
            extra: additional fields of the manifest.

        Raises:
            TableError: a table or a column is missing.
        """
        from elephan.runs import tables as files

        found = files.checked(tables)
        seed = scenario.seed if seed is None else seed
        seeded = scenario if seed == scenario.seed else scenario.with_seed(seed)
        manifest = {
            "format": MANIFEST_FORMAT,
            "id": run_id(scenario.hash, backend, seed),
            "title": scenario.title,
            "scenario_hash": scenario.hash,
            "seed": seed,
            "backend": backend,
            "scenario": seeded.canonical(),
            "scenario_toml": seeded.to_toml(),
            "engine_summary": dict(summary or {}),
            "tables_sha256": files.contents_digest(found),
            **(extra or {}),
        }
        manifest.setdefault("warnings", scenario.warnings())
        return cls(manifest, tables=found, scenario=seeded)

    def saved_in(self, folder: Path, manifest: Mapping[str, Any]) -> Run:
        """The run in a folder, with the folder's manifest; its tables are read at the first access."""
        return Run(manifest, folder=folder, scenario=self._scenario)

    def reread(self) -> Run:
        """The same result with separate tables, so that a sweep does not keep the tables of all its runs in memory.

        A run in memory is returned unchanged.
        """
        if self._folder is None:
            return self
        return Run(self.manifest, folder=self._folder, scenario=self._scenario, cached=self.cached)

    # ---- identity and scenario ----

    @property
    def dir(self) -> Path:
        """The folder in which the run is saved.

        Raises:
            RunError: the run is only in memory.
        """
        if self._folder is None:
            raise RunError(f"the run {self.id} is in memory only; save it with Store().save(run)")
        return self._folder

    @property
    def saved(self) -> bool:
        """True if the run is saved in a folder."""
        return self._folder is not None

    @property
    def canonical(self) -> dict[str, Any]:
        """The canonical scenario that was run, as a JSON document; :attr:`form` is the typed form."""
        return dict(self.manifest["scenario"])

    @cached_property
    def form(self) -> Spec:
        """The canonical form of the scenario that was run: integers in ps, bit/s, bytes and packets; the flows of
        groups are listed one by one.

        Raises:
            RunError: the manifest has no valid canonical form.
        """
        return without_groups(self._compact)

    @cached_property
    def _compact(self) -> Spec:
        if self._scenario is not None:
            return self._scenario.compact_form
        try:
            return document.read(self.manifest["scenario"])
        except document.FormError as error:
            raise RunError(f"the scenario of the run {self.id} is not a canonical form ({error})") from None

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The flows of each ``[[flow]]`` table, and the recorded flows among them; a single flow is a group with one
        flow.

        Raises:
            RunError: the manifest has no canonical form.
        """
        return groups_of(self._compact)

    @property
    def scenario(self) -> Scenario:
        """The scenario, with the seed of this run."""
        if self._scenario is None:
            self._scenario = Scenario.from_toml(self.manifest["scenario_toml"], source=self.id)
        return self._scenario

    @property
    def seed(self) -> int:
        """Seed of the random streams."""
        return int(self.manifest["seed"])

    @property
    def backend(self) -> str:
        """Backend of the run."""
        return str(self.manifest["backend"])

    @property
    def warnings(self) -> list[str]:
        """Warnings for a reader of the numbers; one sentence each."""
        return [str(line) for line in self.manifest.get("warnings", [])]

    # ---- tables ----

    @property
    def flows(self) -> pl.DataFrame:
        """One row for each flow."""
        return self._table("flows")

    @property
    def samples(self) -> pl.DataFrame:
        """Flow × time: windows, round trips, cumulative counts. Only recorded flows are included if ``record`` is not
        all."""
        return self._table("samples")

    @property
    def records_all(self) -> bool:
        """True if ``samples`` has all flows, as with ``record = "all"``."""
        return self._compact.record_flows is None

    @property
    def is_crowd(self) -> bool:
        """True if the run's flows are shown by quantiles, because they are many or not all recorded."""
        return not self.records_all or len(self.form.flows) > MOST_ROWS

    @cached_property
    def crowd(self) -> pl.DataFrame:
        """Group × time × quantile over the group's active flows: windows, round trips, packets in flight, goodputs.

        The table is recorded during the run if ``record`` is not all; otherwise it is computed from ``samples``.

        Raises:
            RunError: the run has no flows, only transfers that come and go.
        """
        if not self.form.flows:
            raise RunError(f"the run {self.id} has no [[flow]], so it has no crowd")
        if not self.records_all:
            return self._table("crowd")
        return crowd_table(self.form, self.groups, self.flows, self.samples)

    @property
    def links(self) -> pl.DataFrame:
        """Recorded link × time: queue, cumulative counts."""
        return self._table("links")

    @property
    def transfers(self) -> pl.DataFrame:
        """One row for each transfer of the scenario's sources.

        Raises:
            RunError: the scenario has no source of transfers.
        """
        if not self.form.traffic:
            raise RunError(f"the run {self.id} has no [[traffic]], so it has no transfers")
        return self._table("transfers")

    @property
    def sources(self) -> pl.DataFrame:
        """Source of transfers × time: cumulative counts of arrivals.

        Raises:
            RunError: the scenario has no source of transfers.
        """
        if not self.form.traffic:
            raise RunError(f"the run {self.id} has no [[traffic]], so it has no sources of transfers")
        return self._table("sources")

    @property
    def distributions(self) -> pl.DataFrame:
        """Source of transfers × quantity × bucket: number of transfers in each bucket.

        The transfers are those that began in the measurement window and completed, of the sources with ``record =
        "summary"``.

        Raises:
            RunError: the scenario has no such source.
        """
        if all(source.record == "all" for source in self.form.traffic):
            raise RunError(f'the run {self.id} has no [[traffic]] with record = "summary", so it has no distributions')
        return self._table("distributions")

    @property
    def writes(self) -> pl.DataFrame:
        """One row for each write of the flows' applications.

        Raises:
            RunError: no flow of the scenario has an application with writes.
        """
        if not any(flow.application and flow.application.writes for flow in self.form.flows):
            raise RunError(f"the run {self.id} has no flow with writes; write them into its application and run that")
        return self._table("writes")

    @property
    def has_events(self) -> bool:
        """True if the run's scenario asked for an event log."""
        return self.form.events is not None

    @property
    def events(self) -> pl.DataFrame:
        """Events of each packet, in order of time, if the scenario asked for them.

        Raises:
            RunError: the scenario did not ask for events.
        """
        if not self.has_events:
            raise RunError(f"the run {self.id} has no event log; write events = true into its scenario and run that")
        return self._table("events")

    @property
    def has_internals(self) -> bool:
        """True if the run's algorithms reported their internal variables: in the simulator on request, in the kernel
        always."""
        return "internals" in self.manifest.get("engine_summary", {})

    @property
    def internals(self) -> pl.DataFrame:
        """Time × flow × variable: the internal variables of the flows' algorithms, such as CUBIC's W_max.

        In the simulator the variables are recorded at the sample times if the scenario has ``internals = true``; in the
        kernel, algorithms in BPF report the variables once in a round trip. ``elephan show cubic`` lists the variables
        of CUBIC. ``value`` is a number, null while it is unknown; for a variable that is a state, ``state`` is the name
        of the state.

        Raises:
            RunError: no algorithm of this run reported variables.
        """
        if not self.has_internals:
            raise RunError(f"the run {self.id} has no internals; write internals = true into its scenario and run that")
        return self._table("internals")

    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name.

        Also ``transfers`` and ``sources`` with ``[[traffic]]``, ``writes`` if applications write, ``events`` with an
        event log, ``internals`` if algorithms reported their variables, ``crowd`` if not all flows are recorded.
        """
        return {name: self._table(name) for name in saved.table_names(self.manifest)}

    def _table(self, name: str) -> pl.DataFrame:
        from elephan.runs import tables as files

        self._tables[name] = frame = files.to_polars(self.arrow(name))
        return frame

    def arrow(self, name: str) -> Any:
        """A table, as an object that Arrow's PyCapsule interface can read: a data frame or a table of the engine."""
        if name not in self._tables:
            from elephan.runs import tables as files

            self._tables[name] = self._read(lambda folder: files.read(folder, name))
        return self._tables[name]

    def rows(self, name: str, columns: Sequence[str]) -> list[dict[str, Any]]:
        """Rows of a table, without its other columns; a column that the backend does not have is left out."""
        from elephan.runs import tables as files

        found = engine().columns(files.for_engine(self.arrow(name)), list(columns))
        return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]

    def _read(self, read: Callable[[Path], T]) -> T:
        """Call ``read`` with the verified folder of this run; repeat the call if another process replaces the folder
        during the call.

        Raises:
            RunError: the saved files are damaged, or belong to another result.
        """
        while True:
            before = saved.identity(self.dir)
            self._verify()
            try:
                found = read(self.dir)
            except DamagedRunError:
                if not saved.replaced(self.dir, before):
                    raise
            except (OSError, ValueError) as error:
                if not saved.replaced(self.dir, before):
                    raise DamagedRunError(self.dir, f"cannot be read ({shown(error)})") from None
            else:
                if not saved.replaced(self.dir, before):
                    return found

    def _verify(self) -> None:
        """Compare the saved files with the manifest again, since they may have changed after the manifest was read.

        Raises:
            RunError: the files are damaged, or belong to another result.
        """
        try:
            saved.verify(self.dir, self.manifest)
        except DamagedRunError:
            there = saved.load(self.dir, name=self.id)
            if there["tables_sha256"] != self.manifest["tables_sha256"]:
                raise RunError(f"{self.dir}: replaced by another result since it was loaded; load it again") from None
            self.manifest = there

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write each table as a CSV file, with the manifest beside them. Returns the written files.

        Raises:
            RunError: the target is the folder that the run is saved in.
        """
        from elephan.runs import tables as files

        return self._export(folder, "csv", files.write_csv)

    def to_parquet(self, folder: str | Path) -> list[Path]:
        """Write each table as a Parquet file, with the manifest beside them. Returns the written files.

        Raises:
            RunError: the target is the folder that the run is saved in.
        """
        from elephan.runs import tables as files

        return self._export(folder, "parquet", files.write)

    def _export(
        self, folder: str | Path, kind: str, write: Callable[[Mapping[str, pl.DataFrame], Path], object]
    ) -> list[Path]:
        from elephan.runs.files import entry, write_json

        place, frames = Path(folder), self.tables()
        place.mkdir(parents=True, exist_ok=True)
        if self._folder is not None and place.samefile(self._folder):
            raise RunError(f"{folder}: the run itself is saved there, and a saved run is never changed")
        write(frames, place)
        names = [f"{name}.{kind}" for name in frames]
        entries = {name: entry((place / name).read_bytes()) for name in names}
        write_json(place / MANIFEST, saved.seal(self.manifest, entries))
        return [place / name for name in (*names, MANIFEST)]

    # ---- numbers ----

    def summary(self) -> dict[str, Any]:
        """The run in the form that ``elephan run --json`` prints. For a saved run no tables are read."""
        place = str(self._folder) if self._folder is not None else None
        return dict(self._summary) | {"dir": place, "cached": self.cached}

    @cached_property
    def _summary(self) -> dict[str, Any]:
        if self._folder is not None and SUMMARY in self.manifest.get(saved.FILES, {}):
            summary = self._read(lambda folder: json.loads((folder / SUMMARY).read_bytes()))
            if summary.get("format") == SUMMARY_FORMAT:
                return dict(summary)
        made: dict[str, Any] = hook("summarize")(self)
        return made

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of ``make``, computed at the first call with ``key`` and then stored, so that metrics can share
        parts of the tables."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    @property
    def metrics(self) -> dict[str, Any]:
        """Metrics of the run as a whole, over the measurement window; ``None`` for a time that was not reached."""
        return defined(self._summary)

    def metric(self, name: str, **options: Any) -> Any:
        """A metric by its name (``elephan list metrics``), over the measurement window: a number, or a number for each
        flow.

        Args:
            name: the metric, such as ``jain``.
            options: options of the metric, such as ``flows=("a", "b")`` or ``window=(10.0, 20.0)`` in s.

        Raises:
            MetricError: there is no such metric, or it is not defined for this run.
        """
        return hook("run_metric")(self, name, **options)

    # ---- plots and reports ----

    def plot(self, *what: str, flows: Sequence[str] | None = None, size: Size | None = None) -> Figure:
        """Plot quantities of the run over time, one below the other.

        Args:
            what: quantities, of ``cwnd``, ``rate``, ``rtt`` and ``queue``; all four by default.
            flows: names; all for ``None``.
            size: width and height, inches.

        Raises:
            MetricError: there is no such quantity or flow.
        """
        figure: Figure = hook("plot_run")(self, what, flows, size)
        return figure

    def plot_cwnd(
        self,
        flows: Sequence[str] | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot congestion windows over time; many flows are drawn as bands of quantiles over the flows of each group.

        Args:
            flows: names; all for ``None``.
            ax: axes to draw on; a new figure for ``None``.
            size: width and height of that figure in inches, ``"12x8 cm"``, ``"column"`` or ``"page"`` of a paper.
            title: title over the axes; for ``None`` the scenario's title, or else the names of its flows.

        Returns:
            The figure that was drawn on.
        """
        figure: Figure = hook("plot_one")(self, "cwnd", flows, ax=ax, size=size, title=title)
        return figure

    def plot_rtt(
        self,
        flows: Sequence[str] | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot smoothed round-trip times over time; many flows are drawn as bands of quantiles. The arguments are those
        of :meth:`plot_cwnd`."""
        figure: Figure = hook("plot_one")(self, "rtt", flows, ax=ax, size=size, title=title)
        return figure

    def plot_throughput(
        self,
        flows: Sequence[str] | None = None,
        bin_s: float | None = None,
        *,
        ax: Axes | None = None,
        size: Size | None = None,
        title: str | None = None,
    ) -> Figure:
        """Plot the throughput of each flow in bins of ``bin_s`` seconds, by default 1 s; many flows are drawn as bands
        of quantiles of the goodput between samples. The other arguments are those of :meth:`plot_cwnd`."""
        figure: Figure = hook("plot_one")(self, "rate", flows, bin_s=bin_s, ax=ax, size=size, title=title)
        return figure

    def plot_queue(
        self, link: str | None = None, *, ax: Axes | None = None, size: Size | None = None, title: str | None = None
    ) -> Figure:
        """Plot the queue of the bottleneck, or of another recorded link, over time. The other arguments are those of
        :meth:`plot_cwnd`."""
        figure: Figure = hook("plot_one")(self, "queue", link=link, ax=ax, size=size, title=title)
        return figure

    def __repr__(self) -> str:
        names = [*(group.name for group in self.groups), *(source.flow.name for source in self.form.traffic)]
        title = self.manifest.get("title") or ", ".join(names)
        return f"<Run {self.id}: {title}>"

    def _repr_html_(self) -> str:
        text: str = hook("run_html")(self)
        return text


def defined(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a summary that are defined for its run; ``None`` for a time that was not reached."""
    return {name: value for name, value in summary["metrics"].items() if name not in summary.get("undefined", ())}


def flow_rows(summary: Mapping[str, Any], columns: Mapping[str, str]) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The columns and rows of a table of a summary's flows: a row for each flow, or for each quantile if flows are
    many.

    ``columns`` are headings and fields, of which ``name`` and ``algorithm`` are the first.
    """
    flows, crowd = summary["flows"], summary.get("crowd")
    if crowd is None and len(flows) <= MOST_ROWS:
        return dict(columns), flows
    rest = {heading: field for heading, field in columns.items() if field not in ("name", "algorithm")}
    if crowd is None:
        named = {f"of {len(flows):,} flows": "quantile", "algorithm": "algorithm"}
        return named | rest, shown_quantiles(over_flows(flows, list(rest.values())))
    return {"group": "group", "flows": "flows", "quantile": "quantile"} | rest, shown_quantiles(crowd)


_COUNTED = {
    "retransmits": "retransmit", "loss_events": "loss event", "ecn_events": "ECN event", "timeouts": "timeout",
    "drops": "drop",
}  # fmt: skip


def measured_range(summary: Mapping[str, Any]) -> str:
    """The range of time to which a summary's numbers apply, and the resolution if it is not that of segments."""
    measure = summary["measure"]
    found = f"{measure['from_s']:g} s to {measure['to_s']:g} s"
    return f"{found}; {_in_trains(summary['resolution'])}" if "resolution" in summary else found


def _in_trains(checks: Mapping[str, Any] | None) -> str:
    """Result of the checks of a run in trains (``engine_summary.resolution`` of the manifest), in words."""
    if checks is None:
        return "in single segments: no flow here may have trains"
    if not checks["stretches"]:
        return (
            "in trains of segments, not compared with single ones: the run has fewer than 34 round trips, or had no "
            "trains when it was to be compared"
        )
    largest = max(stretch["difference"] for stretch in checks["stretches"])
    if checks["single_from_s"] is not None:
        return (
            f"in trains of segments until {checks['single_from_s']:g} s, and in single segments from then on, since "
            f"the two differed by {100 * largest:.2g} %"
        )
    return (
        f"in trains of segments, which differ by up to {100 * largest:.2g} % from single segments on "
        f"{len(checks['stretches'])} stretches, all flows together"
    )


def whole_run(summary: Mapping[str, Any]) -> str | None:
    """The counts of a run from its beginning to its end, in words, for a line below tables of its measured part;
    ``None`` if the whole run is measured."""
    found, measure = summary.get("whole_run"), summary["measure"]
    if found is None or (measure["from_s"] <= 0 and measure["to_s"] >= found["duration_s"]):
        return None
    counts = [
        f"{found[name]:,} {words}{'' if found[name] == 1 else 's'}"
        for name, words in _COUNTED.items()
        if found[name] is not None and (found[name] or name != "ecn_events")  # without ECN there are none
    ]
    return f"whole run, 0 s to {found['duration_s']:g} s: {', '.join(counts)}" if counts else None


def flow_columns(columns: Mapping[str, str], summary: Mapping[str, Any]) -> dict[str, str]:
    """The columns of a table of flows that say something: ECN events if there are any, RTTs of packets if the backend
    knows them, and the smoothed RTT if it does not for some flow."""
    rows = summary.get("crowd") or summary["flows"]
    packets = [row.get("rtt_mean_ms") is not None for row in rows]
    smoothed = [row.get("srtt_mean_ms") is not None for row in rows]
    left_out = set()
    if not (summary.get("whole_run") or {}).get("ecn_events"):
        left_out.add("ecn_events")
    if any(smoothed) and not any(packets):
        left_out |= {field for field in columns.values() if field.startswith("rtt_")}
    if all(known or not also for known, also in zip(packets, smoothed, strict=True)):
        left_out.add("srtt_mean_ms")
    return {heading: field for heading, field in columns.items() if field not in left_out}

"""The report of a tuning: the settings as points whose values a reader sees when pointing at them, and tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elephan.design.tuning import Setting, Tuning
from elephan.report import pages
from elephan.report.figures import COLORS, Figure
from elephan.report.tables import table
from elephan.version import __version__

_HEIGHT_PX = 460


@dataclass(frozen=True)
class Settings(Figure):
    """Settings on two axes: all of them, those of the front, and the algorithm's own.

    Attributes:
        x_label, y_label: labels of the axes.
        series: name, positions, values and texts of each series.
    """

    x_label: str
    y_label: str
    series: tuple[tuple[str, tuple[float, ...], tuple[float, ...], tuple[str, ...]], ...]

    def spec(self) -> dict[str, Any]:
        """One scatter trace for each series, with a text for each point."""
        data = [
            {
                "type": "scatter", "mode": "markers", "name": name, "x": list(x), "y": list(y), "text": list(texts),
                "hovertemplate": "%{text}<br>%{x:.3f}, %{y:.3f}<extra></extra>",
                "marker": {"color": COLORS[i], "size": 6 if i == 0 else 11},
            }
            for i, (name, x, y, texts) in enumerate(self.series)
        ]  # fmt: skip
        axes = {"xaxis": {"title": {"text": self.x_label}}, "yaxis": {"title": {"text": self.y_label}}}
        return {"data": data, "layout": {"height": _HEIGHT_PX, **axes}}


def report(result: Tuning, out: str | Path) -> Path:
    """Write ``report.html`` into a folder, and the figure as SVG and PDF beside it. Returns the page's path.

    Raises:
        OSError: the folder cannot be written.
    """
    page = {
        "title": f"{result.algorithm} tuned: {', '.join(r.name for r in result.ranges)}",
        "answer": answer(result),
        "notes": [],
        "tables": [_front(result), _importance(result)],
        "facts": [
            ("Objective", result.preference.text),
            ("Paths", f"{result.paths[0]}, and {result.paths[1]} held out"),
            ("Settings", f"{len(result.settings)}, of which {_given_up(result)} were given up at a look"),
            ("Runs", f"{result.runs} in {result.wall_seconds:.0f} s"),
            ("Version", __version__),
        ],
    }
    return pages.report("tuning.html.j2", Path(out) / "report.html", page, [_figure(result)], printed=True)


def answer(result: Tuning) -> str:
    """The result in one sentence."""
    best, own = result.best, result.settings[0]
    if best is own:
        return f"{result.algorithm}: no setting is better than its own values."
    unseen, unseen_own = result.held_out
    return (
        f"{result.algorithm} with {values(best)} has {best.score:+.3f}, its own values {own.score:+.3f} (cubic is 0); "
        f"on the held-out paths {unseen.score:+.3f} and {unseen_own.score:+.3f}."
    )


def values(setting: Setting) -> str:
    """The values of a setting in words."""
    return ", ".join(f"{name} = {value:.4g}" for name, value in setting.parameters.items()) or "its own values"


def _given_up(result: Tuning) -> int:
    return sum(setting.given_up for setting in result.settings)


def _figure(result: Tuning) -> Settings:
    shown = [setting for setting in result.settings if setting.terms]
    if len(result.goals) > 1:
        x_label, y_label = (f"{goal}, relative to cubic" for goal in result.goals[:2])

        def place(setting: Setting) -> tuple[float, float]:
            return setting.term(result.goals[0]), setting.term(result.goals[1])
    else:
        name = result.ranges[0].name
        x_label, y_label = name, result.goals[0] if result.goals else "score"
        shown = [setting for setting in shown if name in setting.parameters]

        def place(setting: Setting) -> tuple[float, float]:
            return setting.parameters[name], setting.term(result.goals[0]) if result.goals else setting.score

    def series(name: str, settings: list[Setting]) -> tuple[str, tuple[float, ...], tuple[float, ...], tuple[str, ...]]:
        points = [place(setting) for setting in settings]
        return name, tuple(x for x, _ in points), tuple(y for _, y in points), tuple(map(values, settings))

    front = [setting for setting in result.front if setting in shown]
    own = [setting for setting in result.settings[:1] if setting in shown]
    groups = (("settings", shown), ("front" if result.goals else "best", front), ("its own values", own))
    return Settings(
        "settings", "Settings of the parameters",
        "Each point is a setting; up and to the right is better. Settings that were clearly worse have fewer seeds.",
        x_label, y_label, tuple(series(name, group) for name, group in groups if group),
    )  # fmt: skip


def _front(result: Tuning) -> dict[str, Any]:
    names = [r.name for r in result.ranges]
    rows = [
        [*(setting.parameters.get(name, "own") for name in names), round(setting.score, 3), len(setting.scores)]
        + [round(setting.term(term), 3) for term in result.settings[0].terms[0]]
        for setting in result.front
    ]
    header = [*names, "score", "seeds", *result.settings[0].terms[0]]
    return table("Front" if result.goals else "Best setting", header, rows)


def _importance(result: Tuning) -> dict[str, Any]:
    rows = [[name, round(share, 3)] for name, share in result.importance.items()]
    return table("Importance of the parameters (PED-ANOVA)", ["parameter", "share"], rows)

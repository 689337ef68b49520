"""Pages of the algorithms, which docs/generate.py writes: descriptions, pictures, parameters, judged claims, and the
measured response function."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import tomllib
from functools import lru_cache
from typing import Any

import rfc9743
from writing import ROOT, table


def _variables(entry: dict[str, Any]) -> list[str]:
    """The table of an algorithm's internal variables."""
    from elephan.scenario import catalog

    rows = [catalog.variable_row(variable) for variable in entry["variables"]]
    if not rows:
        return []
    cells = [[f"`{row['variable']}`", *list(row.values())[1:]] for row in rows]
    return ["## Internal variables\n", VARIABLES, table(list(rows[0]), cells)]


def measured() -> dict[str, Any]:
    """The measurements of docs/measure.py, by algorithm."""
    known: dict[str, Any] = json.loads((ROOT / "algorithms" / "response.json").read_text(encoding="utf-8"))
    return dict(known["algorithms"])


def algorithm_page(name: str) -> str:
    """The page of one algorithm: its description, picture, presets, parameters and measured response function."""
    from elephan.scenario import catalog

    entry = catalog.algorithms()[name]
    parts = [f"# `{name}`: {entry['title']}\n", f"{entry['doc']}\n"]
    signals = f" Required signals: {', '.join(entry['signals'])}." if entry["signals"] else ""
    parts.append(f"Driven by: {KINDS[entry['kind']]}.{signals} Source: {entry['source']}.\n")
    text = ROOT / "explained" / f"{name}.md"
    if text.is_file():
        parts.append(states().drawn(text.read_text(encoding="utf-8")))
    found = measured().get(name)
    if entry["router"] is not None:
        parts.append(ROUTERS.format(router=entry["router"]))
    parts += shown_runs(name)
    parts += _judged(name)
    if found is not None:
        parts.append("## Windows and losses\n")
        parts.append(f"![Windows of two flows over time, and the mean window over the loss probability]({name}.svg)\n")
        parts.append(PICTURE.format(queue=MARKING if "ECN marks counted" in entry["signals"] else ""))
    parts += _live(name)
    parts += _sources(name, entry)
    if entry["parameters"]:
        parts.append("## Parameters\n")
        rows = [catalog.parameter_row(parameter) for parameter in entry["parameters"]]
        parts.append(table(list(rows[0]), [[f"`{row['parameter']}`", *list(row.values())[1:]] for row in rows]))
    parts += _variables(entry)
    if found is not None:
        parts.append("## Response function\n")
        parts += _response(name, found)
    return "\n".join(parts)


def observations() -> list[dict[str, Any]]:
    """Observations in single runs; each has ``of``, ``text``, ``check`` and the playground's ``settings``."""
    from elephan.web.lessons import whole

    rows = tomllib.loads((ROOT / "explained" / "observations.toml").read_text(encoding="utf-8"))["observation"]
    return [row | {"settings": whole(row["settings"])} for row in rows]


def _playground(settings: dict[str, Any]) -> str:
    """Address of the playground with a setting, relative to an algorithm's page."""
    text = json.dumps(settings, separators=(",", ":")).encode()
    return f"../elephan.html#{base64.urlsafe_b64encode(text).decode().rstrip('=')}"


def shown_runs(name: str) -> list[str]:
    """Runs that show strengths and weaknesses: links to the playground, and a scenario file for the first run."""
    from elephan.web.lessons import lessons, scenario_of
    from elephan.web.page import plain_algorithms

    said = [(row["text"], row["settings"]) for row in observations() if row["of"] == name]
    said += [
        (f"Lesson *{lesson['title']}*: {lesson['text']}", lesson["settings"])
        for lesson in lessons()
        if name in {flow["algorithm"] for flow in lesson["settings"]["flows"]}
    ]
    if not said:
        return []
    plain = name in {entry["name"] for entry in plain_algorithms()}
    rows = [
        f'- {text} <a href="{_playground(settings)}">Run it</a>.' if plain else f"- {text}" for text, settings in said
    ]
    scenario = scenario_of(said[0][1]).to_toml().strip()
    return ["## Example runs\n", "\n".join(rows) + "\n", COMMAND.format(name=name), f"```toml\n{scenario}\n```\n"]


COMMAND = """To make the first example run at the command line, save this file as `{name}.toml` and type
`elephan run {name}.toml`. Rates, queues and shares are measured over the second half of the run.
"""


RARE = 1 / 6
"""A passed criterion is listed if at least this fraction of the measured algorithms do not pass it."""


def _judged(name: str) -> list[str]:
    """Verdicts of the matrix on an algorithm: criteria that it misses, and criteria that it meets but other algorithms
    miss."""
    found = rfc9743.load()
    rows = {row["algorithm"]: row["criteria"] for row in found["algorithms"]}
    days = {row["algorithm"]: row["measured"] for row in found["algorithms"]}
    if name not in rows:
        return []
    texts = {criterion.id: criterion.text for criterion in _suite_criteria()}
    missed, met = [], []
    for identifier, row in rows[name].items():
        verdicts = [criteria[identifier]["verdict"] for criteria in rows.values() if identifier in criteria]
        cells = (f"`{identifier}`", texts[identifier], row["verdict"], row["why"].replace("<", "&lt;"))
        if row["verdict"] in ("fail", "concern"):
            missed.append(cells)
        elif row["verdict"] == "pass" and sum(one != "pass" for one in verdicts) >= RARE * len(verdicts):
            met.append(cells)
    header = ["criterion", "requirement", "verdict", "measured"]
    parts = ["## By the criteria of RFC 9743\n", JUDGED.format(name=name, measured=days[name])]
    parts += (
        [f"Criteria that `{name}` does not meet:\n", table(header, missed)]
        if missed
        else [f"`{name}` fails no criterion and has no concern.\n"]
    )
    parts += (
        [f"Criteria that `{name}` meets and that at least a sixth of the algorithms do not meet:\n", table(header, met)]
        if met
        else []
    )
    return parts


@lru_cache(maxsize=1)
def _suite_criteria() -> list[Any]:
    from elephan.suites.loading import load

    return list(load("rfc9743").table.criterion)


JUDGED = """These verdicts were measured on {measured} with `elephan evaluate {name} --quick`. The
[matrix](../reference/rfc9743.md) has all sections. With `--only CRITERION --out evaluation`, `elephan evaluate`
writes a report with the runs behind a verdict.
"""

LIVE: dict[str, dict[str, Any]] = {
    "fast": {"buffer_packets": 600},
    "eefast": {"buffer_packets": 600},
    "hcc": {"buffer_packets": 1200},
    "dctcp": {"queue": "codel", "ecn": True},
    "prague": {"queue": "dualpi2", "ecn": True},
}
"""Other settings of live pictures: larger buffers for algorithms that keep a queue, and queues that mark."""


def _live(name: str) -> list[str]:
    """The playground, embedded in a page, with two flows of an algorithm."""
    from elephan.web.lessons import whole
    from elephan.web.page import plain_algorithms

    if name not in {entry["name"] for entry in plain_algorithms()}:
        return []
    flows = [{"algorithm": name}, {"algorithm": name, "start_s": 20}]
    path = {"rate_mbps": 100, "rtt_ms": 60, "buffer_packets": 250, "duration_s": 60} | LIVE.get(name, {})
    address = _playground(whole(path | {"flows": flows}))
    queue = f", queue {path['queue']} with ECN" if "queue" in path else ""
    text = f"Two flows run on 100 Mbit/s × 60 ms with {path['buffer_packets']} packets of buffer{queue}."
    frame = f'class="playground" src="{address}" title="Playground: two flows of {name}" loading="lazy"'
    return ["## Run it here\n", f"{text} The second flow starts after 20 s.\n", f"<iframe {frame}></iframe>\n"]


OPEN = ("unstated", "unverified", "not verified", "not in ", "ours", "does not say", "no paper fixes", "silent")


def _sources(name: str, entry: dict[str, Any]) -> list[str]:
    """Differences between sources: presets, and parameters that a source leaves open."""
    presets = [preset for preset in entry["presets"] if preset["name"]]
    unsaid = [one for one in entry["parameters"] if any(word in one["source"] for word in OPEN)]
    if not presets and not unsaid:
        return []
    default = next((preset["title"] for preset in entry["presets"] if not preset["name"]), "")
    parts = ["## Differences between the sources\n"]
    if default:
        parts.append(f"The default is *{default}*. " + ("Each preset follows another source.\n" if presets else "\n"))
    if presets:
        rows = [(f"`{name}:{preset['name']}`", preset["title"], changes(preset["overrides"])) for preset in presets]
        parts.append(table(["preset", "source", "changes"], rows))
    if unsaid:
        parts.append("The sources do not state these parameters, or Elephan uses other values:\n")
        rows = [(f"`{one['name']}`", one["doc"], one["source"]) for one in unsaid]
        parts.append(table(["parameter", "meaning", "source"], rows))
    return parts


KINDS = {"loss": "losses", "delay": "delay", "hybrid": "losses and delay", "model": "a model of the path",
         "router": "routers of its own kind"}  # fmt: skip
ROUTERS = """Every link on the path of the data that can have a queue should have `queue = "{router}"`
([queues](../reference/queues.md)). If no link has this queue, the scenario is refused. With the help of routers, losses
are rare, so this page has no response function. [Routers that help](../scenario.md#routers-that-help) has an example.
"""
VARIABLES = """With `internals = true` in the scenario, a run has these variables in its table
[`internals`](../results.md#internal-variables).
"""
MARKING = ", where packets are marked above a tenth of a BDP"
PICTURE = """The left panel has two flows on 100 Mbit/s × 60 ms with a buffer of half a BDP{queue}. The second flow
starts a minute after the first. The right panel has the mean window of one flow with random losses, at an RTT of 100
ms.
"""


def _response(name: str, found: dict[str, Any]) -> list[str]:
    """The section on the measured response function and its closed form."""
    from elephan.models import RESPONSES, mean_window

    module = _measure()
    form = module.modeled(name)
    by_p, by_rtt = module.exponents(found)
    parts = [_exponent_sentence(by_p, by_rtt)]
    header, extra = ["loss probability", "measured, segments"], []
    if form is not None and not RESPONSES[form].marks:
        response = RESPONSES[form]
        note = f" ({response.note})" if response.note else ""
        origin = "is published" if response.published else "follows from the algorithm's rules"
        parts.append(f"Closed form: `{response.formula}`. The closed form {origin}{note}. Source: {response.source}.\n")
        if "as_modeled" in found:
            extra.append(
                ("measured as modeled", {point["p"]: point["window"] for point in found["as_modeled"]["losses"]})
            )
        inside = [p["p"] for p in found["losses"] if response.lowest_p <= p["p"] <= response.highest_p]
        for title, losses in (("closed form", "even"), ("the same rules, random losses", "random")):
            windows = mean_window(form, inside, module.RTT_S, losses)
            extra.append((title, dict(zip(inside, windows.tolist(), strict=True))))
    elif form is not None:
        parts.append(
            f"Closed form: `{RESPONSES[form].formula}`. Here p is the fraction of segments that is marked, not lost.\n"
        )
    rows = [
        (f"{point['p']:g}", _segments(point["window"], point), *(_cell(values.get(point["p"])) for _, values in extra))
        for point in found["losses"]
    ]
    parts.append(table([*header, *(title for title, _ in extra)], rows))
    return parts


def _exponent_sentence(by_p: float | None, by_rtt: float | None) -> str:
    if by_p is None:
        first = "The measured window does not depend on the loss probability here, because the window fills the path"
    else:
        span = "at loss probabilities p from 1e-5 to 1e-3 and an RTT of 100 ms"
        first = f"The measured window is proportional to p^{by_p:.2f} {span}"
    second = (
        ""
        if by_rtt is None
        else f". The rate is proportional to RTT^{by_rtt:.2f} at RTTs from 40 to 160 ms and p = 1e-4"
    )
    return f"{first}{second}.\n"


def _segments(window: float, point: dict[str, float]) -> str:
    module = _measure()
    return _cell(window) + (" (the path's)" if window > module.FREE * module.path_window(point) else "")


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _measure() -> Any:
    """The module docs/measure.py, which is beside this file."""
    return _beside("measure")


def states() -> Any:
    """The module docs/states.py, which is beside this file."""
    return _beside("states")


@lru_cache
def _beside(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def algorithms_index() -> str:
    """All algorithms in one table, with the measured exponents of each algorithm."""
    from elephan.scenario import catalog

    rows = []
    for name, entry in catalog.algorithms().items():
        found = measured().get(name)
        by_p, by_rtt = _measure().exponents(found) if found else (None, None)
        form = _measure().modeled(name)
        rows.append(
            (
                f"[`{name}`]({name}.md)", entry["title"], KINDS[entry["kind"]], ", ".join(entry["signals"]),
                str(len(entry["parameters"])), str(len([p for p in entry["presets"] if p["name"]])),
                "" if found is None else "–" if by_p is None else f"{by_p:.2f}",
                "" if found is None else "–" if by_rtt is None else f"{by_rtt:.2f}",
                f"`{_form(form)}`" if form else "",
            )
        )  # fmt: skip
    header = ["algorithm", "name", "driven by", "signals", "parameters", "presets", "window ~ p^", "rate ~ RTT^",
              "closed form"]  # fmt: skip
    toctree = "\n".join(["```{toctree}", ":hidden:", "", *catalog.algorithms(), "```", ""])
    return "\n".join([INDEX_INTRODUCTION, table(header, rows), INDEX_NOTES, toctree])


def _form(form: str) -> str:
    from elephan.models import RESPONSES

    return RESPONSES[form].formula


INDEX_INTRODUCTION = """# Algorithms

Each algorithm has a page with its parameters, its presets and two pictures. If sources of an algorithm disagree, each
source is a preset. `elephan list algorithms` and `elephan show NAME` print the same information on the command line.
"""
INDEX_NOTES = """The two exponents are measured with `docs/measure.py`. One flow runs alone on a path that is far faster
than the flow, and each segment is lost with probability p. *window ~ p^* is the exponent of the mean window from
p = 1e-5 to 1e-3 at an RTT of 100 ms; Reno's exponent is −0.5. *rate ~ RTT^* is the exponent of the rate for RTTs from
40 to 160 ms at p = 1e-4. With an exponent of 0, short RTTs have no advantage; Reno's exponent is −1. A dash means that
the path, and not the losses, limits the window.
*Signals* are the data that an algorithm needs from the endpoint.

![Response functions: lines from the rules, points measured](response.svg)

Lines are the mean windows that follow from an algorithm's rules with random losses
(`elephan.models.mean_window(NAME, p, losses="random")`). Points are measured with the same settings. A test requires
that points and lines agree within 10 % where a line is drawn. Where no line is drawn, timeouts or small windows
dominate. The closed
forms of the papers assume evenly spaced losses and are lower: by 6 % for Reno, by a fifth for CUBIC and H-TCP, and by
more for BIC. BIC's window gains most from an occasional long time between losses.
"""


def changes(overrides: dict[str, Any]) -> str:
    """Parameters of a preset that differ from the defaults."""
    return ", ".join(f"`{name} = {_literal(value)}`" for name, value in overrides.items())


def _literal(value: Any) -> str:
    return "unlimited" if value is None else str(value).lower() if isinstance(value, bool) else f"{value}"

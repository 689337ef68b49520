"""``elephan explain``: what limited a flow of a capture, its path and algorithm, and what else would have done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from elephan.cli import common, targets
from elephan.scenario.errors import ScenarioError

if TYPE_CHECKING:
    from elephan.explanation import Explanation
    from elephan.explanation.connection import Flow
    from elephan.explanation.log_limits import LogExplanation
    from elephan.explanation.predicting import ModelCheck, Prediction
    from elephan.explanation.replaying import Replay
    from elephan.explanation.results import AlgorithmFit, PathFit

_MOST_PRINTED = 5


@click.command("explain")
@click.argument("file", metavar="FILE")
@click.option(
    "--flow", "number", type=common.Count(1, 10**12), metavar="N",
    help="Number of the connection, from the list. [default: the one with the most data]",
)  # fmt: skip
@click.option(
    "--limits", "only_limits", is_flag=True, help="Only the limits, which take a moment: no path, no algorithm."
)
@click.option("--what-if", "others", metavar="ALG,…", help="Predict these algorithms on the fitted path.")
@click.option("--rate", metavar="RATE", help="With --what-if: another rate of the bottleneck.")
@click.option("--rtt", metavar="TIME", help="With --what-if: another two-way propagation delay.")
@click.option(
    "--buffer", "buffer_size", metavar="BUFFER", help="With --what-if: another buffer, such as '1 MB' or '1 BDP'."
)
@click.option("--queue", metavar="QUEUE", help="With --what-if: another queue discipline, such as fq_codel.")
@click.option(
    "--replay",
    "replayed",
    metavar="ALG",
    help="Show where the sender departs from this algorithm, with or without preset.",
)
@click.option("--addresses", is_flag=True, help="Show the hosts' addresses in the list of connections.")
@click.option("--out", metavar="DIR", callback=targets.writable_folder, help="Write a report there.")
@common.jobs_option
@common.json_option
def command(
    file: str,
    number: int | None,
    only_limits: bool,
    others: str | None,
    rate: str | None,
    rtt: str | None,
    buffer_size: str | None,
    queue: str | None,
    replayed: str | None,
    addresses: bool,
    out: str | None,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Explain what limited a flow of a capture, and when; the path, and the algorithm of its sender.

    FILE is a capture in pcap or pcapng, also in gzip or zstd, from the sender, the receiver or between them; 128 bytes
    of each packet are enough (tcpdump -s 128). A log of the sender shows its limits only: ss -tin over time with the
    time before each output, iperf3 -J, or qlog. The host that sends the data is called A, and the other B. Each
    algorithm is replayed against the packets, and the path is simulated and compared with the capture.
    """
    from elephan.explanation.explaining import explain_file
    from elephan.explanation.log_limits import LogExplanation

    changes = {"rate": rate, "rtt": rtt, "buffer": buffer_size, "queue": queue}
    names = _names(others, changes)
    if only_limits and names:
        raise ScenarioError("needs the path, and --limits leaves it out", source="--what-if")
    found = explain_file(file, flow=number)
    if isinstance(found, LogExplanation):
        needs = {"--what-if": names, "--replay": replayed, "--out": out, "--addresses": addresses}
        given = next((option for option, value in needs.items() if value), None)
        if given is not None:
            raise ScenarioError("needs packets, and a log has none; capture with tcpdump", source=given)
        _print_log(found, as_json=as_json)
        return
    if not as_json:
        common.say(found.text)
        print_limits(found, addresses=addresses)
    # The replay is quicker than the path, so that a wrong name is said soon.
    replay = None if replayed is None else found.replay(replayed)
    model = _Model() if only_limits else _model(found, names, changes, jobs, quiet=as_json)
    if replay is not None:
        model.words.append(replay.text)
        if not as_json:
            _print_replay(replay)
    page = None if out is None else _page(found, model, replay, out)
    if as_json:
        document = found.document() | ({} if only_limits else found.model_document())
        document |= {"what_if": [vars(one) for one in model.predictions]} if names else {}
        document |= {} if replay is None else {"replay": replay.document()}
        common.print_json(document | ({} if page is None else {"report": page}))
        return
    for note in found.notes:
        common.warn(note)
    if page is not None:
        common.say(page)


def _print_replay(replay: Replay) -> None:
    from elephan.explanation.replaying import HEADER

    common.say(replay.text)
    if replay.stretches:
        title = f"Departures from {replay.algorithm}, the largest of {len(replay.stretches)}"
        common.print_table(title, list(HEADER), replay.rows())


def _print_log(found: LogExplanation, *, as_json: bool) -> None:
    if as_json:
        common.print_json(found.document())
        return
    common.say(found.text)
    rows = [[str(share.limit), f"{100 * share.fraction:.1f}"] for share in found.shares]
    common.print_table("Limits", ["limit", "% of time"], rows)
    for share in found.shares:
        common.say(f"{share.limit}: {share.evidence}.")
    for note in found.log.notes:
        common.warn(note)


@dataclass
class _Model:
    """The parts of an answer that need the path."""

    fit: PathFit | None = None
    algorithm: AlgorithmFit | None = None
    check: ModelCheck | None = None
    predictions: tuple[Prediction, ...] = ()
    words: list[str] = field(default_factory=list)


def _names(others: str | None, changes: dict[str, str | None]) -> list[str]:
    """The algorithms to predict."""
    if others is None:
        given = next((name for name, value in changes.items() if value is not None), None)
        if given is not None:
            raise ScenarioError("changes a prediction; name the algorithms with --what-if", source=f"--{given}")
        return []
    names = [name.strip() for name in others.split(",") if name.strip()]
    if not names:
        raise ScenarioError(
            f"'{others}' names no algorithm; write for example --what-if cubic,bbr3", source="--what-if"
        )
    return list(dict.fromkeys(names))


def _model(
    found: Explanation, names: Sequence[str], changes: dict[str, str | None], jobs: int | None, *, quiet: bool
) -> _Model:
    """The path, the algorithm, the check and the predictions, each printed when it is known."""
    from elephan.explanation import wording

    model = _Model()

    def say(text: str) -> None:
        model.words.append(text)
        if not quiet:
            common.say(text)

    try:
        model.fit = found.simulated_path
    except ScenarioError as error:
        if names:
            raise
        say(f"The path and the algorithm cannot be found: {error}.")
        return model
    model.algorithm, model.check = found.algorithm, found.check
    say(wording.check_words(model.check))
    say(wording.path_words(model.fit))
    say(wording.algorithm_words(model.algorithm))
    if not quiet:
        _print_model(model)
    if names:
        model.predictions = found.what_if(names, jobs=jobs, **changes)
        if not quiet:
            rows = wording.prediction_rows(model.predictions)
            common.print_table("On the fitted path", list(wording.PREDICTION_HEADER), rows)
            paths = model.predictions[0].paths
            common.say(
                f"Measured in the second half; means and ranges of {paths} runs on paths that the capture allows."
            )
        for sentence in wording.prediction_words(model.predictions):
            say(sentence)
    return model


def _print_model(model: _Model) -> None:
    from elephan.explanation.wording import shown_estimate

    if model.fit is not None:
        rows = [[one.title, shown_estimate(one)] for one in model.fit.quantities if one.identifiable]
        common.print_table("Path", ["quantity", "value (95 % interval)"], rows)
        for one in model.fit.quantities:
            if not one.identifiable:
                common.say(f"{one.title} is not identifiable from this capture: {one.reason}.")
        common.say(f"queue: {model.fit.queue or 'not identifiable'}; {model.fit.queue_reason}.")
        for line in model.fit.assumptions:
            common.say(f"assumed: {line}.")
    if model.algorithm is not None and model.algorithm.ranking:
        ranked = model.algorithm.ranking[:_MOST_PRINTED]
        rows = [[match.algorithm, f"{100 * match.score:.1f}"] for match in ranked]
        common.print_table("Algorithm, by replay", ["algorithm", "% of segments when they were sent"], rows)


def _page(found: Explanation, model: _Model, replay: Replay | None, out: str) -> str:
    from elephan.explanation.reporting import explanation_report

    page: Any = explanation_report(
        found, out, fit=model.fit, algorithm=model.algorithm, check=model.check, predictions=model.predictions,
        replay=replay, words=model.words,
    )  # fmt: skip
    return str(page)


def print_limits(found: Explanation, *, addresses: bool) -> None:
    """Print the limits with their evidence, and the connections of the capture."""
    rows = [[str(share.limit), f"{100 * share.fraction:.1f}"] for share in found.limits.shares]
    common.print_table("Limits", ["limit", "% of time"], rows)
    for share in found.limits.shares:
        common.say(f"{share.limit}: {share.evidence}.")
    if len(found.capture.flows) > 1 or addresses:
        _print_flows(found.capture.flows, found.connection.flow.number, addresses=addresses)


def _print_flows(flows: tuple[Flow, ...], chosen: int, *, addresses: bool) -> None:
    from elephan.explanation.explaining import MOST_LISTED
    from elephan.explanation.wording import size

    header = ["flow", "sent", "packets", "start s", "duration s", *(["A", "B"] if addresses else [])]
    rows = []
    for flow in flows[:MOST_LISTED]:
        mark = " *" if flow.number == chosen else ""
        cells = [f"{flow.number}{mark}", size(flow.sent_bytes), str(flow.packets)]
        cells += [f"{flow.start_s:.3g}", f"{flow.duration_s:.3g}"]
        rows.append(cells + ([f"{address} {port}" for address, port in flow.hosts] if addresses else []))
    common.print_table(f"{len(flows)} connections with data, * explained here", header, rows)
    if len(flows) > MOST_LISTED:
        common.say(f"{len(flows) - MOST_LISTED} smaller connections are not listed; --flow N explains any of them.")

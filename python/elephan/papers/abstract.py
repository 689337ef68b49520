"""The verdicts of a paper in one paragraph."""

from __future__ import annotations

from collections.abc import Sequence

from elephan.papers import boards
from elephan.papers.judging import Judgment, totals
from elephan.papers.themes import theme


def abstract(judgments: Sequence[Judgment]) -> str:
    """The paragraph at the top of a report; empty without claims."""
    if not judgments:
        return ""
    counts = totals(judgments)
    judged = counts["reproduced"] + counts["differs"]
    sentences = [_counted(counts, len(judgments))]
    firm = totals(judgment for judgment in judgments if judgment.claim.firm)
    if firm["reproduced"] + firm["differs"]:
        sentences.append(
            "Of the claims that the paper states explicitly and that are robust against variants of its open values, "
            f"{boards.percent(firm)} are reproduced."
        )
    if judged:
        sentences += _by_question(judgments)
    differ = [judgment for judgment in judgments if judgment.verdict == "differs"]
    if differ:
        sentences.append(_differences(differ))
    noisy = sum(judgment.within_noise for judgment in judgments)
    if noisy:
        sentences.append(f"Other seeds could change {_verdicts(noisy)}.")
    turned = sum(bool(judgment.depends_on) for judgment in judgments)
    if turned:
        sentences.append(f"Other variants that were run change {_verdicts(turned)}.")
    return " ".join(sentences)


def _counted(counts: dict[str, int], claims: int) -> str:
    weak, differ = counts["weak"], counts["differs"]
    parts = [f"{counts['reproduced']} are reproduced ({boards.percent(counts)} of those judged)"]
    if weak:
        parts.append(f"{weak} {'holds' if weak == 1 else 'hold'} only by a tolerance wider than the published value")
    parts.append(f"{differ or 'none'} {'differ' if differ > 1 else 'differs'}")
    if counts["not_judged"]:
        parts.append(f"{counts['not_judged']} cannot be judged")
    return f"Of {claims} claims, {', '.join(parts[:-1])} and {parts[-1]}."


def _by_question(judgments: Sequence[Judgment]) -> list[str]:
    """Sentence with the number of reproduced claims for each question, the highest fraction first; none if there is
    only one question."""
    board = boards.split(judgments, theme)
    judged = {name: (found["reproduced"], found["reproduced"] + found["differs"]) for name, found in board.items()}
    known = sorted((name for name in judged if judged[name][1]), key=lambda name: -judged[name][0] / judged[name][1])
    if len(known) < 2:
        return []
    listed = "; ".join(f"“{name}” {judged[name][0]} of {judged[name][1]}" for name in known)
    return [f"Reproduced by question: {listed}."]


def _differences(differ: Sequence[Judgment]) -> str:
    sections: dict[str, int] = {}
    for judgment in differ:
        sections[judgment.claim.section] = sections.get(judgment.claim.section, 0) + 1
    most = sorted(sections, key=lambda name: -sections[name])[:3]
    named = ", ".join(f"{name} ({sections[name]})" for name in most)
    explained = sum(judgment.explained for judgment in differ)
    why = "all have" if explained == len(differ) else f"{explained} of {len(differ)} have"
    return f"The differences are{' mostly' if len(sections) > 3 else ''} in {named}; {why} an explanation."


def _verdicts(count: int) -> str:
    return "one verdict" if count == 1 else f"{count} verdicts"

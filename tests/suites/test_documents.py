"""Suites of today's documents: complete data, and public defects of implementations come out, none at references."""

from __future__ import annotations

from pathlib import Path

import pytest

from elephan.backends import quic
from elephan.runs import Store
from elephan.suites import evaluate, load

SUITES = ("bbr-draft", "slow-start", "l4s", "completion", "c4-test")


@pytest.mark.parametrize("name", SUITES)
def test_each_limit_has_a_reason_and_each_section_a_line(name: str) -> None:
    table = load(name).table
    assert all(len(criterion.reason) > 40 for criterion in table.criterion)
    lines = {c.section for c in table.criterion} | {o.section for o in table.obligation}
    assert lines == set(table.sections)
    assert table.quick_note


def test_each_case_of_the_bbr_drafts_appendix_is_a_criterion_or_a_line_that_says_why_not() -> None:
    table = load("bbr-draft").table
    text = " ".join([c.reason for c in table.criterion] + [o.text for o in table.obligation])
    cases = (
        "Exiting STARTUP on Bandwidth Plateau", "Exiting STARTUP on Loss When Application-Limited",
        "Exiting DRAIN Based on Inflight", "Exiting DRAIN Based on Time", "Exiting PROBE_UP on Loss",
        "Never Exiting PROBE_UP (or STARTUP)", "Exiting PROBE_DOWN After Max Time", "Entering and Exiting PROBE_RTT",
        "Skipping PROBE_RTT Due to Application-Limited Sending", "Achieving Expected STARTUP Bandwidth",
        "Achieving Expected Cruise Bandwidth", "Correctly Managing Sub-Packet BDPs", "Increasing Bandwidth 10x",
        "Decreasing Bandwidth 10x", "Handling Token Bucket Policers", "Handling Spurious Fast Recovery",
        "Handling Spurious RTO Recovery", "Entering and Exiting PROBE_RTT During STARTUP",
        "Handling Loss During PROBE_UP", "Handling Application-Limited Sending During PROBE_REFILL",
        "PROBE_UP ends after three rounds", "PROBE_DOWN ends when",
    )  # fmt: skip
    assert [case for case in cases if case not in text] == []
    assert len(cases) == 22


def test_our_bbr3_bounds_its_window_and_quinns_does_not(tmp_path: Path) -> None:
    """Pull request 2798 of quinn (August 2026): all that was ever acknowledged becomes the window."""
    store = Store(tmp_path)

    def verdict(name: str, on: str) -> str:
        (found,) = evaluate([name], "bbr-draft", only=["limited-window"], on=on, quick=True, seeds=2, store=store)
        return found.outcome("limited-window").verdict

    assert verdict("bbr3", "sim") == "pass"
    if quic.program() is None:
        pytest.skip("'scripts/programs elephan-quic' builds the program of this backend")
    assert verdict("quinn:bbr", "quic") == "concern"


def test_a_policer_tells_a_sender_that_paces_from_one_that_does_not_answer(tmp_path: Path) -> None:
    store = Store(tmp_path)
    only = ["policer-loss"]
    (ours,) = evaluate(["bbr3"], "bbr-draft", only=only, quick=True, seeds=2, store=store)
    (fixed,) = evaluate(
        ["fixed"], "bbr-draft", only=only, parameters={"window": 100.0}, quick=True, seeds=2, store=store
    )
    assert (ours.outcome(only[0]).verdict, fixed.outcome(only[0]).verdict) == ("pass", "concern")

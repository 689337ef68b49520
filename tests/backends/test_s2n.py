"""Controllers of s2n-quic on quinn's connections, after `make s2n`; docs/upstream.md has the causes of what differs."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from elephan import Scenario, ScenarioError, backends
from elephan.backends import quic

pytestmark = pytest.mark.skipif(quic.program() is None, reason="elephan-quic is not built")


def scenario(*algorithms: str, **path: str) -> Scenario:
    document: dict[str, Any] = {
        "duration": "60 s", "measure": {"from": "20 s"}, "flow": [{"algorithm": name} for name in algorithms],
        "dumbbell": {"rate": "10 Mbit/s", "rtt": "20 ms", "buffer": "4 BDP"} | path,
    }  # fmt: skip
    return Scenario.from_dict(document)


def is_built() -> bool:
    try:
        backends.get("quic").check(scenario("s2n:cubic"))
    except ScenarioError as error:
        if "make s2n" not in str(error):
            raise
        return False
    return True


def goodputs(*algorithms: str, **path: str) -> list[float]:
    if not is_built():
        pytest.skip("elephan-quic is built without the controllers of s2n-quic (make s2n)")
    tables = backends.get("quic").run(scenario(*algorithms, **path)).tables
    return [float(mbps) for mbps in pl.DataFrame(tables["flows"])["goodput_mbps"]]


def test_a_program_without_them_says_what_to_type() -> None:
    if is_built():
        pytest.skip("elephan-quic is built with them")
    with pytest.raises(ScenarioError, match=r"'s2n:bbr' needs the controllers of s2n-quic, .* run 'make s2n'"):
        backends.get("quic").check(scenario("s2n:bbr"))


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [("s2n", "write one of s2n:cubic, s2n:bbr"), ("s2n:reno", "s2n:reno"), ("s2n:cubc", "did you mean 's2n:cubic'")],
)
def test_a_wrong_name_is_named(algorithm: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        scenario(algorithm)


def test_s2n_s_cubic_takes_more_from_reno_than_rfc_9438_s() -> None:
    theirs, from_theirs = goodputs("s2n:cubic", "reno")
    rfc9438, from_rfc9438 = goodputs("cubic", "reno")
    assert theirs / from_theirs > 1.3 * rfc9438 / from_rfc9438


def test_s2n_s_bbr_keeps_a_queue_on_a_path_of_few_packets() -> None:
    if not is_built():
        pytest.skip("elephan-quic is built without the controllers of s2n-quic (make s2n)")
    found = backends.get("quic").run(scenario("s2n:bbr", rtt="40 ms", rate="20 Mbit/s", buffer="1 BDP"))
    flow = pl.DataFrame(found.tables["flows"]).row(0, named=True)
    assert flow["rtt_mean_ms"] > 55
    assert flow["goodput_mbps"] > 17

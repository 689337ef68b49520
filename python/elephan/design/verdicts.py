"""The criteria of the last stage of a score, with their verdicts.

They are apart from what judges (:mod:`elephan.design.criteria`), whose import takes a tenth of a second.
"""

from __future__ import annotations

from dataclasses import dataclass

SUITE = "rfc9743"
BUDGET_S = 600.0
"""Wall time for the runs. Cells that do not fit are omitted, and a criterion with an omitted cell does not pass."""
MUSTS_ON_LINUX_S = 1800.0
"""Wall time for the runs of the criteria that are a must on Linux, where a run costs as much as many in the simulator;
the others have what this leaves of :data:`BUDGET_S`."""
SEEDS_ON_LINUX = 4
"""Replicates on Linux: as many as those of a score."""
_MUST, _FAIL, _PASS, _NOT_JUDGED = "must", "fail", "pass", "not_judged"


@dataclass(frozen=True)
class Criterion:
    """A criterion of the suite and its verdict.

    Attributes:
        id, section: its name, and the section of the document.
        force: must, should or consider.
        verdict: pass, concern, fail, not_settled or not_judged.
        why: the reason.
        is_whole: false if some of its runs did not fit into the time.
        within_s: that time.
    """

    id: str
    section: str
    force: str
    verdict: str
    why: str
    is_whole: bool = True
    within_s: float = BUDGET_S

    @property
    def failure(self) -> str:
        """The reason why a requirement that is a must is not met or not judged; empty otherwise."""
        if self.force != _MUST or (self.is_whole and self.verdict != _FAIL):
            return ""
        unmade = f"not all of its runs fit into {self.within_s:g} s; elephan evaluate has a larger --budget"
        return f"{self.id} (section {self.section}, a must): {self.why if self.verdict == _FAIL else unmade}"

    @property
    def is_met(self) -> bool:
        """True if it passes."""
        return self.verdict == _PASS

    @property
    def is_judged(self) -> bool:
        """True if some run could say anything about it."""
        return self.verdict != _NOT_JUDGED

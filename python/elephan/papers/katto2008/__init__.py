"""J. Katto et al.: Simple Model Analysis and Performance Tuning of Hybrid TCP Congestion Control (2008).

Closed-form predictions for Compound, Adaptive Reno, YeAH and Fusion under random losses, alone and beside a Reno flow,
are compared with simulations. The effect of other constants is also examined.
"""

from __future__ import annotations

from collections.abc import Callable

from elephan.papers.katto2008 import windows
from elephan.papers.katto2008.beyond import open_question
from elephan.papers.katto2008.figures import figures
from elephan.papers.katto2008.measure import measurer
from elephan.papers.katto2008.setup import Setup, response
from elephan.papers.paper import Code
from elephan.scenario import Scenario

SCENARIOS: dict[str, Callable[..., Scenario]] = {
    "sweep": Setup.sweep,
    "short": Setup.short,
    "response": response,
    "trace": lambda setup, protocol, w, flows, case: windows.trace(setup, protocol, w, flows),
}
CODE = Code(Setup, SCENARIOS, measurer, open_question, figures)

"""W. Xu, Z. Zhou, D. T. Pham, C. Ji, M. Yang, Q. Liu: Hybrid congestion control for high-speed networks (JNCA 2011).

HCC TCP and eight other protocols over 200 Mbit/s: one flow alone with several buffer sizes and random loss rates, flows
of one protocol with equal and unequal RTTs, flows beside TCP Reno, and flows with traffic on the reverse path.
"""

from __future__ import annotations

from elephan.papers.hcc2011.beyond import beyond
from elephan.papers.hcc2011.measure import measurer
from elephan.papers.hcc2011.setup import SCENARIOS, Setup
from elephan.papers.paper import Code

CODE = Code(Setup, SCENARIOS, measurer, beyond, scaled=frozenset(("throughput_mbps", "cwnd", "rate")))

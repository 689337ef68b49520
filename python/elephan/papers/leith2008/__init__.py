"""D. J. Leith et al.: Experimental Evaluation of Delay/Loss-based TCP Congestion Control Algorithms (PFLDnet 2008).

TCP Illinois and Compound TCP on two testbeds: the time to fill a long path, with and without reverse traffic, the
length of congestion epochs, the convergence of competing flows, and the throughput left for Reno and for short
transfers.
"""

from __future__ import annotations

from elephan.papers.leith2008.beyond import beyond
from elephan.papers.leith2008.measure import measurer
from elephan.papers.leith2008.setup import SCENARIOS, Setup
from elephan.papers.paper import Code

CODE = Code(Setup, SCENARIOS, measurer, beyond, scaled=frozenset(("throughput_mbps", "cwnd", "rate")))

"""S. Ha, Y. Kim, L. Le, I. Rhee, L. Xu: A Step toward Realistic Performance Evaluation of High-Speed TCP Variants
(PFLDnet 2006).

Each of six high-speed protocols competes with TCP-SACK and with a second flow of its own protocol. The path has 400
Mbit/s, an RTT of 16 to 324 ms, and a buffer of 2 MB. The runs are made without and with background traffic.
"""

from __future__ import annotations

from elephan.papers.ha2006.beyond import beyond
from elephan.papers.ha2006.measure import measurer
from elephan.papers.ha2006.setup import SCENARIOS, Setup
from elephan.papers.paper import Code

CODE = Code(Setup, SCENARIOS, measurer, beyond)

"""M. C. Weigle, P. Sharma, J. R. Freeman: Performance of Competing High-Speed TCP Flows (Networking 2006).

The paper measures the shares of two high-speed flows, one of which starts 50 s after the other. The runs are 36 ordered
pairs of six protocols over 622 Mbit/s and 100 ms, with three buffers. In 21 more pairs both flows start together.
"""

from __future__ import annotations

from elephan.papers.paper import Code
from elephan.papers.weigle2006.beyond import open_question
from elephan.papers.weigle2006.figures import figures
from elephan.papers.weigle2006.measure import measurer
from elephan.papers.weigle2006.setup import SCENARIOS, Setup

CODE = Code(Setup, SCENARIOS, measurer, open_question, figures)

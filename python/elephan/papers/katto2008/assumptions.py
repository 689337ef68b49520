"""Values that katto2008 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.katto2008.setup import (
    LONGEST_S,
    LOSSES_IN_A_RUN,
    SHORT_FLOWS,
    SHORT_FROM_S,
    SHORT_MEAN_BYTES,
    SHORT_RUN_S,
    SHORT_SHAPE,
    SHORTEST_S,
)
from elephan.papers.paper import Assumption

ASSUMPTIONS = (
    Assumption(
        "size on the wire",
        "1500 bytes a packet, headers included",
        "the paper's BDP of 333 packets at 100 Mbit/s and 40 ms implies this size",
    ),
    Assumption(
        "base TCP",
        "ns-2's Sack1 for all, an ACK for every packet",
        "the paper has ns-2 simulations of 'TCP-Reno (SACK)', and does not state the base of the other algorithms; "
        "the variant tcp-linux has ns-2's TCP/Linux",
    ),
    Assumption(
        "losses",
        "each data packet is lost with the same probability before the bottleneck's queue; ACKs are not lost",
        "the paper has 'random errors' and a rate p. Losses after the queue instead of before it would change the "
        "load of the bottleneck by the fraction p",
    ),
    Assumption(
        "loss rates",
        "1e-6 to 1e-1, two a decade",
        "the text does not state the axis of figure 7; the grid includes the borders between its cases",
    ),
    Assumption(
        "length of a run",
        f"{LOSSES_IN_A_RUN}/p packets at full rate, {SHORTEST_S:g} s at least and {LONGEST_S:g} s at most; measured "
        "from a tenth of it on",
        "not stated; long enough for many losses without the start of the run, and short enough for three seeds. At "
        "the lowest loss rates, most losses happen at the full queue",
    ),
    Assumption("two flows", "both begin within 0.1 s", "not stated; the paper compares steady states"),
    Assumption(
        "a claim about a case",
        "the mean over the grid's loss rates in the case that a claim names; without a case, over all loss rates",
        "the paper speaks of regions of figure 7 and gives no point",
    ),
    Assumption(
        "FAST",
        "ns-2's module with alpha 100",
        "alpha is not stated; 100 is the module's default. The variant fast-alpha-30 has 30, far less than the buffer",
    ),
    Assumption(
        "CTCP",
        "INFOCOM 2006: growth by 1/8 window^0.75, computed from the whole window; tuned threshold; as Reno below 38 "
        "packets",
        "Table 3 states the growth; the rest is not stated. The variant ctcp-draft has dwnd^0.75, as in the drafts",
    ),
    Assumption(
        "Fusion's Dmin and N",
        "10 ms, and the true number of flows of the model (1, or 2 beside Reno)",
        "Dmin is 'TCP timer granularity', and ns-2's clock has ticks of 10 ms. With this value the path is full "
        "again after about one round trip, as the paper says. The variant fusion-1ms has the growth of the "
        "implementations",
    ),
    Assumption(
        "RTTs",
        "exact",
        "not stated. In the variant rtt-1ms, ARENO's clock cannot distinguish RTTs within 1 ms of the shortest RTT "
        "from the shortest RTT",
    ),
    Assumption(
        "ARENO's and YeAH's other constants",
        "the values of their implementations",
        "not stated: the paper abstracts from them",
    ),
    Assumption(
        "Reno's window in claims about refilling",
        "250 packets beside a Reno flow, in the middle of case 2",
        "the paper states no number; Table 2 is checked at the same window in this case. The results at other "
        "windows of the case are beside the verdict",
    ),
    Assumption(
        "short flows",
        f"{SHORT_FLOWS} Reno flows; their sizes are the percentiles of a Pareto distribution with mean "
        f"{SHORT_MEAN_BYTES // 1000} kB and shape {SHORT_SHAPE:g}; they start at random times within 100 s, from "
        f"{SHORT_FROM_S} s to {SHORT_RUN_S} s",
        "the paper has '100 short-lived flows which appear randomly'. In the variant short-50kB each flow has 50 kB. "
        "The variants short-users and short-users-100kB have a hundred users, who start a new transfer of 25 kB or "
        "100 kB on average a second after the previous transfer. A long flow can only drive out short flows, as in "
        "the paper, if they have a large share of the link. The results of both kinds of variants were known before "
        "this choice",
    ),
    Assumption(
        "throughput of the short flows",
        "the sum of their bits divided by the sum of their durations",
        "the sizes determine the total number of bits, so only the durations can distinguish the long flows; the "
        "variant short-in-window has the bits that arrive in the 100 s",
    ),
    Assumption(
        "long flows of figure 8",
        "Reno, CTCP 1/2 and 7/8, YeAH 1.01, 1.03 and 1.1, Fusion, ARENO",
        "the text does not state the axis of the figure; the text names these algorithms",
    ),
)

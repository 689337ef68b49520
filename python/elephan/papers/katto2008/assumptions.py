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
        "a BDP of 333 packets at 100 Mbit/s and 40 ms leaves no other",
    ),
    Assumption(
        "base TCP",
        "ns-2's Sack1 for all, an ACK for every packet",
        "the paper has ns-2 simulations of 'TCP-Reno (SACK)', and does not say on what the others were built; the "
        "variant tcp-linux has ns-2's TCP/Linux",
    ),
    Assumption(
        "losses",
        "each packet is lost with the same probability as it comes to the bottleneck, towards the receivers only",
        "the paper has 'random errors' and a rate p. Whether they come before the queue or after it changes the load "
        "of the bottleneck by the part p",
    ),
    Assumption(
        "loss rates",
        "1e-6 to 1e-1, two a decade",
        "the axis of figure 7 is not to be read in the text; the borders between its cases are inside",
    ),
    Assumption(
        "length of a run",
        f"{LOSSES_IN_A_RUN}/p packets at full rate, {SHORTEST_S:g} s at least and {LONGEST_S:g} s at most; measured "
        "from a tenth of it on",
        "not stated; long enough for many losses, without the start, and short enough for three seeds. At the lowest "
        "rates most losses are those at the full queue",
    ),
    Assumption("two flows", "both begin within 0.1 s", "not stated; the paper compares steady states"),
    Assumption(
        "a claim about a case",
        "the mean over the loss rates of the grid in that case; without a case, over all of them",
        "the paper speaks of regions of figure 7 and gives no point",
    ),
    Assumption(
        "FAST",
        "ns-2's module with alpha 100",
        "alpha is not stated; the module's default. The variant fast-alpha-30 has 30, less than the buffer by far",
    ),
    Assumption(
        "CTCP",
        "INFOCOM 2006: 1/8 window^0.75 from the whole window, tuned threshold, as Reno below 38 packets",
        "Table 3 has the growth; the rest is not stated. The variant ctcp-draft has dwnd^0.75, as the drafts",
    ),
    Assumption(
        "Fusion's Dmin and N",
        "10 ms, and the true number of flows of the model (1, or 2 beside Reno)",
        "Dmin is 'TCP timer granularity', and ns-2's clock ticks each 10 ms; with it the pipe is full again in about a "
        "round trip, as the paper says. The variant fusion-1ms has the growth of the implementations",
    ),
    Assumption(
        "RTTs",
        "exact",
        "not stated. The variant rtt-1ms gives ARENO a clock to which RTTs within 1 ms of the shortest look like it",
    ),
    Assumption(
        "ARENO's and YeAH's other constants",
        "as their implementations have them",
        "not stated: the paper abstracts from them",
    ),
    Assumption(
        "the window of a claim about refilling",
        "250 packets beside a Reno flow, in the middle of case 2",
        "the paper has no number; this is where Table 2 is checked in that case. What it is elsewhere in the case "
        "stands beside the verdict",
    ),
    Assumption(
        "short flows",
        f"{SHORT_FLOWS} Reno flows; sizes are the percentiles of a Pareto distribution of mean "
        f"{SHORT_MEAN_BYTES // 1000} kB and shape {SHORT_SHAPE:g}; "
        f"they begin at random within 100 s, from {SHORT_FROM_S} s to {SHORT_RUN_S} s",
        "the paper has '100 short-lived flows which appear randomly'. The variant short-50kB has 50 kB each. In "
        "the variants short-users and short-users-100kB there are a hundred users, who begin a new transfer a second "
        "after the last, of 25 kB or 100 kB on average: only if short flows take a large share of the link can a long "
        "flow drive them out, as the paper has it. Both kinds of variants were seen before this was written",
    ),
    Assumption(
        "throughput of the short flows",
        "their bits over their durations, both summed",
        "what they send in all is given by their sizes, so that only how quickly they have it can tell the long flows "
        "apart; the variant short-in-window has the bits that arrive in the 100 s",
    ),
    Assumption(
        "long flows of figure 8",
        "Reno, CTCP 1/2 and 7/8, YeAH 1.01, 1.03 and 1.1, Fusion, ARENO",
        "the axis of the figure is not to be read in the text; these are the ones that the paper names",
    ),
)

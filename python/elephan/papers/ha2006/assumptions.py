"""Values that ha2006 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.ha2006.setup import FAST_ALPHA
from elephan.papers.paper import Assumption

ASSUMPTIONS = (
    Assumption(
        "packets and ACKs",
        "1500 bytes on the wire with 1448 of payload, one ACK for two segments, no appropriate byte counting",
        "Linux 2.6.13 sends these packets over Ethernet, and its windows grow by counted ACKs",
    ),
    Assumption(
        "source of the algorithms' rules",
        "the rules of Linux 2.6: BIC keeps 0.8 and grows by at most 32 segments a round trip, CUBIC keeps 0.8 and "
        "grows by at most 160 segments/s, H-TCP scales with the RTT, and Reno, HSTCP and STCP count ACKs; the "
        "modules of 2.6.22, unless a module of 2.6.13 is known to differ",
        "the paper names the kernel; the limit of 32 is in that kernel's BIC (a patch to 2.6.14 halves the limit). A "
        "variant has the published rules",
    ),
    Assumption(
        "first slow start of BIC and CUBIC",
        "ends at 100 segments",
        "both modules had this initial threshold until 2007; the modules of the other algorithms have none. The "
        "paper explains the short convergence times of BIC and CUBIC at 324 ms by a slow start that disturbs the "
        "first flow much. Such a slow start needs a larger threshold; a variant has no threshold",
    ),
    Assumption(
        "FAST",
        f"alpha {FAST_ALPHA}, the INFOCOM 2004 update every other round trip, and doubling while the averaged "
        "queueing delay is below 0.75 ms; each flow uses its smallest RTT sample as the RTT of the empty path",
        "the paper states no parameter, and the code for Linux 2.4 is not available. FAST increases multiplicatively "
        "while the queue is short (hcc2011 describes this growth), and the threshold is that of ns-2's module. An "
        "earlier version of this reproduction had no doubling. The choice was made after the verdicts of both "
        "versions were known: doubling changes three verdicts, two of them to a difference. Variants have no "
        "doubling, an alpha of 100 or 400, or flows that know the RTT of the empty path",
    ),
    Assumption(
        "recovery",
        "forward acknowledgment and rate halving; a timeout is at least the smoothed RTT plus 200 ms; SACK "
        "processing takes no time",
        "recovery of Linux 2.6, whose timeout has this lower bound for the RTT's variation; the authors made the "
        "SACK processing equally fast for all algorithms. A variant has today's recovery",
    ),
    Assumption(
        "buffers",
        "2,000,000 bytes, counted in bytes, in both directions, at 400 and at 100 Mbit/s",
        "stated as 2 Mbytes; dummynet counts bytes; the paper does not describe the reverse bottleneck",
    ),
    Assumption(
        "round-trip times of the measured flows",
        "16, 42, 82, 162 and 324 ms in both directions together, without queues; 5 ms of this delay are at the "
        "bottleneck, and the rest is at the access links",
        "the text calls them both propagation delays and RTTs, and uses 80, 160 and 300 ms for the same runs",
    ),
    Assumption(
        "receive windows of the measured flows",
        "never reached",
        "the paper reports windows above ten thousand packets",
    ),
    Assumption(
        "which flow starts first",
        "the high-speed flow before TCP-SACK; of two flows with different RTTs, the flow with 162 ms",
        "not stated; a variant has TCP-SACK first",
    ),
    Assumption(
        "long-lived background flows",
        "TCP-SACK flows whose receive windows of 65,535 bytes limit them to half of the capacity together: 13 flows "
        "at 400 Mbit/s, 4 flows at 100 Mbit/s",
        "the paper says that background traffic alone could fill the link, and gives no numbers. The RTTs of these "
        "flows are spread evenly over the distribution, since a few flows with short RTTs have most of the total rate",
    ),
    Assumption(
        "short background flows",
        "Poisson arrivals that offer 60 % of the capacity; sizes lognormal (median 11.6 kB) with a Pareto tail from "
        "133 kB (shape 1.1, at most 100 MB)",
        "the paper names the distributions; the parameters are those of SURGE by Barford and Crovella, which the "
        "paper cites. The first experiment measures the utilization by background traffic alone",
    ),
    Assumption(
        "reverse background",
        "the same kinds of flows at half the load",
        "the paper says that both kinds of flows are also in the reverse direction",
    ),
    Assumption(
        "round-trip times of the background",
        "quantiles from 5 ms to 1 s, median 72 ms, 60 % below 100 ms",
        "the study that the paper cites (Aikat et al. 2003) found 60 % below 100 ms; the rest of the shape is our "
        "choice. Two variants have other distributions",
    ),
    Assumption(
        "throughput and loss",
        "bits on the wire and packets at the bottleneck, from 135 s on; of all flows together for utilization, "
        "stability and losses, and of the two measured flows for Jain's index",
        "the paper's descriptions",
    ),
    Assumption(
        "convergence time",
        "from 130 s until the second flow's mean over 10 s first reaches 80 % of the first's, in steps of 1 s; if "
        "the mean never reaches 80 %, the remaining 1070 s are used",
        "the paper speaks of the timed average at one-second intervals",
    ),
    Assumption(
        "claims that name no RTT",
        "are judged by the mean over the RTTs of their figure",
        "the paper speaks of its curves",
    ),
    Assumption(
        "RTTs at which HTCP's flow with the longer RTT gets more bandwidth",
        "at least one of 16, 42 and 82 ms",
        "the text does not say at which RTTs the statement holds",
    ),
    Assumption(
        "repetitions",
        "three seeds if two flows of an algorithm run without background, otherwise one seed",
        "the paper states no number of repetitions. Without background, the losses of two flows depend on random "
        "phases: with a second seed the CoV of two HTCP flows at 324 ms changes from 0.06 to 0.10. A run with "
        "background has thousands of losses and takes five times as long. The option --seeds gives more seeds of all "
        "runs",
    ),
    Assumption(
        "randomness",
        "starts up to 0.1 s later and each packet up to one packet time (12 µs) later, by seed; the arrivals, sizes "
        "and RTTs of short flows depend on the seed and not on the algorithm",
        "a simulator without noise would keep two flows in exactly the same phase, which is an artefact",
    ),
)

"""Values that ha2006 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.ha2006.setup import FAST_ALPHA
from elephan.papers.paper import Assumption

ASSUMPTIONS = (
    Assumption(
        "packets and ACKs",
        "1500 bytes on the wire with 1448 of payload, one ACK for two segments, no appropriate byte counting",
        "what Linux 2.6.13 sends over Ethernet; its windows count ACKs",
    ),
    Assumption(
        "whose code",
        "the rules of Linux 2.6: BIC keeps 0.8 and grows by at most 32 segments a round trip, CUBIC keeps 0.8 and "
        "grows by at most 160 segments/s, H-TCP scales with the RTT, and Reno, HSTCP and STCP count ACKs; modules of "
        "2.6.22 where that of 2.6.13 is not known to differ",
        "the paper names the kernel; the limit of 32 is in that kernel's BIC (a patch to 2.6.14 halves it). A variant "
        "has the published rules",
    ),
    Assumption(
        "first slow start of BIC and CUBIC",
        "ends at 100 segments",
        "both modules had this initial threshold then (until 2007); the others have none. The paper explains their "
        "short convergence at 324 ms by a slow start that disturbs the first flow much, which asks for none: a variant",
    ),
    Assumption(
        "FAST",
        f"alpha {FAST_ALPHA}, the INFOCOM 2004 update every other round trip, and doubling while the averaged queueing "
        "delay is under 0.75 ms; each flow takes the least RTT that it sees for that of the empty path",
        "the paper states no parameter, and the code for Linux 2.4 is not to be had. FAST increases multiplicatively "
        "while little queues (hcc2011 describes it so), and the threshold is that of ns-2's module; an earlier version "
        "of this reproduction left it out. Both were seen with their verdicts: three turn, two for the worse with it. "
        "Variants are without it, with alpha 100 and 400, and with flows that are told the RTT of the empty path",
    ),
    Assumption(
        "recovery",
        "forward acknowledgment and rate halving; a timeout comes at least 200 ms after the smoothed RTT; SACK "
        "processing takes no time",
        "Linux 2.6, whose timeout has this floor under the RTT's variation, and the authors made SACK equally fast for "
        "all; a variant has today's recovery",
    ),
    Assumption(
        "buffers",
        "2,000,000 bytes, in bytes, in either direction, at 400 and at 100 Mbit/s",
        "stated as 2 Mbytes; dummynet takes bytes; the reverse bottleneck is not described",
    ),
    Assumption(
        "round-trip times of the measured flows",
        "16, 42, 82, 162 and 324 ms there and back without queues; 5 ms of it at the bottleneck, the rest at the ends",
        "the text calls them propagation delays and RTTs alike, and 80, 160 and 300 ms are the same runs",
    ),
    Assumption(
        "receive windows of the measured flows",
        "never reached",
        "the paper reports windows above ten thousand packets",
    ),
    Assumption(
        "which flow starts first",
        "the variant before TCP-SACK; of two with different RTTs, the one with 162 ms",
        "not stated; a variant has TCP-SACK first",
    ),
    Assumption(
        "long-lived background flows",
        "so many TCP-SACK flows that their receive windows of 65,535 bytes allow half of the capacity together: 13 at "
        "400 Mbit/s, 4 at 100",
        "the paper says that background alone could fill the link, and gives no numbers. Their RTTs are spread evenly "
        "over the distribution, since a few short ones have most of the sum",
    ),
    Assumption(
        "short background flows",
        "Poisson arrivals that offer 60 % of the capacity; sizes lognormal (median 11.6 kB) with a Pareto tail from "
        "133 kB (shape 1.1, at most 100 MB)",
        "the paper names the distributions; these parameters are those of Barford and Crovella's SURGE, which it "
        "cites. How much background alone fills the link is measured in the first experiment",
    ),
    Assumption(
        "reverse background",
        "the same kinds of flows at half the load",
        "both kinds are said to be in the reverse direction too",
    ),
    Assumption(
        "round-trip times of the background",
        "quantiles from 5 ms to 1 s, median 72 ms, 60 % below 100 ms",
        "the study that the paper cites (Aikat et al. 2003) found 60 % below 100 ms; the rest of the shape is ours. "
        "Variants with two other distributions",
    ),
    Assumption(
        "throughput and loss",
        "bits on the wire and packets at the bottleneck, from 135 s on; all flows together for utilization, stability "
        "and losses, the two measured flows for Jain's index",
        "as the paper describes them",
    ),
    Assumption(
        "convergence time",
        "from 130 s until the second flow's mean over 10 s first reaches 80 % of the first's, in steps of 1 s; never "
        "counts as the 1070 s that are left",
        "the paper speaks of the timed average at one-second intervals",
    ),
    Assumption(
        "claims that name no RTT", "are about the mean over the RTTs of their figure", "the paper speaks of its curves"
    ),
    Assumption(
        "which RTTs have more bandwidth for HTCP's longer flow",
        "one of 16, 42 and 82 ms is enough",
        "the text does not say for which it holds",
    ),
    Assumption(
        "repetitions",
        "three seeds where two flows of a variant run alone, one elsewhere",
        "the paper names none. Alone, two flows lose by chance of phase: with a second seed the CoV of two HTCP flows "
        "at 324 ms goes from 0.06 to 0.10. A run with background has thousands of losses and costs five times as much; "
        "more seeds of all are an option away",
    ),
    Assumption(
        "randomness",
        "starts up to 0.1 s later and each packet up to one packet time (12 µs) later, by seed; arrivals, sizes and "
        "RTTs of short flows are the same for all algorithms with the same seed",
        "two flows in perfect phase are an artefact of a simulator without noise",
    ),
)

"""Values that hcc2011 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.paper import Assumption

QUICK_NOTE = (
    "Rates, buffers, alpha and Imin are a tenth, times are the paper's, and random losses are a hundred times as many, "
    "which keeps Reno's windows in proportion. Fig 15 has three buffers and Fig 19 three sizes. One seed. Rates and "
    "packets are shown at the paper's scale. High-speed rules depend on the window itself, so that they do not keep "
    "their proportions; the delay-based ones do"
)

ASSUMPTIONS = (
    Assumption(
        "RTT of the experiments with one flow",
        "120 ms (Figs 6 to 9 and 15 to 19)",
        "only the 20 ms of the bottleneck are stated. At 40 ms Reno fills the link from 1000 packets on and Vegas "
        "nearly always, against the text; 120 ms is the RTT of the paper's tests with equal RTTs. Variants with 40 and "
        "60 ms",
    ),
    Assumption(
        "which code HSTCP, STCP, HTCP and BIC are",
        "rules of ns-2's SACK agent: RFC 3649, 0.01 an ACK and 1/8 down, adaptive backoff without RTT scaling, and 1/8 "
        "and 32 segments; the first loss, and any loss in slow start, halves the window",
        "the evaluation tool that the paper cites (NEC Labs, 2007) has these four under these names, as window options "
        "of Agent/TCP/Sack1, and FAST as its module. TCP/Linux, which the paper cites as well, was taken at first, and "
        "was left when the tool's code was looked up, after verdicts with both had been seen; the variant with "
        "TCP/Linux gives its own totals",
    ),
    Assumption(
        "which code TCP-Illinois is",
        "TCP/Linux with Linux 2.6.22's module, which keeps the fraction of the window that it should give up",
        "of what the paper cites only TCP/Linux has it; the line was corrected in Linux in November 2007 and never in "
        "ns-2.35. A variant has it corrected",
    ),
    Assumption(
        "TCP Reno and TCP Vegas",
        "Reno on ns-2's SACK agent; ns-2's Vegas with alpha 1 and beta 3",
        "ns-2's own; Reno without SACK is not to be had here and would do worse with several losses in a window",
    ),
    Assumption(
        "FAST's code",
        "ns-2's module as in version 1.1, which the paper cites: an update every round trip, and doubling whenever the "
        "averaged queueing delay is below 0.75 ms",
        "version 1.1.3 updates every other round trip; a variant has it",
    ),
    Assumption(
        "the base TCP of HCC and FAST",
        "ns-2's SACK agent: three duplicate ACKs, then a count of what is in the pipe",
        "FAST's module repairs losses in that way, and HCC has grown from it; a variant has both on TCP/Linux",
    ),
    Assumption(
        "known propagation delay",
        "FAST is told the RTT of its path, HCC half of it, both without transmission times",
        "the paper: each flow knows its true propagation delay; the transmission times are three packets of the queue",
    ),
    Assumption(
        "HCC's averages",
        "the mean over each round trip",
        "the paper says average and no more; a variant has FAST's moving average",
    ),
    Assumption(
        "HCC's smallest step Imin",
        "1 segment, of which half is made",
        "not stated; a variant with BIC's 0.01",
    ),
    Assumption(
        "HCC's mi_threshold",
        "0.75 ms",
        "not stated; that of FAST's module",
    ),
    Assumption(
        "when the lower end of HCC's search moves",
        "every round trip (Table 1)",
        "section 3.3 waits until the whole target has been added; a variant does",
    ),
    Assumption(
        "how HCC makes a step",
        "increases are spread over the round trip that follows, decreases made at once",
        "not stated; a variant makes increases at once, as a burst",
    ),
    Assumption(
        "size on the wire and throughput",
        "1000 bytes of data and 40 of headers a packet; throughput is bits on the wire at the receivers, from 0 to 300 "
        "s",
        "ns-2's packets; the paper's totals reach 199.67 of 200 Mbit/s, which the data alone cannot (192.3), so headers"
        " are counted. The totals miss the rate by some 0.5 s of an idle link, a start-up. 1000 bytes in all were taken"
        " at first; a variant has them",
    ),
    Assumption(
        "access links",
        "200 Mbit/s as the bottleneck (1 Gbit/s in Fig 13), their queues with the limit of the bottleneck's, and half "
        "of what is missing to the RTT on either side",
        "the paper names one rate, for the forward and reverse links each, and a buffer for each router along a path; "
        "the evaluation tool that it cites gives every link the bottleneck's limit. 1 Gbit/s without a limit were taken"
        " at first, and left after verdicts had been seen, for what ns-2.35 itself says: two flows of its FAST module "
        "in 600 packets at a ratio of 1.5 have 119.2 and 48.8 Mbit/s with access links of 1 Gbit/s, and 187.25 and "
        "12.19 with these (printed: 187.13 and 12.43); its HSTCP has 197.82 and 1.71 (printed: 197.91 and 1.68), and "
        "with 2000 packets at a ratio of 2 199.29 and 0.21 (printed: 199.35 and 0.23). A variant has 1 Gbit/s",
    ),
    Assumption(
        "what counts as queue",
        "packets that wait at the bottleneck or on the link by which a flow comes to it",
        "a lone flow's window stands in front of the first of two equal links; the paper speaks of packets kept at the "
        "routers along the path",
    ),
    Assumption("ACKs", "40 bytes, for every packet", "ns-2's sink"),
    Assumption(
        "queue bound",
        "a limit of N packets holds N − 1 waiting, and the one being sent is not counted",
        "ns-2's drop-tail test; the published buffers are ns-2's limits",
    ),
    Assumption(
        "receive window and initial threshold",
        "40 000 segments",
        "not stated; a path of 360 ms takes 9000 segments, and must not be limited by either",
    ),
    Assumption(
        "random losses",
        "at the bottleneck, of packets that have left its queue",
        "the paper gives the probabilities and the process (Bernoulli)",
    ),
    Assumption(
        "the four flows of Fig 14, and the start of Fig 10 and Table 2",
        "120 ms, all from 0 s",
        "Fig 14 has no RTT, and Table 2 no start",
    ),
    Assumption(
        "Fig 11",
        "120 and 120 ms, and 60 and 120 ms; the second flow comes at 50 s, and times are counted from then on",
        "neither is stated, and the paper's 80 s may be either; a variant starts both at 0 s",
    ),
    Assumption(
        "Figs 12 and 13",
        "RTTs of 60, 90 and 120 ms; 10 000 packets at 1 Gbit/s; starts as in Fig 12",
        "not stated; variants with 60, 120 and 360 ms, and with 20 000 packets",
    ),
    Assumption(
        "the reverse source",
        "200 Mbit/s while it is on, the setting is the fraction of time that it is on, a cycle lasts 1 s on average",
        "the paper speaks of an ON-OFF setting from 0 to 1. Below some 192 Mbit/s no queue would stand on the reverse "
        "path, so the rate is at least that. A variant with cycles of 0.1 s",
    ),
    Assumption(
        "windows and rates over time, Figs 16 and 17",
        "the reverse source is always on; 2000 packets",
        "the setting is not stated there",
    ),
    Assumption(
        "stable, fixed, and converged",
        "what is said of a lone flow's stable window or of its losses is measured from 30 s on; rates have converged "
        "when they stay within 10 % of each other for 20 s, in bins of 1 s; of three flows, from 220 s on",
        "the paper reads its curves by eye",
    ),
    Assumption(
        "randomness",
        "starts up to 0.1 s later, and each packet up to 1/40 of a packet time (1 µs), by seed",
        "ns-2 has no noise unless asked. With links of one rate a flow's packets come in the slots that its own left, "
        "and a full queue drops those of the flow that comes later in a slot: Table 2 is made of such phases, "
        "6 to 22 µs apart. Flows of equal RTTs have no such distance; 1 µs decides between them, where otherwise the "
        "one listed first would always win. Noise of a whole packet time was on at first; that and none are variants",
    ),
)

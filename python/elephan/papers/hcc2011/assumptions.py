"""Values that hcc2011 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.paper import Assumption

QUICK_NOTE = (
    "Rates, buffers, alpha and Imin are a tenth of the paper's. Times are the paper's, and the probability of random "
    "losses is multiplied by a hundred, which scales Reno's windows by a tenth too. Fig 15 has three buffers, Fig 19 "
    "has three packet sizes, and each run has one seed. Rates and packets are shown at the paper's scale. The "
    "windows of the high-speed rules do not scale in this way, since these rules depend on the window itself; the "
    "windows of the delay-based rules do"
)

ASSUMPTIONS = (
    Assumption(
        "RTT of the experiments with one flow",
        "120 ms (Figs 6 to 9 and 15 to 19)",
        "the paper states only the 20 ms of the bottleneck. At 40 ms Reno would fill the link with buffers from 1000 "
        "packets on, and Vegas with nearly all buffers, in contradiction to the text; 120 ms is the RTT of the "
        "paper's tests with equal RTTs. Variants have 40 and 60 ms",
    ),
    Assumption(
        "code of HSTCP, STCP, HTCP and BIC",
        "rules of ns-2's SACK agent: RFC 3649 for HSTCP; growth by 0.01 per ACK and a decrease by 1/8 for STCP; "
        "adaptive backoff without RTT scaling for HTCP; a decrease by 1/8 and at most 32 segments per round trip for "
        "BIC. The first loss, and any loss in slow start, halves the window",
        "the evaluation tool that the paper cites (NEC Labs, 2007) has these four algorithms, under these names, as "
        "window options of Agent/TCP/Sack1, and FAST as a module. An earlier version of this reproduction used "
        "TCP/Linux, which the paper also cites. It was replaced after the tool's code was examined, when the "
        "verdicts with both were known; the variant with TCP/Linux has its own totals",
    ),
    Assumption(
        "code of TCP-Illinois",
        "TCP/Linux with the module of Linux 2.6.22, which keeps the fraction of the window by which it should reduce "
        "the window",
        "of the code that the paper cites, only TCP/Linux has Illinois. The error was corrected in Linux in November "
        "2007, but not in ns-2.35. A variant has the corrected code",
    ),
    Assumption(
        "TCP Reno and TCP Vegas",
        "Reno on ns-2's SACK agent; ns-2's Vegas with alpha 1 and beta 3",
        "ns-2's implementations; Elephan has no Reno without SACK, which would be slower after several losses in a "
        "window",
    ),
    Assumption(
        "FAST's code",
        "ns-2's module as in version 1.1, which the paper cites: an update every round trip, and doubling whenever the "
        "averaged queueing delay is below 0.75 ms",
        "version 1.1.3 updates every other round trip; a variant has this version",
    ),
    Assumption(
        "the base TCP of HCC and FAST",
        "ns-2's SACK agent: three duplicate ACKs start the recovery, which then counts the packets in flight",
        "FAST's module recovers from losses in this way, and HCC was developed from this module; a variant has both "
        "on TCP/Linux",
    ),
    Assumption(
        "known propagation delay",
        "FAST knows the RTT of its path and HCC knows half of it, both without transmission times",
        "the paper says that each flow knows its true propagation delay; the transmission times correspond to three "
        "packets in the queue",
    ),
    Assumption(
        "HCC's averages",
        "the mean over each round trip",
        'the paper says "average" without details; a variant has FAST\'s moving average',
    ),
    Assumption(
        "HCC's smallest step Imin",
        "1 segment, half of which is applied",
        "not stated; a variant has BIC's 0.01",
    ),
    Assumption(
        "HCC's mi_threshold",
        "0.75 ms",
        "not stated; FAST's module has this value",
    ),
    Assumption(
        "time at which the lower end of HCC's search moves",
        "every round trip (Table 1)",
        "in section 3.3 the lower end moves only after the whole target has been added; a variant has this rule",
    ),
    Assumption(
        "timing of HCC's changes of the window",
        "increases are spread over the following round trip, and decreases are immediate",
        "not stated; in a variant, increases are immediate and cause a burst",
    ),
    Assumption(
        "size on the wire and throughput",
        "1000 bytes of data and 40 of headers a packet; throughput is bits on the wire at the receivers, from 0 to 300 "
        "s",
        "these are ns-2's packets. The paper's totals reach 199.67 of 200 Mbit/s, while data without headers could "
        "only reach 192.3 Mbit/s, so the paper counts headers. The difference to 200 Mbit/s corresponds to about 0.5 "
        "s of an idle link, as in a start-up. An earlier version had 1000 bytes in total; a variant has this size",
    ),
    Assumption(
        "access links",
        "the bottleneck's rate of 200 Mbit/s (1 Gbit/s in Fig 13) and buffer; half of the remaining propagation "
        "delay is on either side",
        "the paper states one rate for all forward and reverse links, and a buffer for each router along a path; in "
        "the evaluation tool that the paper cites, every link has the bottleneck's limit. An earlier version had 1 "
        "Gbit/s without a limit. It was changed after the verdicts were known, because of results of ns-2.35 itself. "
        "With 600 packets and a ratio of 1.5, two flows of ns-2's FAST module have 119.2 and 48.8 Mbit/s with access "
        "links of 1 Gbit/s, and 187.25 and 12.19 with these links (printed: 187.13 and 12.43); ns-2's HSTCP has "
        "197.82 and 1.71 (printed: 197.91 and 1.68), and with 2000 packets at a ratio of 2, 199.29 and 0.21 "
        "(printed: 199.35 and 0.23). A variant has 1 Gbit/s",
    ),
    Assumption(
        "packets counted as queued",
        "packets that wait at the bottleneck or at a flow's access link before it",
        "the packets of a lone flow wait at the first of two equal links; the paper speaks of packets kept at the "
        "routers along the path",
    ),
    Assumption("ACKs", "40 bytes, for every packet", "ns-2's sink"),
    Assumption(
        "queue bound",
        "with a limit of N packets, at most N − 1 packets wait; the packet in transmission is not counted",
        "ns-2's drop-tail queue drops in this way; the published buffers are limits of ns-2",
    ),
    Assumption(
        "receive window and initial threshold",
        "40 000 segments",
        "not stated; the BDP of a path of 360 ms is 9000 segments, and neither value may limit the flow",
    ),
    Assumption(
        "random losses",
        "packets are lost at the bottleneck, after they have left its queue",
        "the paper gives the probabilities and the process (Bernoulli)",
    ),
    Assumption(
        "RTTs of Fig 14, and start times of Fig 10, Table 2 and Fig 14",
        "120 ms, all from 0 s",
        "the paper states no RTT for Fig 14 and no start times for Table 2",
    ),
    Assumption(
        "Fig 11",
        "RTTs of 120 and 120 ms, and of 60 and 120 ms; the second flow starts at 50 s, and times count from this start",
        "the paper does not state the start, and its 80 s may be the time since 0 s or since the second start; in a "
        "variant both flows start at 0 s",
    ),
    Assumption(
        "Figs 12 and 13",
        "RTTs of 60, 90 and 120 ms; 10 000 packets at 1 Gbit/s; starts as in Fig 12",
        "not stated; variants have 60, 120 and 360 ms, or 20 000 packets",
    ),
    Assumption(
        "the reverse source",
        "the source sends 200 Mbit/s while it is on; the setting is the fraction of the time in which it is on; a "
        "cycle lasts 1 s on average",
        "the paper speaks of an ON-OFF setting from 0 to 1. Below about 192 Mbit/s there would be no queue on the "
        "reverse path, so the rate must be higher. A variant has cycles of 0.1 s",
    ),
    Assumption(
        "windows and rates over time, Figs 16 and 17",
        "the reverse source is always on; 2000 packets",
        "the paper does not state the setting of these figures",
    ),
    Assumption(
        "definitions of stable, fixed and converged",
        "a lone flow's stable window and its losses are measured from 30 s on. Rates have converged when they stay "
        "within 10 % of each other for 20 s, in bins of 1 s; with three flows, the measurement begins at 220 s",
        "the paper reads its curves by eye",
    ),
    Assumption(
        "randomness",
        "starts up to 0.1 s later, and each packet up to 1/40 of a packet time (1 µs), by seed",
        "ns-2 has no noise by default. If all links have the same rate, the arrivals of a flow's packets at the "
        "queue keep a fixed phase relative to the departures. A full queue then drops the packets of the flow with "
        "the later phase. The results of Table 2 depend on such phases, which are 6 to 22 µs apart. Flows with equal "
        "RTTs have equal phases, so that the flow listed first would always win; random delays of up to 1 µs avoid "
        "this. An earlier version had delays of up to a whole packet time; this and no delays are variants",
    ),
)

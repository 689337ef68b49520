"""Values that leith2008 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.paper import Assumption

ASSUMPTIONS = (
    Assumption(
        "packets",
        "1500 B with 1448 B of payload, an ACK for every second packet, at most 40 ms late",
        "Ethernet with timestamps, as the paper's ACKs of 52 B say; its 5 Mbit/s of ACKs are one for each second "
        "packet of 288 Mbit/s",
    ),
    Assumption(
        "TCP stack",
        "Linux 2.6: forward acknowledgement, rate halving, an initial window of 3, no initial threshold, a receive "
        "window that does not limit",
        "the kernel that the paper names; cached thresholds of earlier connections are taken to be off",
    ),
    Assumption(
        "growth of Reno",
        "one segment a round trip: every acknowledged segment counts, with delayed ACKs too",
        "the paper says one packet a round trip wherever it speaks of Reno or of Compound's loss-based part. Linux "
        "2.6.23 counts ACKs unless told otherwise, which is half of that with delayed ACKs; the variant acks-counted "
        "has it",
    ),
    Assumption(
        "TCP Illinois",
        "Linux 2.6.23 with the backoff corrected and RTT samples ignored for two round trips after a loss",
        "the paper describes both changes; which of its runs had the second is not said",
    ),
    Assumption(
        "Compound TCP",
        "α 1/8, k 3/4, β 1/2, ζ 1, γ between 5 and 30 segments and moved by a quarter of the way, no delay-based "
        "window below 38 segments; growth from the whole window, the smallest RTT of a round trip",
        "the constants of the Linux module that the paper cites, with the rules of INFOCOM 2006 in real numbers. "
        "Draft -01 grows from the delay-based window alone, which is a variant. The same stands in for Vista, of "
        "which no code is known: where the paper names Vista (Figures 5, 6 and 13) this is the algorithm, and not its "
        "faults",
    ),
    Assumption("Cubic", "that of Linux 2.6.22", "the paper says: the default of Linux at the time"),
    Assumption(
        "paths",
        "one drop-tail queue in packets each way, access links of 1 Gbit/s (10 Gbit/s for the path of 1 Gbit/s)",
        "the paper's buffer of 4096 packets, and its network cards; no dummynet ticks, interrupt moderation or busy "
        "hosts except where they are the subject",
    ),
    Assumption(
        "Figure 1",
        "datagrams at 400 Mbit/s, and a run of 400 s (1600 s for the comparison with Reno)",
        "the text wants the window at almost nothing, for which any rate of at least the link's serves",
    ),
    Assumption(
        "recovered, filled",
        "a second with 95 % of the best before the disturbance, counted from its beginning",
        "the paper reads its curves by eye",
    ),
    Assumption(
        "Figure 2: state at 25 s",
        "datagrams at the link's rate from 20 s to 25 s take the window down, as in Figure 1",
        "an ordinary halving in a buffer of one BDP leaves the link full, so that the paper's 60 s at three packets a "
        "round trip and 200 s at one mean a window near nothing; the paper does not say why. (A single second of "
        "datagrams was tried first: it leaves Reno and Compound a slow start threshold of a quarter of the BDP, and "
        "not nothing.) The variant no-burst leaves them out",
    ),
    Assumption(
        "Figure 2: reverse traffic",
        "each on-time is a new Reno connection of 5 s, one every 6 s from 25 s on, with a receive window of 500 kB",
        "the text blames their slow starts",
    ),
    Assumption(
        "Figure 2: increase",
        "measured from 30 s until the link is full again",
        "in the first seconds the windows are below the 15 segments up to which Illinois is standard TCP, or not far "
        "above. Settled after a first look that measured from 26 s on: 8.6 instead of 9.8 segments a round trip "
        "without reverse traffic",
    ),
    Assumption(
        "Figure 3",
        "a buffer of one BDP at both rates, RTT 100 ms at both, runs of 300 s and 3000 s",
        "the text's BDP and RTT",
    ),
    Assumption(
        "Figure 4",
        "the second flow starts at 700 s, the run lasts 2000 s; the shortest time of eight seeds is judged",
        "after the first flow's first epoch; the paper calls its run a best case",
    ),
    Assumption(
        "convergence",
        "the newcomer's window, a mean over 10 s, is 80 % of the other's and stays there for 30 s",
        "the paper speaks of its average fair share, and reads curves",
    ),
    Assumption(
        "starts of two flows",
        "0 s and 20 s in Figure 6, 0 s and 50 s in Figure 11, 0 s and 100 s in Figure 13, together in Figures 8, 9 "
        "and 12",
        "not stated; Figure 5 has 100 s",
    ),
    Assumption(
        "Figure 6: filling the pipe",
        "when the loss-based components of both windows, followed from the samples, are the BDP of 3333 packets",
        "the text has 2500 packets, which is not 200 Mbit/s times 200 ms in packets of 1500 B",
    ),
    Assumption(
        "Figure 7",
        "flow 1 at 16, 30, 60, 90 and 120 ms; from 200 s to 1800 s; where a claim names no RTT, the geometric mean "
        "over those below 120 ms",
        "the axis is not given in words",
    ),
    Assumption(
        "cross traffic",
        "transfers of Reno that begin as a Poisson process, with Pareto sizes of mean 25 kB and shape 1.2, so many "
        "that their data on the wire are the stated load; with SACK",
        "the paper's mean converges so slowly that a rate of arrivals would miss the volume, which the paper says is "
        "the same in each case. The engine has no TCP without SACK. Sizes and times are the same for all algorithms",
    ),
    Assumption(
        "measured part",
        "200 s to 1200 s in Figures 8, 9, 11 and 12, 200 s to 1800 s with cross traffic",
        "the latter is the paper's",
    ),
    Assumption(
        "throughput in captions",
        "payload in Figures 8 and 9 and at 1 Gbit/s, bits on the wire elsewhere",
        "sums of 89 to 90 Mbit/s on 100 Mbit/s are read as payload; differences and ratios do not depend on it",
    ),
    Assumption(
        "links of 100 Mbit/s in Figures 8 and 9",
        "Ethernet: 38 bytes of framing with each packet, which leaves 94 Mbit/s of payload",
        "these two figures are from WAN-in-Lab, which is no dummynet, and 100 Mbit/s is Ethernet's rate. All four "
        "captions add up to 89 or 90, whatever the algorithm and the buffer, as a full link's do; 94.1 Mbit/s are 89.8 "
        "times 2^20 bit/s, which may be what was printed and is not assumed. This was settled after both had been "
        "seen; the variant no-framing counts IP packets only, as everywhere else",
    ),
    Assumption(
        "over-estimate of the largest RTT",
        "the very first RTT sample is too large, by 5 times the buffer's delay in Figure 8(a) and by 10 times in "
        "Figure 12",
        "the paper gives no size. Nothing leaves the link before that time, so that both flows see it and no packet "
        "is lost; half and twice as much, and hosts that take 0.1 and 0.4 µs for each outstanding segment, are "
        "variants. What ignoring samples after a loss is worth (§VIII.A) is judged on the host of 0.1 µs, a cache "
        "miss for each segment: an outlier at the start would not be ignored",
    ),
    Assumption(
        "Figure 11",
        "the second flow's base RTT is 20 ms too long",
        "the paper does not say which flow errs, or whether both",
    ),
    Assumption(
        "Figure 10: reverse flow", "the forward flow's algorithm and RTT", "not stated"
    ),
    Assumption(
        "1 Gbit/s", "RTTs of 30, 60, 90 and 120 ms for the cross traffic; from 100 s to 600 s", "as in Figure 10"
    ),
    Assumption(
        "response function",
        "400 Mbit/s, 200 ms, a buffer of one BDP, loss rates of 1e-7 to 1e-2; a claim is judged where it holds least",
        "described, not plotted; the path is that of Figure 1",
    ),
    Assumption(
        "randomness",
        "starts up to 0.1 s later, and each packet up to one packet time of the access link later, by seed",
        "two flows in perfect phase are an artefact of a simulator without noise; the variant without jitter shows "
        "what depends on it. The paper's runs are single ones",
    ),
)  # fmt: skip

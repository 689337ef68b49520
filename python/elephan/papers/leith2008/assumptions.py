"""Values that leith2008 leaves open, and our assumptions for them."""

from __future__ import annotations

from elephan.papers.paper import Assumption

ASSUMPTIONS = (
    Assumption(
        "packets",
        "1500 B with 1448 B of payload, an ACK for every second packet, at most 40 ms late",
        "Ethernet with timestamps, as the paper's ACKs of 52 B imply; the paper's 5 Mbit/s of ACKs are one ACK for "
        "every second packet of 288 Mbit/s",
    ),
    Assumption(
        "TCP stack",
        "Linux 2.6: forward acknowledgement, rate halving, an initial window of 3, no initial threshold, a receive "
        "window that does not limit",
        "the paper names this kernel; we assume that the thresholds of earlier connections are not cached",
    ),
    Assumption(
        "growth of Reno",
        "one segment a round trip: every acknowledged segment counts, also with delayed ACKs",
        "the paper always states one packet a round trip for Reno and for Compound's loss-based component. Linux "
        "2.6.23 counts ACKs by default, which gives half of this growth with delayed ACKs; the variant acks-counted "
        "has this rule",
    ),
    Assumption(
        "TCP Illinois",
        "Linux 2.6.23 with the backoff corrected and RTT samples ignored for two round trips after a loss",
        "the paper describes both changes, but does not say which of its runs had the second change",
    ),
    Assumption(
        "Compound TCP",
        "α 1/8, k 3/4, β 1/2, ζ 1, γ between 5 and 30 segments and moved by a quarter of the way, no delay-based "
        "window below 38 segments; growth from the whole window, the smallest RTT of a round trip",
        "the constants of the Linux module that the paper cites, with the rules of INFOCOM 2006 in real numbers. In "
        "draft -01, growth depends on the delay-based window alone; a variant has this rule. The experiments with "
        "Windows Vista (Figures 5, 6 and 13) use the same algorithm, without the errors of Vista's implementation, "
        "whose code is not public",
    ),
    Assumption("Cubic", "that of Linux 2.6.22", "the paper calls it the default of Linux at the time"),
    Assumption(
        "paths",
        "one drop-tail queue in packets each way, access links of 1 Gbit/s (10 Gbit/s for the path of 1 Gbit/s)",
        "the paper's buffer of 4096 packets, and its network cards. The timer ticks of dummynet, interrupt "
        "moderation and busy hosts are only simulated in experiments about them",
    ),
    Assumption(
        "Figure 1",
        "datagrams at 400 Mbit/s, and a run of 400 s (1600 s for the comparison with Reno)",
        "the text requires a window of almost nothing, for which any rate of at least the link's rate is sufficient",
    ),
    Assumption(
        "recovered, filled",
        "the first second with 95 % of the largest throughput before the disturbance; the time counts from the "
        "disturbance's beginning",
        "the paper reads its curves by eye",
    ),
    Assumption(
        "Figure 2: state at 25 s",
        "datagrams at the link's rate from 20 s to 25 s take the window down, as in Figure 1",
        "with a buffer of one BDP, an ordinary halving of the window leaves the link full. The paper's 60 s at three "
        "packets a round trip, and 200 s at one packet, therefore require a window near zero, which the paper does "
        "not explain. (Datagrams of a single second were tried first; they leave Reno and Compound a slow-start "
        "threshold of a quarter of the BDP.) The variant no-burst has no such datagrams",
    ),
    Assumption(
        "Figure 2: reverse traffic",
        "each on-time is a new Reno connection of 5 s, one every 6 s from 25 s on, with a receive window of 500 kB",
        "the text explains the effect by their slow starts",
    ),
    Assumption(
        "Figure 2: increase",
        "measured from 30 s until the link is full again",
        "in the first seconds the windows are below, or not far above, the 15 segments up to which Illinois is "
        "standard TCP. This start was chosen after a first measurement from 26 s on, which gave 8.6 instead of 9.8 "
        "segments a round trip without reverse traffic",
    ),
    Assumption(
        "Figure 3",
        "a buffer of one BDP at both rates, RTT 100 ms at both, runs of 300 s and 3000 s",
        "the text states this BDP and RTT",
    ),
    Assumption(
        "Figure 4",
        "the second flow starts at 700 s, and the run lasts 2000 s; the claim is judged by the shortest time of "
        "eight seeds",
        "this start is after the first flow's first epoch; the paper calls its run a best case",
    ),
    Assumption(
        "convergence",
        "the second flow's window, averaged over 10 s, reaches 80 % of the first flow's window and stays above 80 % "
        "for 30 s",
        "the paper speaks of an average fair share, and reads its curves by eye",
    ),
    Assumption(
        "starts of two flows",
        "0 s and 20 s in Figure 6, 0 s and 50 s in Figure 11, 0 s and 100 s in Figure 13; in Figures 8, 9 and 12 "
        "both flows start together",
        "not stated; the text states 100 s for Figure 5",
    ),
    Assumption(
        "Figure 6: time at which the flows fill the path",
        "the time at which the loss-based components of both windows, computed from the samples, together reach the "
        "BDP of 3333 packets",
        "the text states 2500 packets, which differs from 200 Mbit/s times 200 ms in packets of 1500 B",
    ),
    Assumption(
        "Figure 7",
        "flow 1 at 16, 30, 60, 90 and 120 ms; from 200 s to 1800 s; if a claim names no RTT, the geometric mean over "
        "the RTTs below 120 ms",
        "the text does not state the values of the axis",
    ),
    Assumption(
        "cross traffic",
        "Reno transfers with SACK that start as a Poisson process, with Pareto sizes of mean 25 kB and shape 1.2; "
        "their data on the wire have the stated load",
        "the sample mean of these sizes converges slowly, so a stated rate of arrivals would not give the volume, "
        "which is the same in each case according to the paper. The engine has no TCP without SACK. Sizes and times "
        "are the same for all algorithms",
    ),
    Assumption(
        "measured part",
        "200 s to 1200 s in Figures 8, 9, 11 and 12, 200 s to 1800 s with cross traffic",
        "the paper states the latter interval",
    ),
    Assumption(
        "throughput in captions",
        "payload in Figures 8 and 9 and at 1 Gbit/s, otherwise bits on the wire",
        "sums of 89 to 90 Mbit/s on a link of 100 Mbit/s are probably payload; differences and ratios do not depend "
        "on this choice",
    ),
    Assumption(
        "links of 100 Mbit/s in Figures 8 and 9",
        "Ethernet: 38 bytes of framing with each packet, which leaves 94 Mbit/s of payload",
        "these two figures are from WAN-in-Lab, which does not use dummynet, and 100 Mbit/s is Ethernet's rate. The "
        "rates in each of the four captions add up to 89 or 90 Mbit/s for every algorithm and buffer, as for a full "
        "link; 94.1 Mbit/s are 89.8 times 2^20 bit/s, which may be the printed unit, but this is not assumed. The "
        "choice was made after the verdicts of both versions were known; the variant no-framing counts IP packets "
        "only, as in all other experiments",
    ),
    Assumption(
        "over-estimate of the largest RTT",
        "the very first RTT sample is too large, by 5 times the buffer's delay in Figure 8(a) and by 10 times in "
        "Figure 12",
        "the paper states no size. No packet leaves the link before that time, so both flows have this RTT sample "
        "and no packet is lost. Variants have half and twice this size, or hosts that need 0.1 or 0.4 µs for each "
        "outstanding segment. The effect of ignoring samples after a loss (§VIII.A) is judged with the host of 0.1 "
        "µs, a cache miss for each segment, since an outlier at the start would not be ignored",
    ),
    Assumption(
        "Figure 11",
        "the second flow's base RTT is 20 ms too long",
        "the paper does not say if one flow or both flows have this error",
    ),
    Assumption(
        "Figure 10: reverse flow", "the forward flow's algorithm and RTT", "not stated"
    ),
    Assumption(
        "1 Gbit/s", "RTTs of 30, 60, 90 and 120 ms for the cross traffic; from 100 s to 600 s", "as in Figure 10"
    ),
    Assumption(
        "response function",
        "400 Mbit/s, 200 ms, a buffer of one BDP, loss rates of 1e-7 to 1e-2; a claim is judged at the loss rate "
        "with the smallest margin",
        "the paper describes the function without a plot; the path is that of Figure 1",
    ),
    Assumption(
        "randomness",
        "starts up to 0.1 s later, and each packet up to one packet time of the access link later, by seed",
        "a simulator without noise would keep two flows in exactly the same phase, which is an artefact; the variant "
        "without jitter shows the results that depend on the noise. The paper has a single run of each experiment",
    ),
)  # fmt: skip

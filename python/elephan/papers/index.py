"""Index of the papers: the title and the reference of each."""

from __future__ import annotations

INDEX = {
    "hcc2011": (
        "Hybrid congestion control for high-speed networks",
        "W. Xu, Z. Zhou, D. T. Pham, C. Ji, M. Yang, Q. Liu, Journal of Network and Computer Applications 34, 2011",
    ),
    "ha2006": (
        "A Step toward Realistic Performance Evaluation of High-Speed TCP Variants",
        "S. Ha, Y. Kim, L. Le, I. Rhee, L. Xu, PFLDnet 2006",
    ),
    "leith2008": (
        "Experimental Evaluation of Delay/Loss-based TCP Congestion Control Algorithms",
        "D. J. Leith, L. L. H. Andrew, T. Quetchenbach, R. N. Shorten, K. Lavi, PFLDnet 2008",
    ),
    "weigle2006": (
        "Performance of Competing High-Speed TCP Flows",
        "M. C. Weigle, P. Sharma, J. R. Freeman, Networking 2006",
    ),
    "katto2008": (
        "Simple Model Analysis and Performance Tuning of Hybrid TCP Congestion Control",
        "J. Katto, K. Ogura, Y. Akae, T. Fujikawa, K. Kaneko, S. Zhou, 2008",
    ),
}
"""Title and reference of each paper; the key is the name of the paper's folder beside this file."""

"""The changes that every build makes to the kernel's source: HZ, the clock, timers, and the random numbers of flows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RULES = 5
"""Version of the rules of a build. The version is part of a kernel's digest, so a new version gives a new kernel."""


class BuildError(Exception):
    """A build failed; the message is one line."""


@dataclass(frozen=True)
class Change:
    """The replacement of one place in a file of the source.

    Attributes:
        path: the file.
        place: a pattern that matches the place.
        ours: the replacement, as for ``re.sub``.
    """

    path: str
    place: str
    ours: str

    def applies(self, tree: Path) -> bool:
        """Change the file; true if it had the place exactly once."""
        path = tree / self.path
        text, count = re.subn(self.place, self.ours, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if count == 1:
            path.write_text(text, encoding="utf-8")
        return count == 1


_CLOCK = (
    Change("arch/um/include/linux/time-internal.h", r"(#define TIMER_MULTIPLIER\s+)\d+", r"\g<1>1"),
    Change("arch/um/include/linux/time-internal.h", r"(#define TIMER_MIN_DELTA\s+)\d+", r"\g<1>1"),
    Change("arch/um/kernel/time.c", r"(itimer_next_event\([^{]*\{\n)\tdelta \+= 1;\n", r"\g<1>"),
    Change(
        "net/ipv4/tcp_input.c",
        r"(hrtimer_start_range_ns\(&tp->compressed_ack_timer, ns_to_ktime\(delay)\),\n"
        r"(\s+READ_ONCE\(sock_net\(sk\)->ipv4\.sysctl_tcp_comp_sack_slack_ns\)),\n",
        r"\g<1> +\n\g<2>), 0,\n",
    ),
)
_STATE = """\\tu64 elephan_draws;
};

/* One half of the seed of the flow's random numbers; the upper half is set first. */
#define TCP_ELEPHAN_SEED 10000

u64 get_random_u64(void);

/* The next random number: SplitMix64 (Steele, Lea, Flood 2014), or the kernel's own without a seed. */
static inline u64 elephan_draw(struct tcp_sock *tp)
{
\\tu64 z;

\\tif (!tp->elephan_draws)
\\t\\treturn get_random_u64();
\\tz = tp->elephan_draws += 0x9e3779b97f4a7c15u;
\\tz = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
\\tz = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
\\treturn z ^ (z >> 31);
}
"""
_OPTION = """\\tcase TCP_ELEPHAN_SEED:
\\t\\ttp->elephan_draws = tp->elephan_draws << 32 | (u32)val;
\\t\\tbreak;
"""
_DRAW = "elephan_draw(tcp_sk(sk))"


def _draws(module: str, names: str, arguments: str, drawn: str) -> Change:
    """A module's function of random numbers becomes a macro. The macro is defined before the first function, and the
    calls stay as they are, so a patch of the module still applies."""
    place = rf"\A([\s\S]*\n#include [^\n]+\n)(?=[\s\S]*\b({names})\()"
    return Change(f"net/ipv4/tcp_{module}.c", place, rf"\g<1>#define \g<2>({arguments}) {drawn}\n")


_RANDOM = (
    Change("include/linux/tcp.h", r"^\};\n(?=\nenum tsq_enum \{)", _STATE),
    Change("net/ipv4/tcp.c", r"^(?=\tcase TCP_MAXSEG:\n\t\t/\* Values greater than)", _OPTION),
    _draws("bbr", "get_random_u32_below|prandom_u32_max", "most", f"((u32)({_DRAW} % (most)))"),
    _draws("cdg", "get_random_u32", "", f"((u32)({_DRAW} >> 32))"),
    _draws("nv", "get_random_bytes", "to, length", f"(*(to) = {_DRAW} >> 56)"),
)


def set_hz(tree: Path, hz: int) -> None:
    """Replace User Mode Linux's HZ, which is the constant 100 in its Kconfig.

    Raises:
        BuildError: the source does not state HZ in this way.
    """
    if not Change("arch/um/Kconfig", r"(config HZ\n\s+int\n\s+default )\d+", rf"\g<1>{hz}").applies(tree):
        raise BuildError("arch/um/Kconfig does not state HZ as Linux 6.1 to 6.12 do")


def set_clock(tree: Path) -> None:
    """Give the guest's clock a resolution of 1 ns, as clocks of real hosts have, and exact timers.

    User Mode Linux's clock has a resolution of 256 ns, and each reading by a process advances the time by one such
    unit. Its timers expire 1 ns late, and at least 500 ns after they were set.

    The timer of compressed ACKs may expire early, together with another timer of its host (``tcp_comp_sack_slack_ns``).
    All hosts of a run are in one kernel and share its timers. In the build, this timer always expires at its latest
    time, so no host depends on the timers of another host.

    Raises:
        BuildError: the source has another clock.
    """
    for change in _CLOCK:
        if not change.applies(tree):
            raise BuildError(f"{change.path} does not have the clock of Linux 6.1 to 6.12")


def set_draws(tree: Path) -> None:
    """Give each socket a stream of random numbers for its congestion control.

    The guest sets the seed of a flow's stream to the seed of the same flow in the simulator, so BBR, CDG and NV draw
    the same numbers in both.

    Raises:
        BuildError: the source draws its random numbers in other places.
    """
    for change in _RANDOM:
        if not change.applies(tree):
            raise BuildError(f"{change.path} does not draw random numbers as Linux 6.1 to 6.12 do")

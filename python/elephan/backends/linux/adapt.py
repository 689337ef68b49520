"""The changes that every build makes to the kernel: HZ, the clock, timers, netem, random numbers, registers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RULES = 10
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


_STUCK = """
#include <linux/moduleparam.h>

/* Number of times that a process may read the clock or meet errors at one time, and the time that passes at each
 * further time, ns.
 */
static unsigned int elephan_patience = 100000, elephan_step = TIMER_MULTIPLIER;
core_param(elephan_patience, elephan_patience, uint, 0);
core_param(elephan_step, elephan_step, uint, 0);

/* True if a process has read the clock or met errors very often at one time: it may wait for the time to pass. */
bool elephan_is_stuck(void)
{
\tstatic unsigned long long at, reads;

\tif (at != time_travel_time)
\t\treads = 0;
\tat = time_travel_time;
\tif (++reads <= elephan_patience)
\t\treturn false;
\tat += elephan_step;
\treturn true;
}

"""
_CLOCK = (
    Change("arch/um/include/linux/time-internal.h", r"(#define TIMER_MULTIPLIER\s+)\d+", r"\g<1>1"),
    Change("arch/um/include/linux/time-internal.h", r"(#define TIMER_MIN_DELTA\s+)\d+", r"\g<1>1"),
    Change("arch/um/kernel/time.c", r"(itimer_next_event\([^{]*\{\n)\tdelta \+= 1;\n", r"\g<1>"),
    Change(
        "arch/um/kernel/time.c",
        r"(!time_travel_ext_waiting)\)(\n\s+time_travel_update_time_rel)\(TIMER_MULTIPLIER\);",
        r"\g<1> && elephan_is_stuck())\g<2>(elephan_step);",
    ),
    # A second interrupt of a device, before its first one is served, is no event of its own.
    Change(
        "arch/um/kernel/time.c",
        r"(if \(e == time_travel_first_event\(\))\) \{(\n\t+BUG_ON\(!time_travel_del_event\(e\)\);)",
        r"\g<1> && time_travel_time == e->time) {\g<2>",
    ),
    Change("arch/um/kernel/time.c", r"^(static u64 timer_read\()", rf"{_STUCK}\g<1>"),
    Change(
        "arch/um/include/linux/time-internal.h",
        r"^(void time_travel_ndelay\(unsigned long nsec\);\n)",
        r"\g<1>bool elephan_is_stuck(void);\n",
    ),
    Change("arch/um/kernel/skas/syscall.c", r"^(\t+)(um_udelay\(1\);)", r"\g<1>if (elephan_is_stuck())\n\g<1>\t\g<2>"),
    Change(
        "net/ipv4/tcp_input.c",
        r"(hrtimer_start_range_ns\(&tp->compressed_ack_timer, ns_to_ktime\(delay)\),\n"
        r"(\s+READ_ONCE\((?:sock_net\(sk\)|net)->ipv4\.sysctl_tcp_comp_sack_slack_ns\)),\n",
        r"\g<1> +\n\g<2>), 0,\n",
    ),
)
_TIME = """
/* The simulator's transmission time: whole ps, on a link that counts 2^-24 ps a byte. The result is rounded up to ns.
 * The exact end is tc_index ps earlier: the next packet and the next link continue from there.
 */
static u64 elephan_time_ns(struct sk_buff *skb, struct netem_sched_data *q, bool follows, u64 now)
{
\\tu64 a_byte, time_ps, time, early_ps = skb->tc_index;

\\tif (q->cell_size)
\\t\\treturn packet_time_ns(qdisc_pkt_len(skb), q);
\\tif (follows)
\\t\\tearly_ps = min(q->elephan_early_ps, (now - ktime_get_ns()) * 1000 + early_ps);
\\telse if (q->elephan_left_ns == now)
\\t\\tearly_ps = min_t(u64, q->elephan_left_early_ps, early_ps);
\\ta_byte = div64_u64(1000000000000ULL << 24, q->rate);
\\ttime_ps = mul_u64_u64_shr(qdisc_pkt_len(skb) + q->packet_overhead, a_byte, 24);
\\ttime_ps -= min(early_ps, time_ps);
\\ttime = DIV_ROUND_UP_ULL(time_ps, 1000);
\\tskb->tc_index = q->elephan_early_ps = time * 1000 - time_ps;
\\treturn time;
}

static struct sk_buff *netem_peek(struct netem_sched_data *q);

/* Correction of the queue's length at the exact time of an arrival: 1 if a packet that left in this ns was still there,
 * -1 if a packet that leaves in this ns has left.
 */
static int elephan_tied(struct netem_sched_data *q, const struct sk_buff *skb)
{
\\tconst struct sk_buff *head = netem_peek(q);
\\tu64 now = ktime_get_ns();

\\tif (!q->rate)
\\t\\treturn 0;
\\tif (q->elephan_left_ns == now && q->elephan_left_early_ps < skb->tc_index)
\\t\\treturn 1;
\\tif (head && netem_skb_cb(head)->time_to_send == now && head->tc_index >= skb->tc_index)
\\t\\treturn -1;
\\treturn 0;
}
"""
_LOSSES = """
/* Time from which packets are lost. */
static unsigned long elephan_from_ns;
module_param(elephan_from_ns, ulong, 0);

/* The simulator's random losses: a packet is lost if its draw of 53 bits is below q->loss and the 21 bits of
 * q->loss_cor.rho. The other two correlations, which nothing else uses, are the key of the stream.
 */
static bool elephan_loses(struct netem_sched_data *q)
{
\tu64 bound = (u64)q->loss << 21 | q->loss_cor.rho;
\tu64 draw = (u64)q->delay_cor.rho << 32 | q->dup_cor.rho;

\tif (!bound || ktime_get_ns() < elephan_from_ns)
\t\treturn false;
\tdraw += ++q->elephan_draws * 0x9e3779b97f4a7c15ULL;
\tdraw = (draw ^ (draw >> 30)) * 0xbf58476d1ce4e5b9ULL;
\tdraw = (draw ^ (draw >> 27)) * 0x94d049bb133111ebULL;
\treturn (draw ^ (draw >> 31)) >> 11 < bound;
}

"""
_ORDER = """
/* True if a packet of one discipline is due before a packet of the other. Packets that are due in the same ns leave in
 * the order of their exact times, then in the order of their devices a0, a1, and so on.
 */
static bool elephan_is_before(const struct Qdisc *one, const struct Qdisc *other)
{
\tconst char *name = qdisc_dev(one)->name, *their_name = qdisc_dev(other)->name;

\tif (one->elephan_early_ps != other->elephan_early_ps)
\t\treturn one->elephan_early_ps > other->elephan_early_ps;
\tif (strlen(name) != strlen(their_name))
\t\treturn strlen(name) < strlen(their_name);
\treturn strcmp(name, their_name) < 0;
}

"""
_NETEM = (
    Change("include/net/sch_generic.h", r"^(\t+struct Qdisc\s+\*next_sched;\n)", r"\g<1>\tu32 elephan_early_ps;\n"),
    Change("net/core/dev.c", r"^(static void __netif_reschedule\()", rf"{_ORDER}\g<1>"),
    Change(
        "net/core/dev.c",
        r"\tq->next_sched = NULL;\n\t\*sd->output_queue_tailp = q;\n\tsd->output_queue_tailp = &q->next_sched;\n",
        "\tstruct Qdisc **place = &sd->output_queue;\n\n"
        "\twhile (*place && !elephan_is_before(q, *place))\n\t\tplace = &(*place)->next_sched;\n"
        "\tq->next_sched = *place;\n\t*place = q;\n"
        "\tif (!q->next_sched)\n\t\tsd->output_queue_tailp = &q->next_sched;\n",
    ),
    Change(
        "net/sched/sch_netem.c",
        r"^(\t\t)(qdisc_watchdog_schedule_ns\(&q->watchdog,)",
        r"\g<1>sch->elephan_early_ps = netem_peek(q)->tc_index;\n\g<1>\g<2>",
    ),
    Change(
        "net/sched/sch_netem.c",
        r"^(struct netem_sched_data \{\n)",
        r"\g<1>\tu64 elephan_early_ps;\n\tu64 elephan_left_ns;\n\tu32 elephan_left_early_ps;\n\tu64 elephan_draws;\n",
    ),
    Change("net/sched/sch_netem.c", r"^(static bool loss_event\()", rf"{_LOSSES}\g<1>"),
    Change(
        "net/sched/sch_netem.c",
        r"(return )q->loss && q->loss >= get_crandom\(&q->loss_cor[^)]*\);",
        r"\g<1>elephan_loses(q);",
    ),
    Change("net/sched/sch_netem.c", r"^(\treturn div64_u64\(len \* NSEC_PER_SEC, q->rate\);\n\}\n)", rf"\g<1>{_TIME}"),
    Change(
        "net/sched/sch_netem.c",
        r"packet_time_ns\(qdisc_pkt_len\(skb\), q\)(;\n\t\t\})",
        r"elephan_time_ns(skb, q, last && !delay, now)\g<1>",
    ),
    Change(
        "net/sched/sch_netem.c",
        r"(if \(unlikely\((?:sch->q\.qlen|q->t_len)) >= sch->limit\)\)",
        r"\g<1> + elephan_tied(q, skb) >= sch->limit))",
    ),
    Change(
        "net/sched/sch_netem.c",
        r"^(static void netem_erase_head\([^{]*\{\n)((?:[^\n]+;\n)*)",
        r"\g<1>\g<2>\n\tq->elephan_left_ns = netem_skb_cb(skb)->time_to_send;\n"
        r"\tq->elephan_left_early_ps = skb->tc_index;\n",
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
    # Later kernels set the segment size without the socket's lock, so the next option is the first with it.
    Change(
        "net/ipv4/tcp.c",
        r"^(?=\tcase TCP_MAXSEG:\n\t\t/\* Values greater than)"
        r"|(?<=\tsockopt_lock_sock\(sk\);\n\n\tswitch \(optname\) \{\n)(?=\tcase TCP_NODELAY:)",
        _OPTION,
    ),
    Change(
        "net/ipv4/tcp_input.c",
        r"^(\t+tcp_rsk\(req\)->ts_off = (?:st\.ts_off|af_ops->init_ts_off\(net, skb\));\n)",
        r"\g<1>\t\tif (tcp_sk(sk)->elephan_draws)\n\t\t\ttcp_rsk(req)->ts_off = elephan_draw(tcp_sk(sk)) >> 32;\n",
    ),
    _draws("bbr", "get_random_u32_below|prandom_u32_max", "most", f"((u32)({_DRAW} % (most)))"),
    _draws("cdg", "get_random_u32", "", f"((u32)({_DRAW} >> 32))"),
    _draws("nv", "get_random_bytes", "to, length", f"(*(to) = {_DRAW} >> 56)"),
)

# The largest state that a processor can have, with room for later ones: 11 kB with AMX.
_STATE_WORDS = 8192
_ASKS_HOST = "host_fp_size = iov.iov_len;"
_REGISTERS = (
    Change(
        "arch/x86/um/os-Linux/registers.c",
        r"^((?:static )?int have_xstate_support;\n)",
        rf"#include <string.h>\n\n\g<1>static unsigned long elephan_state[{_STATE_WORDS}];\n",
    ),
    Change(
        "arch/x86/um/os-Linux/registers.c",
        r"^(\t\tiov\.iov_base = )fp_regs(;\n\t\tiov\.iov_len = )FP_SIZE \* sizeof\(unsigned long\)"
        r"(;\n\t\tif \(ptrace\(PTRACE_SETREGSET,)",
        r"\t\tmemcpy(elephan_state, fp_regs, FP_SIZE * sizeof(unsigned long));\n"
        r"\g<1>elephan_state\g<2>sizeof(elephan_state)\g<3>",
    ),
)


def set_hz(tree: Path, hz: int) -> None:
    """Replace User Mode Linux's HZ, which is the constant 100 in its Kconfig.

    Raises:
        BuildError: the source does not state HZ in this way.
    """
    if not Change("arch/um/Kconfig", r"(config HZ\n\s+int\n\s+default )\d+", rf"\g<1>{hz}").applies(tree):
        raise BuildError("arch/um/Kconfig does not state HZ as Linux 6.1 to 7.2 do")


def set_clock(tree: Path) -> None:
    """Give the guest's clock a resolution of 1 ns, as clocks of real hosts have, and exact timers.

    User Mode Linux's clock has a resolution of 256 ns, and each reading by a process advances the time by one such
    unit. Its timers expire 1 ns late, and at least 500 ns after they were set.

    A system call that returns an error takes 1 us, and packets that are due in this time are late. This includes the
    calls that return because a socket is not ready. In the build, time passes while a process works only if the process
    reads the clock, or meets errors, 100,000 times without waiting. Programs of the user's own have loops that wait for
    the clock, so a guest with programs has less patience (``elephan_patience``, ``elephan_step`` on its command line).

    The timer of compressed ACKs may expire early, together with another timer of its host (``tcp_comp_sack_slack_ns``).
    All hosts of a run are in one kernel and share its timers. In the build, this timer always expires at its latest
    time, so no host depends on the timers of another host.

    Raises:
        BuildError: the source has another clock.
    """
    for change in _CLOCK:
        if not change.applies(tree):
            raise BuildError(f"{change.path} does not have the clock of Linux 6.1 to 7.2")


def set_draws(tree: Path) -> None:
    """Give each socket a stream of random numbers for its congestion control.

    The guest sets the seed of a flow's stream to the seed of the same flow in the simulator, so BBR, CDG and NV draw
    the same numbers in both, and a receiver's timestamps begin at the same random number (TCP-LP).

    Raises:
        BuildError: the source draws its random numbers in other places.
    """
    for change in _RANDOM:
        if not change.applies(tree):
            raise BuildError(f"{change.path} does not draw random numbers as Linux 6.1 to 7.2 do")


def set_netem(tree: Path) -> None:
    """Give netem the simulator's transmission times, in whole ps, and the simulator's random losses.

    Linux rounds each packet's transmission time down to a nanosecond on each link, so ten thousand packets one after
    the other take up to 10 us less. Packets that arrive at the same time are in the simulator's order. With the
    simulator's random numbers, the same packets are lost as in the simulator.

    Raises:
        BuildError: the source has another netem.
    """
    for change in _NETEM:
        if not change.applies(tree):
            raise BuildError(f"{change.path} does not have the netem of Linux 6.1 to 7.2")


def set_registers(tree: Path) -> None:
    """Let the kernel start on processors with a large extended state (AMX).

    User Mode Linux keeps 2,696 bytes of a process's state, up to AVX-512, and ptrace on the host refuses to set a part
    of the state. In the build, the rest is set to zeros. The state that is kept says which components are in use, and
    a process of the guest cannot ask the host for AMX.

    Later kernels ask the host how large the state is.

    Raises:
        BuildError: the source sets the state in another way.
    """
    if _ASKS_HOST in (tree / _REGISTERS[0].path).read_text(encoding="utf-8"):
        return
    for change in _REGISTERS:
        if not change.applies(tree):
            raise BuildError(f"{change.path} does not set registers as Linux 6.1 to 7.2 do")

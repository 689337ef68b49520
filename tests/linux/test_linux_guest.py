"""A guest's process: ended when it hangs or its parent dies, its files removed. A script stands for the kernel."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from elephan.backends.base import Cancelled
from elephan.backends.linux import adapt, build, guest, kernels
from elephan.backends.linux.kernels import Kernel
from elephan.backends.linux.plan import Plan
from elephan.scenario import Scenario, ScenarioError

SCENARIO = """
from elephan.scenario import Scenario
path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "50 packets", "duration": "5 s"}
s = Scenario.dumbbell([{"algorithm": "cubic:linux"}], **path)
"""


RUN = textwrap.dedent("""
    from elephan.backends.linux import guest
    from elephan.backends.linux.kernels import Kernel
    from elephan.backends.linux.plan import Plan
    guest.run(Plan.of(s, 250), Kernel("fake", "6.12", 250, 0.0, 1.0, "0", "none"), None)
""")

FLOW = {"algorithm": "cubic:linux"}
PATH: dict[str, Any] = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "50 packets", "duration": "5 s"}


def plan() -> Plan:
    return Plan.of(Scenario.dumbbell([FLOW], **PATH), 250)


def outside() -> Plan:
    return Plan.of(Scenario.dumbbell([FLOW | {"backend": "linux"}], **PATH), 250)


def guest_pid(cache: Path) -> int:
    """The guest's process id, once it has written it."""
    pid_file = cache / "guest.pid"
    for _ in range(600):
        if pid_file.exists() and pid_file.read_text().strip():
            break
        time.sleep(0.05)
    return int(pid_file.read_text())


def is_gone(pid: int) -> bool:
    """True once a process has ended; one that has not after ten seconds is ended."""
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text():
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return False


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(kernels.ENVIRONMENT, raising=False)
    if guest.program() is None:
        pytest.skip("elephan-guest is not built (it needs libc6-dev)")
    return kernels.cache()


def fake(cache: Path, script: str) -> Kernel:
    """A kernel whose binary is a shell script in the guest's folder."""
    folder = cache / "fake"
    folder.mkdir(parents=True)
    (folder / kernels.BINARY).write_text(f"#!/bin/sh\n{script}\n")
    (folder / kernels.BINARY).chmod(0o755)
    return Kernel("fake", "6.12", 250, 0.0, 1.0, "0", "none")


def test_a_guest_that_hangs_is_ended_with_one_line(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guest, "HUNG_S", 0.3)
    with pytest.raises(guest.GuestError, match="hung at 7 % of the run") as failed:
        guest.run(plan(), fake(cache, "echo 7 > root/progress; while :; do :; done"), None)
    assert "\n" not in str(failed.value)
    assert not list((cache / "guests").glob("*/"))


def test_what_the_guest_says_of_its_failure_is_told(cache: Path) -> None:
    with pytest.raises(guest.GuestError, match="the guest failed: no such queue"):
        guest.run(plan(), fake(cache, "echo no such queue > root/error"), None)


def test_a_guest_that_ends_too_early_is_told_with_its_last_words(cache: Path) -> None:
    with pytest.raises(guest.GuestError, match="without a result: its last words"):
        guest.run(plan(), fake(cache, "echo its last words"), None)


def test_a_panic_is_told_with_the_line_before_and_without_the_stack(cache: Path) -> None:
    script = "echo booting; echo no registers; echo Kernel panic: no init; echo '? show_stack+0x0/0xc0'"
    with pytest.raises(guest.GuestError, match=r"without a result: no registers; Kernel panic: no init$"):
        guest.run(plan(), fake(cache, script), None)


def test_a_cancelled_guest_is_gone(cache: Path) -> None:
    with pytest.raises(Cancelled):
        guest.run(plan(), fake(cache, "exec /bin/sleep 100"), lambda _: False)
    assert not list((cache / "guests").glob("*/"))


def test_no_guest_outlives_a_killed_parent_and_the_next_run_cleans_up(cache: Path) -> None:
    fake(cache, "echo $$ > ../../guest.pid; while :; do /bin/sleep 0.1; done")
    parent = subprocess.Popen([sys.executable, "-c", SCENARIO + RUN])
    pid = guest_pid(cache)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert is_gone(pid), "the guest outlived its parent"
    assert list((cache / "guests").glob("*/root"))
    (cache / "fake" / kernels.BINARY).write_text("#!/bin/sh\nexit 0\n")
    with pytest.raises(guest.GuestError):
        guest.run(plan(), Kernel("fake", "6.12", 250, 0.0, 1.0, "0", "none"), None)
    assert not list((cache / "guests").glob("*/root"))


def test_a_path_outside_ends_with_its_parent_and_takes_its_guest_along(cache: Path) -> None:
    if guest.path_program() is None:
        pytest.skip("elephan-linux is not built")
    fake(cache, "echo $$ > ../../guest.pid; while :; do /bin/sleep 0.1; done")
    text = SCENARIO.replace('"cubic:linux"', '"cubic:linux", "backend": "linux"') + RUN
    parent = subprocess.Popen([sys.executable, "-c", text])
    pid = guest_pid(cache)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert is_gone(pid), "the guest outlived its parent"


def test_a_guest_that_never_asks_for_its_clock_is_told(cache: Path) -> None:
    if guest.path_program() is None:
        pytest.skip("elephan-linux is not built")
    with pytest.raises(guest.GuestError, match="the guest ended early: exit status: 3"):
        guest.run(outside(), fake(cache, "exit 3"), None)
    assert not list((cache / "guests").glob("*/"))


def test_a_kernel_of_an_earlier_version_is_used_and_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from elephan.backends.linux import lab

    kernel = fake(cache, "exit 0")
    monkeypatch.setattr(kernels, "kernels", lambda: [kernel])
    item = lab._kernel()
    assert (item.needed, item.ok) == (False, False)
    assert "its clock has a resolution of 256 ns" in item.found
    header = kernel.tree / "arch" / "um" / "include" / "linux" / "time-internal.h"
    header.parent.mkdir(parents=True)
    header.write_text(CLOCK.replace("256", "1"))
    assert "its clock advances while a process works" in lab._kernel().found
    clock = kernel.tree / "arch" / "um" / "kernel" / "time.c"
    clock.parent.mkdir(parents=True)
    clock.write_text("\t\t    !time_travel_ext_waiting && elephan_is_stuck())\n")
    assert "its hosts share their timers" in lab._kernel().found
    timers = kernel.tree / "net" / "ipv4" / "tcp_input.c"
    timers.parent.mkdir(parents=True)
    timers.write_text("\tREAD_ONCE(sock_net(sk)->ipv4.sysctl_tcp_comp_sack_slack_ns)), 0,\n")
    assert "its flows do not draw the simulator's random numbers" in lab._kernel().found
    socket = kernel.tree / "include" / "linux" / "tcp.h"
    socket.parent.mkdir(parents=True)
    socket.write_text("#define TCP_ELEPHAN_SEED 10000\n")
    assert "do not begin at the simulator's random numbers" in lab._kernel().found
    timers.write_text(timers.read_text() + "\t\ttcp_rsk(req)->ts_off = elephan_draw(tcp_sk(sk)) >> 32;\n")
    assert "netem rounds its transmission times" in lab._kernel().found
    netem = kernel.tree / "net" / "sched" / "sch_netem.c"
    netem.parent.mkdir(parents=True)
    netem.write_text("\tu64 elephan_early_ps;\n")
    assert "netem does not lose the packets" in lab._kernel().found
    netem.write_text(netem.read_text() + "\t\treturn elephan_loses(q);\n")
    assert "it does not start on processors with AMX" in lab._kernel().found
    registers = kernel.tree / "arch" / "x86" / "um" / "os-Linux" / "registers.c"
    registers.parent.mkdir(parents=True)
    registers.write_text("\t\tiov.iov_len = sizeof(elephan_state);\n")
    assert lab._kernel().ok


def test_a_kernel_without_devices_for_a_path_outside_is_refused_with_what_to_type(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from elephan.backends import get

    if guest.path_program() is None:
        pytest.skip("elephan-linux is not built")
    kernel = fake(cache, "exit 0")
    assert not kernel.leads_outside
    monkeypatch.setattr(kernels, "kernels", lambda: [kernel])
    with pytest.raises(ScenarioError, match=r"without the devices for it; type 'elephan lab linux build --hz 250'"):
        get("linux").check(Scenario.dumbbell([FLOW], **PATH, queue="codel"))
    (kernel.folder / kernels.CONFIG).write_text("CONFIG_VIRTIO_UML=y\nCONFIG_VIRTIO_NET=y\n")
    get("linux").check(Scenario.dumbbell([FLOW], **PATH, queue="codel"))


def test_the_kernels_hz_is_that_of_flows_on_linux_alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from elephan.backends.linux.backend import LinuxBackend

    kernel = fake(cache, "exit 0")
    (kernel.folder / kernels.CONFIG).write_text("CONFIG_VIRTIO_UML=y\nCONFIG_VIRTIO_NET=y\n")
    monkeypatch.setattr(kernels, "kernels", lambda: [kernel])
    other = {"algorithm": "cubic:linux", "stack": {"base": "linux", "hz": 100}}
    if guest.path_program() is None:
        pytest.skip("elephan-linux is not built")
    LinuxBackend().check(Scenario.dumbbell([FLOW | {"backend": "linux"}, other], **PATH))
    with pytest.raises(ScenarioError, match="type 'elephan lab linux build --hz 100'"):
        LinuxBackend().check(Scenario.dumbbell([FLOW, other], **PATH))


def test_each_of_several_paths_has_a_processor_of_its_own(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    with guest._processor(cache) as first, guest._processor(cache) as second:
        assert first in os.sched_getaffinity(0)
        assert second != first
    with guest._processor(cache) as again:
        assert again == first


def test_without_a_kernel_one_line_says_what_to_type(cache: Path) -> None:
    from elephan.backends import get

    scenario = Scenario.dumbbell(
        [{"algorithm": "cubic:linux"}], rate="10 Mbit/s", rtt="40 ms", buffer="50 packets", duration="5 s"
    )
    with pytest.raises(ScenarioError, match="type 'elephan lab linux build'"):
        get("linux").check(scenario)


def test_missing_packages_are_named_together(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda tool: None if tool in ("flex", "xz") else f"/usr/bin/{tool}")
    monkeypatch.setattr(build, "_HEADERS", {})
    with pytest.raises(ScenarioError, match=r"without flex, xz-utils: apt-get install flex xz-utils"):
        build.build("6.12", 250, None, lambda _: None)


CLOCK = """#define TIMER_MULTIPLIER 256
#define TIMER_MIN_DELTA  500
void time_travel_ndelay(unsigned long nsec);
"""
ERRORS = "\tif (IS_ERR_VALUE(ret)) {\n\t\tum_udelay(1);\n\t}\n"
EVENTS = """\t\tif (e == time_travel_first_event()) {
\t\t\tBUG_ON(!time_travel_del_event(e));
\t\t}
"""
READ = """static u64 timer_read(struct clocksource *cs)
{
\tif (!in_softirq() &&
\t    !time_travel_ext_waiting)
\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER);
}
"""
QDISC = "struct Qdisc {\n\tstruct Qdisc            *next_sched;\n};\n"
SCHEDULE = """static void __netif_reschedule(struct Qdisc *q)
{
\tq->next_sched = NULL;
\t*sd->output_queue_tailp = q;
\tsd->output_queue_tailp = &q->next_sched;
}
"""
SOCKET = "struct tcp_sock {\n\tint x;\n};\n\nenum tsq_enum {\n\tTSQ\n};\n"
OPTIONS = "\tcase TCP_MAXSEG:\n\t\t/* Values greater than interface MTU */\n\tcase TCP_MAXSEG:\n\t\treturn 0;\n"
MODULES = {"bbr": "get_random_u32_below(7)", "cdg": "get_random_u32()", "nv": "get_random_bytes(&one, 1)"}
COMPRESSED = """\thrtimer_start_range_ns(&tp->compressed_ack_timer, ns_to_ktime(delay),
\t\t\tREAD_ONCE(sock_net(sk)->ipv4.sysctl_tcp_comp_sack_slack_ns),
\t\t\tHRTIMER_MODE_REL_PINNED_SOFT);
"""
REQUEST = "\t\ttcp_rsk(req)->ts_off = st.ts_off;\n"
NETEM = """struct netem_sched_data {
};
static u64 packet_time_ns(u64 len, const struct netem_sched_data *q)
{
\treturn div64_u64(len * NSEC_PER_SEC, q->rate);
}
static bool loss_event(struct netem_sched_data *q)
{
\t\treturn q->loss && q->loss >= get_crandom(&q->loss_cor, &q->prng);
}
static int netem_enqueue(void)
{
\tif (unlikely(sch->q.qlen >= sch->limit)) {
\t}
\t\t\tdelay += packet_time_ns(qdisc_pkt_len(skb), q);
\t\t}
}
static struct sk_buff *netem_dequeue(struct Qdisc *sch)
{
\t\tqdisc_watchdog_schedule_ns(&q->watchdog,
\t\t\t\t\t   time_to_send);
}
static void netem_erase_head(struct netem_sched_data *q, struct sk_buff *skb)
{
\tif (skb == q->t_head) {
\t}
}
"""
TIMER = "static int itimer_next_event(unsigned long delta,\n\t\tstruct device *evt)\n{\n\tdelta += 1;\n}\n"


REGISTERS = """\
static int have_xstate_support;

\t\tiov.iov_base = fp_regs;
\t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);
\t\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) < 0)
\t\tiov.iov_base = fp_regs;
\t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);
\t\tif (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) < 0)
"""


def source_tree(folder: Path) -> Path:
    um = folder / "arch" / "um"
    um.mkdir(parents=True)
    (folder / "arch" / "x86" / "um" / "os-Linux").mkdir(parents=True)
    (folder / "arch" / "x86" / "um" / "os-Linux" / "registers.c").write_text(REGISTERS)
    (folder / "net").mkdir()
    (folder / "net" / "tcp.c").write_text("int beta = 717;\n")
    (folder / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\n")
    (um / "Kconfig").write_text("config HZ\n\tint\n\tdefault 100\n")
    (um / "include" / "linux").mkdir(parents=True)
    (um / "include" / "linux" / "time-internal.h").write_text(CLOCK)
    (um / "kernel" / "skas").mkdir(parents=True)
    (um / "kernel" / "time.c").write_text(TIMER + EVENTS + READ)
    (um / "kernel" / "skas" / "syscall.c").write_text(ERRORS)
    (folder / "net" / "ipv4").mkdir()
    (folder / "net" / "ipv4" / "tcp.c").write_text(OPTIONS)
    (folder / "net" / "ipv4" / "tcp_input.c").write_text(COMPRESSED + REQUEST)
    (folder / "net" / "core").mkdir()
    (folder / "net" / "core" / "dev.c").write_text(SCHEDULE)
    (folder / "net" / "sched").mkdir()
    (folder / "net" / "sched" / "sch_netem.c").write_text(NETEM)
    for name, call in MODULES.items():
        (folder / "net" / "ipv4" / f"tcp_{name}.c").write_text(f"/* {name} */\n#include <linux/mm.h>\n\nx = {call};\n")
    (folder / "include" / "linux").mkdir(parents=True)
    (folder / "include" / "linux" / "tcp.h").write_text(SOCKET)
    (folder / "include" / "net").mkdir()
    (folder / "include" / "net" / "sch_generic.h").write_text(QDISC)
    return folder


def test_a_changed_constant_of_the_source_is_another_kernel(tmp_path: Path) -> None:
    tree = source_tree(tmp_path / "linux")
    before = build._of_tree(tree)
    assert before.version == "6.12.3"
    (tree / "net" / "tcp.c").write_text("int beta = 716;\n")
    digests = {build._digest(source, hz) for source in (before, build._of_tree(tree)) for hz in (250, 1000)}
    assert len(digests) == 4


def test_hz_is_set_in_a_copy_of_the_source(tmp_path: Path) -> None:
    tree = source_tree(tmp_path / "linux")
    copy = build._unpacked(build.Source("linux", "6.12", "0", tree=tree), tmp_path)
    adapt.set_hz(copy, 250)
    assert "default 250" in (copy / "arch" / "um" / "Kconfig").read_text()
    assert "default 100" in (tree / "arch" / "um" / "Kconfig").read_text()
    (copy / "arch" / "um" / "Kconfig").write_text("config SMP\n")
    with pytest.raises(adapt.BuildError, match="does not state HZ"):
        adapt.set_hz(copy, 250)


def test_the_clock_gets_a_resolution_of_a_nanosecond(tmp_path: Path) -> None:
    copy = build._unpacked(build.Source("linux", "6.12", "0", tree=source_tree(tmp_path / "linux")), tmp_path)
    header = copy / "arch" / "um" / "include" / "linux" / "time-internal.h"
    adapt.set_clock(copy)
    values = CLOCK.replace("MULTIPLIER 256", "MULTIPLIER 1").replace("DELTA  500", "DELTA  1")
    assert header.read_text() == f"{values}bool elephan_is_stuck(void);\n"
    clock = (copy / "arch" / "um" / "kernel" / "time.c").read_text()
    assert clock.startswith(TIMER.replace("\tdelta += 1;\n", ""))
    assert "!time_travel_ext_waiting && elephan_is_stuck())\n\t\ttime_travel_update_time_rel(elephan_step);" in clock
    assert "if (e == time_travel_first_event() && time_travel_time == e->time) {\n" in clock
    assert clock.index("\nbool elephan_is_stuck(") < clock.index("\nstatic u64 timer_read(")
    errors = (copy / "arch" / "um" / "kernel" / "skas" / "syscall.c").read_text()
    assert "\t\tif (elephan_is_stuck())\n\t\t\tum_udelay(1);\n" in errors
    at_the_latest = COMPRESSED.replace("delay),", "delay +").replace("slack_ns),", "slack_ns)), 0,")
    assert (copy / "net" / "ipv4" / "tcp_input.c").read_text() == at_the_latest + REQUEST
    with pytest.raises(adapt.BuildError, match=r"time\.c does not have the clock"):
        adapt.set_clock(copy)


def test_modules_draw_from_the_stream_of_their_flow(tmp_path: Path) -> None:
    copy = build._unpacked(build.Source("linux", "6.12", "0", tree=source_tree(tmp_path / "linux")), tmp_path)
    adapt.set_draws(copy)
    header = (copy / "include" / "linux" / "tcp.h").read_text()
    assert header.index("u64 elephan_draws;") < header.index("elephan_draw(struct tcp_sock *tp)")
    options = (copy / "net" / "ipv4" / "tcp.c").read_text()
    assert options.startswith("\tcase TCP_ELEPHAN_SEED:")
    assert options.count("TCP_ELEPHAN_SEED") == 1
    for name, call in MODULES.items():
        include, macro, empty, line = (copy / "net" / "ipv4" / f"tcp_{name}.c").read_text().splitlines()[1:]
        assert (include, empty, line) == ("#include <linux/mm.h>", "", f"x = {call};"), "the calls stay as they are"
        assert macro.startswith(f"#define {call.partition('(')[0]}(")
        assert "elephan_draw(tcp_sk(sk))" in macro
    request = (copy / "net" / "ipv4" / "tcp_input.c").read_text()
    assert request.endswith("ts_off = elephan_draw(tcp_sk(sk)) >> 32;\n"), "the receiver's timestamps too"
    (copy / "net" / "ipv4" / "tcp_nv.c").write_text("/* nv */\n#include <linux/mm.h>\n\nx = random32();\n")
    with pytest.raises(adapt.BuildError, match=r"tcp\.h does not draw random numbers"):
        adapt.set_draws(copy)
    (copy / "include" / "linux" / "tcp.h").write_text(SOCKET)
    (copy / "net" / "ipv4" / "tcp.c").write_text(OPTIONS)
    (copy / "net" / "ipv4" / "tcp_input.c").write_text(REQUEST)
    with pytest.raises(adapt.BuildError, match=r"tcp_nv\.c does not draw random numbers"):
        adapt.set_draws(copy)


def test_netem_has_the_simulators_times_and_losses(tmp_path: Path) -> None:
    copy = build._unpacked(build.Source("linux", "6.12", "0", tree=source_tree(tmp_path / "linux")), tmp_path)
    adapt.set_netem(copy)
    netem = (copy / "net" / "sched" / "sch_netem.c").read_text()
    assert "\tu64 elephan_early_ps;\n" in netem
    assert "q->t_head" in netem[netem.index("q->elephan_left_early_ps = skb->tc_index;") :], "before the packet leaves"
    assert "q.qlen + elephan_tied(q, skb) >= sch->limit" in netem
    assert "delay += elephan_time_ns(skb, q, last && !delay, now);" in netem
    assert netem.index("\nstatic bool elephan_loses(") < netem.index("\nstatic bool loss_event(")
    assert "\t\treturn elephan_loses(q);\n" in netem
    assert "sch->elephan_early_ps = netem_peek(q)->tc_index;\n\t\tqdisc_watchdog_schedule_ns(" in netem
    schedule = (copy / "net" / "core" / "dev.c").read_text()
    assert "output_queue_tailp = q;" not in schedule
    assert schedule.index("static bool elephan_is_before(") < schedule.index("static void __netif_reschedule(")
    assert "*next_sched;\n\tu32 elephan_early_ps;\n" in (copy / "include" / "net" / "sch_generic.h").read_text()
    with pytest.raises(adapt.BuildError, match=r"does not have the netem"):
        adapt.set_netem(copy)


def test_the_whole_state_of_a_processor_is_set(tmp_path: Path) -> None:
    copy = build._unpacked(build.Source("linux", "6.12", "0", tree=source_tree(tmp_path / "linux")), tmp_path)
    adapt.set_registers(copy)
    registers = (copy / "arch" / "x86" / "um" / "os-Linux" / "registers.c").read_text()
    words = int(registers.partition("elephan_state[")[2].partition("]")[0])
    assert 8 * words >= 11_008, "the state with AMX"
    get, put = registers.split("GETREGSET")
    assert "iov.iov_len = FP_SIZE * sizeof(unsigned long);\n" in get
    assert "memcpy(elephan_state, fp_regs, FP_SIZE * sizeof(unsigned long));\n\t\tiov.iov_base = elephan" in put
    assert "\t\tiov.iov_len = sizeof(elephan_state);\n\t\tif (ptrace(PTRACE_SETREGSET" in put
    with pytest.raises(adapt.BuildError, match=r"registers\.c does not set registers"):
        adapt.set_registers(copy)


def test_an_option_that_a_source_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "wanted").write_text("CONFIG_VETH=y\nCONFIG_TCP_CONG_BBR=y\n")
    (tmp_path / "made").write_text("CONFIG_VETH=y\n")
    with pytest.raises(adapt.BuildError, match="CONFIG_TCP_CONG_BBR=y"):
        build._check_config(tmp_path / "wanted", tmp_path / "made")


def test_the_package_has_no_kernel() -> None:
    """Kernels and their objects are under the GPL: they stay in the user's cache."""
    package = Path(build.__file__).parents[2]
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {path.name for path in (package / "bin").glob("*")} <= {
        "elephan-wire",
        "elephan-quic",
        guest.PROGRAM,
        guest.PATH_PROGRAM,
        guest.COUNTER,
    }
    assert not [
        path for path in files if path.suffix in (".ko", ".o", ".a", ".xz", ".deb") or path.name.startswith("vmlinu")
    ]
    texts = [path for path in files if path.suffix in (".py", ".c", ".h", ".config")]
    assert not [path for path in texts if "SPDX-License-Identifier: GPL" in path.read_text(encoding="utf-8")]

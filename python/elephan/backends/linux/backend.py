"""The Linux backend: a real Linux kernel in virtual time."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from elephan.backends.base import Backend, Cancelled, Progress, RawResult, refuse_other_transports
from elephan.backends.linux import accurate, changes, guest, kernels, twins
from elephan.backends.linux.buffers import READ_BYTES
from elephan.backends.linux.changes import Patch
from elephan.backends.linux.kernels import Kernel
from elephan.backends.linux.plan import Plan, on_linux
from elephan.backends.linux.programs import Connections
from elephan.backends.linux.tables import Looks, beside, looks, tables
from elephan.scenario import Scenario, ScenarioError
from elephan.scenario.catalog import engine
from elephan.scenario.errors import one_line
from elephan.scenario.stacks import LINUX
from elephan.version import __version__

_DIGEST_DIGITS = 12
_RULES = (
    "accurate", "buffers", "changes", "guest", "modules", "plan", "programs", "qlogs", "queues", "tables", "twins",
)  # fmt: skip
"""Modules of this folder whose code decides results."""


class LinuxBackend(Backend):
    """Runs flows on Linux itself. The backend is deterministic: the same scenario and seed give the same bytes.

    netem inside the guest emulates the path if netem supports the path; otherwise the engine simulates the path. The
    engine can also simulate flows.
    """

    name = "linux"
    title = "real Linux TCP in virtual time (User Mode Linux)"
    cost = 45.0  # 0.5 s for a second at 622 Mbit/s are 9 us a segment; the simulator is estimated at 0.2 us
    patch: ClassVar[Patch | None] = None

    @classmethod
    def variant(cls, word: str) -> type[Backend]:
        """The backend with a kernel patch; ``word`` is the first digits of the patch's digest.

        Raises:
            ScenarioError: the cache has no patch with such a digest.
        """
        return type("PatchedLinux", (cls,), {"name": f"{cls.name}+{word}", "patch": changes.kept_patch(word)})

    def version(self) -> str:
        """The package's version, and digests of the programs of guest and path, the counter, the Python code of the
        backend and the kernels.

        A patch and a C file do not change the version: the digest of a patch is in the backend's name, and the digest
        of a C file is in the scenario.
        """
        names = [kernel.digest for kernel in kernels.offered()]
        return f"{__version__}+{_program_digest()}.{_rules_digest()}, Linux {' '.join(names) or 'not built'}"

    def check(self, scenario: Scenario) -> None:
        """Reject a scenario that cannot be run here, before the run.

        Raises:
            ScenarioError: the backend cannot run the scenario; the message has the reason.
        """
        refuse_other_transports(self.name, scenario)
        require()
        one = scenario.without_groups()
        base = _kernel_for(one)
        plan = Plan.of(one, base.hz)
        _require_outside(plan, base)
        accurate.require(plan.form, on_linux(plan.form), base)
        self._changed(base, plan)

    def _changed(self, base: Kernel, plan: Plan) -> Kernel:
        """The kernel of a plan: ``base``, changed by the plan's C files and the backend's patch if there are any."""
        return changes.changed(base, plan.files, self.patch, _tell)

    def observed(self, scenario: Scenario, seed: int | None, progress: Progress | None, folder: Path) -> RawResult:
        """Run a scenario, and write the captures of both hosts if the engine is the path.

        Raises:
            ScenarioError, GuestError, Cancelled: the errors of :meth:`run`.
        """
        one = scenario.without_groups()
        outside = Plan.of(one, _kernel_for(one).hz, seed).outside
        return self.run(scenario, seed, progress, captures=folder if outside else None)

    def planned(self, scenario: Scenario, seed: int | None) -> tuple[Plan, Kernel]:
        """The plan of a scenario without groups, and its kernel.

        Raises:
            ScenarioError: the backend cannot run the scenario.
        """
        base = _kernel_for(scenario)
        plan = Plan.of(scenario, base.hz, seed)
        _require_outside(plan, base)
        accurate.require(plan.form, on_linux(plan.form), base)
        return plan, self._changed(base, plan)

    def varies(self, scenario: Scenario) -> bool:
        """Always true: the seed sets the kernel's randomness and the phase of its timer interrupts."""
        return True

    def run(
        self,
        scenario: Scenario,
        seed: int | None = None,
        progress: Progress | None = None,
        captures: Path | None = None,
    ) -> RawResult:
        """Run a scenario in a guest of its own. The folder ``captures``, if given, gets ``senders.pcapng`` and
        ``receivers.pcapng``, the frames of the guest's devices.

        Raises:
            ScenarioError: the scenario cannot be run here; the message has the reason.
            GuestError: the guest failed or hung.
            Cancelled: ``progress`` returned ``False``.
        """
        require()
        one = scenario.without_groups()
        kernel = _kernel_for(one)
        plan = Plan.of(one, kernel.hz, seed)
        _require_outside(plan, kernel)
        accurate.require(plan.form, on_linux(plan.form), kernel)
        if captures is not None and not plan.outside:
            raise ScenarioError(
                "the path of this run is netem in the guest, which captures nothing; give a flow backend = 'linux', "
                "and the engine is the path",
                path="--pcapng",
            )
        memory_bytes = plan.memory_bytes + _engine_bytes(plan)
        if memory_bytes > self.memory.all_bytes():
            raise ScenarioError(
                f"the guest needs {memory_bytes >> 20} MiB; the limit is {self.memory.all_bytes() >> 20} MiB "
                "(--memory)",
                path="memory",
            )

        def go_on() -> bool:
            return progress is None or progress(0.0)

        with self.memory.share(memory_bytes, alone=False, go_on=go_on) as share:
            if share is None:
                raise Cancelled
            kernel = self._changed(kernel, plan)
            log = guest.run(plan, kernel, progress, captures)
        seen = looks(plan, log)
        found = tables(plan, seen)
        summary = _summary(plan, kernel, log, seen)
        if not plan.outside:
            summary["segments_delivered"] = int(found["flows"]["segments_delivered"].sum())
            return RawResult(dict(found), summary)
        connections = Connections(plan.form, log.connections, log.result["programs"], log.qlogs, plan.sample_times_ns)
        found = beside(plan, found, connections, log.tables)
        summary["warnings"] = [*summary["warnings"], *connections.warnings(), *log.complaints]
        summary = log.totals | summary | {name: log.totals[name] for name in ("conservation", "links")}
        # The row of a program has the sums of its connections.
        names = [flow.name for flow in plan.form.flows]
        of_flows = found["flows"].filter(found["flows"]["name"].is_in(names))
        summary["segments_delivered"] = int(of_flows["segments_delivered"].sum())
        return RawResult(dict(found), summary)


def _tell(line: str) -> None:
    """Print the progress of a kernel's compilation, also during a sweep, since a compilation takes some time."""
    print(f"elephan: {line}", file=sys.stderr)


def _kernel_for(scenario: Scenario) -> Kernel:
    """The kernel for a scenario: the one with the HZ that the scenario's flows state. The plan rejects flows with
    different HZ."""
    flows = scenario.form.flows
    wanted = {flows[i].stack.hz for i in on_linux(scenario.form)} - {None}
    return kernels.chosen(min(wanted, default=None, key=lambda hz: hz or 0))


def require() -> None:
    """Raise an error if this host cannot run a guest.

    Raises:
        ScenarioError: requirements are missing; the message has a remedy for each.
    """
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise ScenarioError(
            f"the backend 'linux' needs Linux on x86-64, and this is {platform.system()} on {platform.machine()}"
        )
    if guest.program() is None:
        raise ScenarioError(
            f"the backend 'linux' needs {guest.PROGRAM}, which is not built; run 'make programs' in the source tree"
        )


def _require_outside(plan: Plan, kernel: Kernel) -> None:
    """Reject a scenario whose path the engine must simulate if the program or the kernel's devices for such a path are
    missing.

    Raises:
        ScenarioError: the program or the devices are missing; the message has the command that adds them.
    """
    if not plan.outside:
        return
    guest.required(guest.path_program(), guest.PATH_PROGRAM)
    if not kernel.leads_outside:
        raise ScenarioError(
            f"the path of this scenario is the engine ({plan.outside}), and the kernel {kernel.digest} was built "
            f"without the devices for it; type 'elephan lab linux build --hz {kernel.hz}'"
        )


def _engine_bytes(plan: Plan) -> int:
    """Least memory that the engine needs to simulate the path, bytes.

    Raises:
        ScenarioError: the engine rejects the scenario.
    """
    if not plan.outside:
        return 0
    try:
        return int(engine().memory(json.dumps(plan.engine_form)))
    except ValueError as error:
        raise ScenarioError(str(error)) from None


@lru_cache(maxsize=1)
def _program_digest() -> str:
    paths = [path for path in (guest.program(), guest.path_program(), guest.counter()) if path is not None]
    return _digest(paths) if paths else "none"


@lru_cache(maxsize=1)
def _rules_digest() -> str:
    """Digest of the code that turns scenarios into plans and records into tables, and of Elephan's algorithms in C."""
    here = Path(__file__).parent
    own = [here / f"{name}.py" for name in _RULES]
    return _digest(own + twins.all_sources())


def _digest(paths: list[Path]) -> str:
    sha = hashlib.sha256()
    for path in paths:
        sha.update(path.read_bytes())
    return sha.hexdigest()[:_DIGEST_DIGITS]


def _complaint(plan: Plan, kernel: Kernel, lines: list[str]) -> str:
    """The warning about a kernel that has found a defect in itself, such as one in a user's change."""
    blamed = f"; {', '.join(kernel.changes)} may be the cause" if kernel.changes else ""
    first = one_line(re.sub(r"^<\d+>(?:\[[ \d.]+\] )?", "", lines[0]))
    more = f" and {len(lines) - 1} more" if len(lines) > 1 else ""
    return f"the kernel found a defect during this run, so its numbers may be wrong: {first}{more}{blamed}"


def _summary(plan: Plan, kernel: Kernel, log: guest.Log, seen: Looks) -> dict[str, Any]:
    """Totals of a run, and the kernel that ran it."""
    complaints = log.result.get("warnings", [])
    warnings = [_complaint(plan, kernel, complaints)] if complaints else []
    for spec, words in zip((plan.form.flows[i] for i in plan.real), seen.flows[-1], strict=True):
        # Linux's segment size has room for the AccECN option (tcp_current_mss).
        stated = spec.stack.payload_bytes + spec.stack.header_bytes - LINUX.header_bytes
        if words[15] not in (0, stated):
            warnings.append(f"{spec.name}: its segments had {words[15]} B of data and not {stated} B")
    return {
        "conservation": None,
        "links": [],
        "warnings": warnings,
        "engine_version": LinuxBackend().version(),
        "linux": {
            "release": log.result["release"],
            "kernel": kernel.digest,
            "kernel_sha256": kernel.sha256,
            "source": kernel.source,
            "changes": list(kernel.changes),
            "hz": kernel.hz,
            "path": f"the engine: {plan.outside}" if plan.outside else "netem in the guest",
            "flows": [plan.form.flows[i].name for i in plan.real],
            "congestion_controls": plan.modules,
            "valid": not complaints,
            "kernel_warnings": complaints,
            "arguments": plan.arguments,
            "sysctls": plan.document["sysctls"],
            "host_sysctls": plan.document["host_sysctls"],
            "read_bytes": READ_BYTES,
            "look_period_s": plan.document["look_ns"] * 1e-9,
            "memory_bytes": plan.memory_bytes,
            "processor_s": log.processor_s,
        },
    } | _of_programs(plan, log)


def _of_programs(plan: Plan, log: guest.Log) -> dict[str, Any]:
    """The outcome and the outputs of each program."""
    if not plan.programs:
        return {}
    found = []
    for number, ended in enumerate(log.result["programs"]):
        streams = (f"{role}.{stream}" for role in ("server", "client") for stream in ("out", "err"))
        outputs = {name: log.outputs.get(f"{number}/{name}", "") for name in streams}
        files = log.files.get(number, {})
        found.append(ended | {"outputs": {name: text for name, text in outputs.items() if text}, "files": files})
    return {"programs": found}

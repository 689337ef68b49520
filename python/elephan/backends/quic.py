"""The QUIC backend: connections of quinn, a real QUIC stack, over the engine's paths in virtual time.

The engine simulates background traffic beside these connections and, if a flow of a scenario has ``backend = "quic"``,
the flows without it.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from elephan import parts
from elephan.backends.base import Backend, Cancelled, Progress, RawResult, language, refuse_other_backends
from elephan.backends.memory import needs_more, outgrown
from elephan.scenario import Scenario, ScenarioError, transports
from elephan.scenario.catalog import engine
from elephan.scenario.errors import one_line
from elephan.scenario.form import FlowSpec, Spec, StackSpec
from elephan.scenario.stacks import STACKS, is_udt
from elephan.scenario.transports import IP_UDP_BYTES, LEAST_DATAGRAM_BYTES
from elephan.version import __version__
from elephan.writing import whole_file

PROGRAM = "elephan-quic"
ENVIRONMENT = "ELEPHAN_QUIC"
"""Environment variable with the path of the backend's program; by default, the program is that of the package."""
REFUSED = 2
"""Exit status of the program for a scenario that it cannot run."""
FULL = 3
"""Exit status of the program for a run that needs more memory than it was given."""

_DIGEST_DIGITS = 12
_LINUX = STACKS["linux"]
# Settings that quinn accepts; quinn determines all other fields of a stack.
_CAN_DIFFER = {"payload_bytes", "header_bytes", "receive_window", "initial_window", "ecn", "hz"}
_PLACE = re.compile(r"flows\[(?P<position>\d+)\]\.(?P<field>\S+): (?P<message>.*)", re.DOTALL)


class QuicError(Exception):
    """The program failed; the message is one line."""


class QuicBackend(Backend):
    """Runs flows as connections of quinn. The backend is deterministic: the same scenario and seed give the same
    bytes."""

    name = "quic"
    title = "quinn, a real QUIC stack, in virtual time"

    def version(self) -> str:
        """The package's version and a digest of the program; results of other versions are not reused."""
        return f"{__version__}+{_digest(program())}"

    def varies(self, scenario: Scenario) -> bool:
        """Always true: quinn's transport parameters, and the packet numbers that quinn skips, depend on the seed."""
        return True

    def check(self, scenario: Scenario) -> None:
        """Reject a scenario that cannot be run here, before the run.

        Raises:
            ScenarioError: the backend cannot run the scenario; the message has the reason.
        """
        refuse_other_backends(self.name, scenario)
        one = scenario.without_groups()
        _check(one.form)
        asked = subprocess.run(
            [_required(), "check"], input=one.canonical_json(), capture_output=True, text=True, check=False
        )
        if asked.returncode != 0:
            raise _told(asked.stderr)

    def run(self, scenario: Scenario, seed: int | None = None, progress: Progress | None = None) -> RawResult:
        """Run a scenario in a separate process.

        Raises:
            ScenarioError: the scenario cannot be run here; the message has the reason.
            QuicError: the program failed.
            RunMemoryError: the run exceeded its memory limit.
            Cancelled: ``progress`` returned ``False``.
        """
        return self._run(scenario, seed, progress, None)

    def run_logged(
        self, scenario: Scenario, seed: int | None, logs: dict[int, Path], progress: Progress | None = None
    ) -> RawResult:
        """Run a scenario, and write quinn's own qlog of some flows; ``logs`` maps the position of a flow to its file.

        Raises:
            ScenarioError: the scenario cannot be run here; the message has the reason.
            QuicError: the program failed.
            RunMemoryError: the run exceeded its memory limit.
            Cancelled: ``progress`` returned ``False``.
            OSError: a file cannot be written.
        """
        return self._run(scenario, seed, progress, logs)

    def _run(
        self, scenario: Scenario, seed: int | None, progress: Progress | None, logs: dict[int, Path] | None
    ) -> RawResult:
        self.check(scenario)
        one = scenario.without_groups()
        spec = one.canonical() | ({} if seed is None else {"seed": seed})
        certain = engine().memory(json.dumps(spec))
        if certain > self.memory.all_bytes():
            raise needs_more(certain, self.memory)

        def go_on() -> bool:
            return progress is None or progress(0.0)

        with tempfile.TemporaryDirectory(prefix="elephan-quic-") as name:
            folder = Path(name)
            (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
            # A run that exceeds its share is repeated alone, with all of the memory.
            for alone in (False, True):
                with self.memory.share(certain, alone=alone, go_on=go_on) as share:
                    if share is None:
                        raise Cancelled
                    try:
                        _follow("run" if logs is None else "qlog", folder, share, progress)
                    except _MemoryError as error:
                        if share < self.memory.all_bytes():
                            continue
                        raise outgrown(str(error), self.memory) from None
                    break
            tables = engine().read_tables((folder / "tables").read_bytes())
            summary: dict[str, Any] = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
            for position, path in (logs or {}).items():
                with whole_file(path) as place:
                    shutil.copyfile(folder / f"{position}.sqlog", place)
        names = [one.form.flows[i].name for i in connections(one.form)]
        return RawResult(
            tables, summary | {"quic": {"stack": "quinn-proto 0.11", "encryption": "none", "flows": names}}
        )


def program() -> Path | None:
    """The backend's program: ``$ELEPHAN_QUIC``, or the package's."""
    return parts.program(PROGRAM, ENVIRONMENT)


def _required() -> Path:
    found = program()
    if found is None:
        raise ScenarioError(
            f"the backend 'quic' needs {PROGRAM}, which is not built; run 'make programs' in the source tree"
        )
    return found


@lru_cache(maxsize=4)
def _digest(path: Path | None) -> str:
    if path is None:
        return "none"
    with path.open("rb") as binary:
        return hashlib.file_digest(binary, "sha256").hexdigest()[:_DIGEST_DIGITS]


def _follow(verb: str, folder: Path, memory_bytes: int, progress: Progress | None) -> None:
    """Run the program to its end; its output, the simulated fraction, is passed to ``progress``."""
    errors = folder / "errors"
    with errors.open("wb") as sink:
        process = subprocess.Popen(
            [_required(), verb, folder, str(memory_bytes)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
        )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if progress is not None and not progress(float(line)):
                raise Cancelled
        status = process.wait()
    finally:
        process.kill()
        process.wait()
    if status != 0:
        text = errors.read_text(encoding="utf-8", errors="replace")
        if status == FULL:
            raise _MemoryError(one_line(text.strip()))
        raise _told(text) if status == REFUSED else QuicError(f"{PROGRAM} failed: {_last(text, status)}")


class _MemoryError(Exception):
    """The program needs more memory than its share."""


def _last(text: str, status: int) -> str:
    """The last line of the program's errors; after a panic, the place and the reason."""
    before_note = text.partition("\nnote: run with `RUST_BACKTRACE")[0]
    panic = before_note.rpartition("panicked at ")[2]
    if panic != before_note:
        return one_line("; ".join(panic.split("\n")))
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(lines[-1]) if lines else f"exit status {status}"


def _told(text: str) -> ScenarioError:
    """The program's error message, converted to an error that names the field of the scenario."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        return ScenarioError(f"the backend 'quic' cannot run this: {one_line(text.strip())}")
    message = f"the backend 'quic' cannot do it: {one_line(match['message'])}"
    return ScenarioError(message, path=f"flow[{match['position']}].{match['field']}")


def _refuse(what: str, path: str) -> ScenarioError:
    return ScenarioError(f"the backend 'quic' cannot do {what}; 'sim' can", path=path)


def connections(form: Spec) -> list[int]:
    """Positions of the flows that are connections of quinn: those of this backend, but for datagrams, and every flow
    with a controller of a QUIC stack."""
    own = set(transports.on_backend(form, "quic"))
    return [
        i
        for i, flow in enumerate(form.flows)
        if (i in own and not flow.datagrams) or transports.backend_of(flow.algorithm) is not None
    ]


def _check(form: Spec) -> None:
    """Reject fields that quinn's connections do not support, and tables that the backend does not fill."""
    if form.events is not None:
        raise _refuse("an event log", "events")
    if form.internals:
        raise _refuse("internals: quinn's controllers do not show their variables", "internals")
    if form.resolution == "train":
        raise ScenarioError("the backend 'quic' sends single segments; leave it out", path="resolution")
    if form.record_flows is not None:
        raise ScenarioError(
            "the backend 'quic' records every flow; write record = \"all\", or leave it out", path="record"
        )
    real = connections(form)
    for i, flow in enumerate(form.flows):
        _check_source(flow, f"flow[{i}]")
        if i in real:
            _check_connection(flow, f"flow[{i}]")
    for i, source in enumerate(form.traffic):
        _check_source(source.flow, f"traffic[{i}]")


def _check_source(flow: FlowSpec, where: str) -> None:
    if flow.source_sha256 is not None:
        raise _refuse(f"an algorithm written in {language(flow)}", f"{where}.algorithm")


def _check_connection(flow: FlowSpec, where: str) -> None:
    if is_udt(flow.algorithm):
        raise _refuse("UDT, which is no QUIC", f"{where}.algorithm")
    if flow.application is not None and flow.application.writes:
        raise _refuse("single writes: quinn does not tell which bytes were acknowledged", f"{where}.application.writes")
    if flow.base_rtt_error_ps:
        raise _refuse("base_rtt_error", f"{where}.base_rtt_error")
    _check_stack(flow.stack, f"{where}.stack")


def _check_stack(stack: StackSpec, where: str) -> None:
    wire = stack.payload_bytes + stack.header_bytes
    if wire - IP_UDP_BYTES < LEAST_DATAGRAM_BYTES:
        raise ScenarioError(
            f"QUIC needs packets of at least {LEAST_DATAGRAM_BYTES + IP_UDP_BYTES} B on the wire "
            f"(RFC 9000 section 14.1), and these have {wire} B",
            path=where,
        )
    for name, value in msgspec.structs.asdict(stack).items():
        if name not in _CAN_DIFFER and value != getattr(_LINUX, name):
            raise ScenarioError(
                f"the backend 'quic' has quinn's own endpoints, which do not support {name} = {value}; "
                "'sim' can, or write stack = \"linux\"",
                path=where,
            )

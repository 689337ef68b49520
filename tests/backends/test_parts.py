"""Parts of a checkout that are built when they are first used."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from elephan import parts

SCRIPT = """#!/bin/sh
echo "$1" >> built
{then}
printf '#!/bin/sh\\n' > package/bin/"$1"
chmod +x package/bin/"$1"
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout whose programs are not built, and a host with Cargo."""
    (tmp_path / "Makefile").touch()
    (tmp_path / "scripts").mkdir()
    (tmp_path / "package" / "bin").mkdir(parents=True)
    (tmp_path / "cargo").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "cargo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parts, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(parts, "_PROGRAMS", tmp_path / "package" / "bin")
    parts._build.cache_clear()
    yield tmp_path
    parts._build.cache_clear()


def script(checkout: Path, then: str = "") -> None:
    path = checkout / "scripts" / "programs"
    path.write_text(SCRIPT.format(then=then), encoding="utf-8")
    path.chmod(0o755)


def test_a_program_is_built_when_it_is_first_used(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script(checkout)
    assert parts.installed("elephan-quic", "ELEPHAN_QUIC") is None
    found = [parts.program("elephan-quic", "ELEPHAN_QUIC") for _ in range(2)]
    assert found == [checkout / "package" / "bin" / "elephan-quic"] * 2
    assert (checkout / "built").read_text(encoding="utf-8") == "elephan-quic\n"
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "building elephan-quic, once in this checkout: about 60 s\n"


def test_a_build_that_fails_is_not_tried_again(checkout: Path) -> None:
    script(checkout, then="exit 1")
    assert [parts.program("elephan-wire", "ELEPHAN_WIRE") for _ in range(2)] == [None, None]
    assert (checkout / "built").read_text(encoding="utf-8") == "elephan-wire\n"


def test_a_program_of_the_environment_is_never_built(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(checkout)
    monkeypatch.setenv("ELEPHAN_QUIC", str(checkout / "missing"))
    assert parts.program("elephan-quic", "ELEPHAN_QUIC") is None
    assert not (checkout / "built").exists()


def test_a_wheel_builds_nothing(checkout: Path) -> None:
    assert parts.program("elephan-quic", "ELEPHAN_QUIC") is None
    assert not parts.build_page(checkout / "package" / "engine.wasm.gz")


def test_two_processes_build_a_program_once(checkout: Path) -> None:
    script(checkout, then="sleep 0.5")
    code = (
        "import sys; from pathlib import Path; from elephan import parts; top = Path(sys.argv[1]); "
        "parts._CHECKOUT, parts._PROGRAMS = top, top / 'package' / 'bin'; "
        "print(parts.program('elephan-wire', 'ELEPHAN_WIRE'))"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, checkout], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    expected = f"{checkout / 'package' / 'bin' / 'elephan-wire'}\n".encode()
    assert [process.communicate()[0] for process in both] == [expected, expected]
    assert (checkout / "built").read_text(encoding="utf-8") == "elephan-wire\n"

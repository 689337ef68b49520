"""Checks that a wheel and an sdist contain all required files, and that the wheel's programs meet its manylinux tag."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

IN_BOTH = ("elephan/web/built/engine.wasm.gz", "elephan/web/built/play.js", "elephan/web/built/worker.js")
PROGRAMS = tuple(f"elephan/bin/elephan-{name}" for name in ("wire", "guest", "quic", "linux"))
IN_WHEEL = (*IN_BOTH, *PROGRAMS, "elephan/web/play.html", "elephan/web/lessons.toml")
MANUAL = "data/share/man/man1/elephan.1"


def problems(wheel: Path, sdist: Path) -> list[str]:
    """All defects of the wheel and the sdist, one line each."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        found = [f"{wheel.name} lacks {name}" for name in IN_WHEEL if name not in names]
        if not any(name.endswith(".bpf.c") for name in names):
            found.append(f"{wheel.name} lacks the BPF sources")
        if not any(name.endswith(MANUAL) for name in names):
            found.append(f"{wheel.name} lacks the man page")
        with tempfile.TemporaryDirectory() as folder:
            archive.extractall(folder)
            found += [line for name in names for line in _too_new(Path(folder) / name, _allowed(wheel.name))]
    with tarfile.open(sdist) as archive:
        names = [name.partition("python/")[2] for name in archive.getnames()]
    return found + [f"{sdist.name} lacks {name}" for name in IN_BOTH if name not in names]


def _allowed(name: str) -> tuple[int, int]:
    tag = re.search(r"manylinux_(\d+)_(\d+)", name)
    if tag is None:
        raise SystemExit(f"{name} has no manylinux tag, so no package index accepts it")
    return int(tag[1]), int(tag[2])


def _too_new(file: Path, allowed: tuple[int, int]) -> list[str]:
    """One line if a program needs a newer C library than the manylinux tag allows; otherwise empty."""
    if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
        return []
    said = subprocess.run(["objdump", "-T", str(file)], capture_output=True, text=True, check=False).stdout
    needed = max((tuple(map(int, v)) for v in re.findall(r"GLIBC_(\d+)\.(\d+)", said)), default=(0, 0))
    if needed <= allowed:
        return []
    return [f"{file.name} needs glibc {needed[0]}.{needed[1]}, and the tag allows {allowed[0]}.{allowed[1]}"]


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]), Path(sys.argv[2]))
    print("\n".join(wrong) or "the wheel and the sdist have everything")
    sys.exit(bool(wrong))

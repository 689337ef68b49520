"""Checks wheels and an sdist, and prints the sizes of the parts of each wheel.

They contain all required files, a wheel's programs are for the processor of its tag and meet its C library, and a plain
installation installs no optional package.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IN_BOTH = (
    "elephan/web/built/engine.wasm.gz",
    "elephan/web/built/play.js",
    "elephan/web/built/report.js",
    "elephan/web/built/worker.js",
)
IN_WHEEL = (*IN_BOTH, "elephan/demo.toml", "elephan/web/play.html", "elephan/web/lessons.toml")
PROGRAMS = {"x86_64": ("wire", "guest", "quic", "linux", "counter.so"), "aarch64": ("wire", "quic")}
"""Programs by processor. Those of ``--on linux`` are for x86 only, because User Mode Linux is."""

MANUAL = "data/share/man/man1/elephan.1"
_MACHINES = {62: "x86_64", 183: "aarch64"}
"""Numbers of processors in the header of an ELF file (``e_machine``)."""

_MACHINE_AT = 18
"""Position of ``e_machine`` in the header, bytes."""


def problems(wheel: Path, sdist: Path | None = None) -> list[str]:
    """All defects of the wheel and the sdist, one line each."""
    machine = _tag(wheel)[2]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        wanted = [*IN_WHEEL, *(f"elephan/bin/elephan-{name}" for name in PROGRAMS[machine])]
        found = [f"{wheel.name} lacks {name}" for name in wanted if name not in names]
        programs = [name for name in names if name.startswith("elephan/bin/")]
        found += [
            f"{wheel.name} has {name}, which is of no use on {machine}" for name in programs if name not in wanted
        ]
        if any(name.endswith(".pyc") for name in names):
            found.append(f"{wheel.name} has compiled Python files, which are for one version of Python")
        if not any(name.endswith(".bpf.c") for name in names):
            found.append(f"{wheel.name} lacks the BPF sources")
        if not any(name.endswith(MANUAL) for name in names):
            found.append(f"{wheel.name} lacks the man page")
        if not any(re.search(r"/_engine\.abi3\.so$", name) for name in names):
            found.append(f"{wheel.name} lacks an engine for any Python (abi3)")
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        stated = requirements(archive.read(metadata).decode("utf-8"))
        found += [f"{wheel.name}: {line}" for line in undeclared(stated, _project())]
        with tempfile.TemporaryDirectory() as folder:
            archive.extractall(folder)
            files = [path for path in map(Path(folder).joinpath, names) if path.is_file()]
            found += [f"{wheel.name}: {line}" for file in files for line in _unfit(file, _tag(wheel))]
    if sdist is None:
        return found
    with tarfile.open(sdist) as source:
        names = [name.partition("python/")[2] for name in source.getnames()]
    return found + [f"{sdist.name} lacks {name}" for name in IN_BOTH if name not in names]


def requirements(metadata: str) -> list[str]:
    """The requirements in the metadata of a wheel (``Requires-Dist``)."""
    return [str(line) for line in HeaderParser().parsestr(metadata).get_all("Requires-Dist", [])]


def undeclared(stated: Iterable[str], project: Mapping[str, object]) -> list[str]:
    """One line for each requirement of a plain installation that is not in ``dependencies`` of pyproject.toml, and for
    each optional one that a plain installation would install."""
    dependencies, optional = project["dependencies"], project["optional-dependencies"]
    assert isinstance(dependencies, list)
    assert isinstance(optional, dict)
    always = {_package(line) for line in stated if "extra ==" not in line}
    extras = {_package(line) for lines in optional.values() for line in lines}
    plain = {_package(line) for line in dependencies}
    return [
        *(f"a plain installation also installs {name}" for name in sorted(always - plain)),
        *(f"a plain installation lacks {name}" for name in sorted(plain - always)),
        *(f"{name} is of an extra, and a plain installation installs it" for name in sorted(always & extras)),
    ]


def parts(wheel: Path) -> dict[str, tuple[int, int]]:
    """Compressed and unpacked size of each part of a wheel, bytes."""
    sizes: dict[str, tuple[int, int]] = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            part = _part(entry.filename)
            packed, unpacked = sizes.get(part, (0, 0))
            sizes[part] = (packed + entry.compress_size, unpacked + entry.file_size)
    return dict(sorted(sizes.items(), key=lambda item: -item[1][0]))


def _part(name: str) -> str:
    if name.endswith(".so"):
        return "engine"
    if name.startswith("elephan/bin/"):
        return name.rpartition("/")[2]
    if name.startswith("elephan/web/"):
        return "page"
    return "Python" if name.endswith((".py", ".pyi")) else "data"


def _project() -> Mapping[str, object]:
    project: Mapping[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def _package(requirement: str) -> str:
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def _tag(wheel: Path) -> tuple[int, int, str]:
    """Version of the C library and the processor of a wheel's platform tag."""
    tag = re.search(r"manylinux_(\d+)_(\d+)_(\w+)\.whl$", wheel.name)
    if tag is None or tag[3] not in PROGRAMS:
        raise SystemExit(
            f"{wheel.name} has no manylinux tag for {' or '.join(PROGRAMS)}, so no package index accepts it"
        )
    return int(tag[1]), int(tag[2]), tag[3]


def _unfit(file: Path, tag: tuple[int, int, str]) -> list[str]:
    """The reasons why a program does not run on all hosts of the tag: another processor, or a newer C library."""
    head = file.read_bytes()[: _MACHINE_AT + 2]
    if head[:4] != b"\x7fELF":
        return []
    machine = _MACHINES.get(int.from_bytes(head[_MACHINE_AT:], "little"), "another processor")
    found = [] if machine == tag[2] else [f"{file.name} is for {machine}, and the tag is for {tag[2]}"]
    said = subprocess.run(["readelf", "-VW", str(file)], capture_output=True, text=True, check=True).stdout
    needed = max((tuple(map(int, v)) for v in re.findall(r"GLIBC_(\d+)\.(\d+)", said)), default=(0, 0))
    if needed > tag[:2]:
        found.append(f"{file.name} needs glibc {needed[0]}.{needed[1]}, and the tag allows {tag[0]}.{tag[1]}")
    return found


def main(files: list[Path]) -> int:
    """Check the files, print the sizes, and return the exit status."""
    sdists = [file for file in files if file.name.endswith(".tar.gz")]
    wheels = [file for file in files if file.suffix == ".whl"]
    wrong = [line for wheel in wheels for line in problems(wheel, sdists[0] if sdists else None)]
    for wheel in wheels:
        print(f"{wheel}: {wheel.stat().st_size / 1e6:.1f} MB")
        for part, (packed, unpacked) in parts(wheel).items():
            print(f"  {part:<14} {packed / 1e6:6.2f} MB, unpacked {unpacked / 1e6:6.2f} MB")
    print("\n".join(dict.fromkeys(wrong)) or "the wheels and the sdist have everything")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))

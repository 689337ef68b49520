"""The check of wheels finds missing files, foreign programs and optional packages in a plain installation."""

from __future__ import annotations

import struct
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests import scripts

CHECK = scripts.load("scripts/dist_check.py")
PROJECT: dict[str, Any] = tomllib.loads((scripts.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = "elephan-0.1.0-cp311-abi3-manylinux_2_34_{machine}.whl"
OPTIONAL = [
    f'{line}; extra == "{extra}"' for extra, lines in PROJECT["optional-dependencies"].items() for line in lines
]
X86, ARM = 62, 183


def elf(machine: int) -> bytes:
    """The smallest ELF file that readelf accepts: a header without sections."""
    magic = b"\x7fELF\x02\x01\x01" + bytes(9)
    return magic + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)


def wheel(
    folder: Path, machine: str, number: int, *, without: str = "", extra: str = "", requires: list[str] | None = None
) -> Path:
    names = [*CHECK.IN_WHEEL, "elephan/bpf/reno.bpf.c", f"elephan-0.1.0.{CHECK.MANUAL}", "elephan/cli/main.py"]
    programs = ["elephan/_engine.abi3.so", *(f"elephan/bin/elephan-{name}" for name in CHECK.PROGRAMS[machine])]
    if extra:
        programs.append(extra)
    stated = [*PROJECT["dependencies"], *OPTIONAL] if requires is None else requires
    path = folder / NAME.format(machine=machine)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "text")
        for name in programs:
            archive.writestr(name, elf(number))
        archive.writestr("elephan-0.1.0.dist-info/METADATA", "".join(f"Requires-Dist: {line}\n" for line in stated))
    if without:
        whole = path.rename(folder / "whole.zip")
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w") as archive:
            for name in source.namelist():
                if name != without:
                    archive.writestr(name, source.read(name))
    return path


@pytest.mark.parametrize(("machine", "number"), [("x86_64", X86), ("aarch64", ARM)])
def test_a_whole_wheel_has_no_defect(machine: str, number: int, tmp_path: Path) -> None:
    assert CHECK.problems(wheel(tmp_path, machine, number)) == []


@pytest.mark.parametrize("name", ["elephan/bin/elephan-guest", "elephan/demo.toml", "elephan/_engine.abi3.so"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    (line,) = CHECK.problems(wheel(tmp_path, "x86_64", X86, without=name))
    assert "lacks" in line
    assert name in line or "abi3" in line


def test_compiled_python_files_are_named(tmp_path: Path) -> None:
    lines = CHECK.problems(wheel(tmp_path, "x86_64", X86, extra="elephan/__pycache__/rates.cpython-311.pyc"))
    assert any("compiled Python files" in line for line in lines)


def test_a_program_for_another_processor_is_named(tmp_path: Path) -> None:
    lines = CHECK.problems(wheel(tmp_path, "aarch64", X86))
    assert any("elephan-wire is for x86_64, and the tag is for aarch64" in line for line in lines)


def test_the_programs_of_user_mode_linux_are_for_x86_only(tmp_path: Path) -> None:
    assert "guest" not in CHECK.PROGRAMS["aarch64"]
    lines = CHECK.problems(wheel(tmp_path, "aarch64", ARM, extra="elephan/bin/elephan-guest"))
    assert [line for line in lines if "elephan-guest" in line]


def test_an_optional_package_in_a_plain_installation_is_named(tmp_path: Path) -> None:
    assert OPTIONAL, "pyproject.toml has no extra, so this test checks nothing"
    bare = [line.partition(";")[0] for line in OPTIONAL]
    lines = CHECK.problems(wheel(tmp_path, "x86_64", X86, requires=[*PROJECT["dependencies"], *bare]))
    assert any("distributed is of an extra" in line for line in lines)


def test_a_lost_dependency_is_named(tmp_path: Path) -> None:
    lines = CHECK.problems(wheel(tmp_path, "x86_64", X86, requires=PROJECT["dependencies"][1:]))
    assert any("a plain installation lacks" in line for line in lines)


def test_the_parts_of_a_wheel_add_up(tmp_path: Path) -> None:
    path = wheel(tmp_path, "x86_64", X86)
    sizes = CHECK.parts(path)
    assert {"engine", "page", "Python", "data", "elephan-wire"} <= set(sizes)
    with zipfile.ZipFile(path) as archive:
        assert sum(unpacked for _, unpacked in sizes.values()) == sum(entry.file_size for entry in archive.infolist())


def test_a_plain_installation_has_no_optional_package(tmp_path: Path) -> None:
    """In the metadata that maturin writes into a wheel."""
    maturin = Path(sys.executable).with_name("maturin")
    words = [str(maturin), "pep517", "write-dist-info", "--metadata-directory", str(tmp_path)]
    subprocess.run(words, cwd=scripts.ROOT, check=True, capture_output=True)
    (metadata,) = tmp_path.glob("*.dist-info/METADATA")
    stated = CHECK.requirements(metadata.read_text(encoding="utf-8"))
    assert len(stated) == len(PROJECT["dependencies"]) + len(OPTIONAL)
    assert CHECK.undeclared(stated, PROJECT) == []

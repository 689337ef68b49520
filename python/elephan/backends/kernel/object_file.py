"""Reader of the symbols of a compiled BPF object; the symbols give the positions of the object's parameters."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_SYMBOL_TABLE = 2
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")


@dataclass(frozen=True)
class Symbol:
    """A named piece of data.

    Attributes:
        section: name of the ELF section that has the data. offset: offset in the section, bytes. size: bytes.
    """

    section: str
    offset: int
    size: int


class ObjectFile:
    """An ELF object, 64 bits and little-endian, as clang makes it for BPF."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        if self._data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is not a little-endian 64-bit ELF object")
        (table,) = struct.unpack_from("<Q", self._data, 0x28)
        _, count, names = struct.unpack_from("<HHH", self._data, 0x3A)
        self._headers = [_SECTION.unpack_from(self._data, table + 64 * i) for i in range(count)]
        text = self._content(names)
        self._names = [_text(text, header[0]) for header in self._headers]
        self.symbols = self._read_symbols()

    def section(self, name: str) -> bytes:
        """The content of a section."""
        return self._content(self._names.index(name))

    def content(self, symbol: str) -> bytes:
        """The bytes of a symbol."""
        found = self.symbols[symbol]
        return self.section(found.section)[found.offset : found.offset + found.size]

    def _content(self, index: int) -> bytes:
        offset, size = self._headers[index][4:6]
        return self._data[offset : offset + size]

    def _read_symbols(self) -> dict[str, Symbol]:
        symbols: dict[str, Symbol] = {}
        for index, header in enumerate(self._headers):
            if header[1] != _SYMBOL_TABLE:
                continue
            text = self._content(header[6])
            for name, _, _, section, value, size in _SYMBOL.iter_unpack(self._content(index)):
                if name and 0 < section < len(self._names):
                    symbols[_text(text, name)] = Symbol(self._names[section], value, size)
        return symbols


def _text(table: bytes, offset: int) -> str:
    return table[offset : table.index(b"\0", offset)].decode()

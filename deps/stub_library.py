"""Makes of a shared library what a linker reads of it: its symbols, versions and names, without its code.

libtorch_cpu.so is 200 to 500 MB of machine code, of which a linker reads a tenth. Every section keeps its
number and its address, so that what is linked against the stub has the same bytes as what is linked
against the library; but only the dynamic linker's tables keep their contents. A stub cannot be loaded.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")  # Elf64_Ehdr
SECTION = struct.Struct("<IIQQQQIIQQ")  # Elf64_Shdr
STRINGS, NOBITS = 3, 8  # sh_type
# .dynamic, .dynsym, .gnu.version_d, .gnu.version_r, .gnu.version
KEPT_TYPES = {6, 11, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF}
KEPT_STRINGS = {b".dynstr", b".shstrtab"}


def stub_of(library: bytes) -> bytes:
    """The stub of a shared library for a 64-bit machine. ValueError if it is not one."""
    if library[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a shared library for a 64-bit little-endian machine")
    fields = list(HEADER.unpack_from(library))
    offset, size, count, names_at = fields[6], fields[11], fields[12], fields[13]
    sections = [list(SECTION.unpack_from(library, offset + i * size)) for i in range(count)]
    names = library[sections[names_at][4] :]
    body = bytearray(HEADER.size)
    for section in sections:
        kind, start, length = section[1], section[4], section[5]
        name = names[section[0] : names.index(b"\0", section[0])]
        if kind in KEPT_TYPES or (kind == STRINGS and name in KEPT_STRINGS):
            body += bytes(-len(body) % 8)
            section[4] = len(body)
            body += library[start : start + length]
        elif kind != 0:
            section[1], section[4] = NOBITS, len(body)
    body += bytes(-len(body) % 8)
    fields[5] = fields[10] = fields[9] = 0  # no segments: nothing of it can be loaded
    fields[6] = len(body)
    HEADER.pack_into(body, 0, *fields)
    for section in sections:
        body += SECTION.pack(*section)
    return bytes(body)

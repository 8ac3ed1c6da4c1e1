"""Writes stub libraries: the symbols of this system's C and C++ libraries at their older versions.

A linker binds each symbol to the newest version that it sees, so a program that is linked on one
system does not start on an older one. A stub has the name and the symbols of the real library, but
no code, and each symbol only has the newest version that is within LIMITS. What is linked against
the stubs is bound to these versions, which the real library still has.

Symbols that are newer than the limits are absent. Static libraries stand behind the stubs on the
linker's command line and supply them: libtorchport_old_glibc.a for glibc, and libstdc++.a.

    python stubs.py FOLDER COMPILER OLD_GLIBC
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# The newest versions of the policy manylinux_2_28.
LIMITS = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
NAMED_VERSIONS = {"CXXABI_TM_1", "CXXABI_FLOAT128"}

LIBRARIES = ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1")

# glibc 2.34 moved these symbols into libc.so.6. A program for older ones has to name their library.
MOVED = {
    "libpthread.so.0": re.compile(r"_*(pthread|sem)_"),
    "libdl.so.2": re.compile(r"dl[a-z]"),
    "librt.so.1": re.compile(r"(aio|lio|mq|shm|timer)_"),
}

# libtorchport_old_glibc.a defines these itself, and calls the old version of them by its name.
REPLACED = {"__libc_start_main"}

# A compiler takes these from the static libgcc, where they are hidden: Clang's code reaches them only there.
STATIC = {"__cpu_model", "__cpu_indicator_init"}


class Symbol(NamedTuple):
    name: str
    version: str
    kind: str
    size: int


def within_limits(version: str) -> bool:
    family, _, number = version.partition("_")
    if version in NAMED_VERSIONS:
        return True
    if family not in LIMITS or not re.fullmatch(r"[0-9.]+", number):
        return False
    return tuple(map(int, number.split("."))) <= LIMITS[family]


def age(version: str) -> tuple[str, tuple[int, ...]]:
    return version.partition("_")[0], tuple(map(int, re.findall(r"\d+", version)))


def defined(library: Path) -> list[Symbol]:
    """All versions of all symbols that a library defines."""
    command = ["readelf", "--dyn-syms", "--wide", library]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    symbols = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 8 or not words[0].endswith(":") or words[6] in ("UND", "ABS"):
            continue
        name, _, version = words[7].partition("@")
        if version:
            symbols.append(Symbol(name, version.lstrip("@"), words[3], int(words[2], 0)))
    return symbols


def bound(symbols: list[Symbol]) -> list[Symbol]:
    """The newest version of each symbol within the limits."""
    newest: dict[str, Symbol] = {}
    for symbol in symbols:
        if not within_limits(symbol.version) or symbol.name in STATIC:
            continue
        known = newest.get(symbol.name)
        if known is None or age(known.version) < age(symbol.version):
            newest[symbol.name] = symbol
    return sorted(newest.values())


def by_old_home(symbols: list[Symbol]) -> dict[str, list[Symbol]]:
    """The symbols of libc.so.6 by the library that has them in a glibc before 2.34."""
    moved = {s.name for s in symbols if s.version == "GLIBC_2.34"}
    homes: dict[str, list[Symbol]] = {"libc.so.6": [], **{name: [] for name in MOVED}}
    for symbol in bound(symbols):
        home = "libc.so.6"
        if symbol.name in moved:
            home = next((n for n, p in MOVED.items() if p.match(symbol.name)), home)
        homes[home].append(symbol)
    return homes


def assembly(symbols: list[Symbol]) -> str:
    sections = {
        "OBJECT": (".data", "object"),
        "TLS": ('.section .tbss,"awT",@nobits', "tls_object"),
    }
    lines = []
    for number, symbol in enumerate(symbols):
        label = f"torchport_stub_{number}"
        section, kind = sections.get(symbol.kind, (".text", "function"))
        default = "@" if symbol.name in REPLACED else "@@"
        lines += [
            section,
            f".globl {label}",
            f".type {label}, @{kind}",
            f"{label}: .zero {max(symbol.size, 1) if kind != 'function' else 1}",
            f".size {label}, {symbol.size if kind != 'function' else 1}",
            f".symver {label}, {symbol.name}{default}{symbol.version}",
        ]
    lines.append('.section .note.GNU-stack,"",@progbits')
    return "\n".join(lines) + "\n"


def version_script(symbols: list[Symbol]) -> str:
    versions = sorted({symbol.version for symbol in symbols}, key=age)
    hidden = " local: torchport_stub_*; "
    return "".join(f"{v} {{{hidden if i == 0 else ' '}}};\n" for i, v in enumerate(versions))


def write_stub(folder: Path, compiler: str, name: str, symbols: list[Symbol]) -> None:
    source, script = folder / f"{name}.s", folder / f"{name}.map"
    source.write_text(assembly(symbols))
    script.write_text(version_script(symbols))
    options = ["-shared", "-nostdlib", f"-Wl,-soname,{name}", f"-Wl,--version-script,{script}"]
    subprocess.run([compiler, *options, "-o", folder / name, source], check=True)
    source.unlink()
    script.unlink()


def main() -> None:
    folder, compiler, old_glibc = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    folder.mkdir(parents=True, exist_ok=True)

    def host(name: str) -> Path:
        command = [compiler, f"-print-file-name={name}"]
        found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        if not Path(found).is_absolute():
            sys.exit(f"{compiler} has no {name}")
        return Path(found)

    for name in LIBRARIES:
        symbols = defined(host(name))
        homes = by_old_home(symbols) if name == "libc.so.6" else {name: bound(symbols)}
        for home, of_home in homes.items():
            write_stub(folder, compiler, home, of_home)

    # What -lc, -lstdc++ ... find first. AS_NEEDED names a library only in what calls it.
    moved = " ".join(str(folder / name) for name in MOVED)
    loader = folder / "ld-linux-x86-64.so.2"
    scripts = {
        "libc": f"GROUP({old_glibc} {folder}/libc.so.6 {host('libc_nonshared.a')} "
        f"AS_NEEDED({moved} {loader}))",
        "libm": f"INPUT({folder}/libm.so.6)",
        "libpthread": f"INPUT(AS_NEEDED({folder}/libpthread.so.0))",
        "libdl": f"INPUT(AS_NEEDED({folder}/libdl.so.2))",
        "librt": f"INPUT(AS_NEEDED({folder}/librt.so.1))",
        "libgcc_s": f"GROUP({folder}/libgcc_s.so.1 -lgcc)",
        "libstdc++": f"GROUP({folder}/libstdc++.so.6 {host('libstdc++.a')})",
    }
    for name, script in scripts.items():
        (folder / f"{name}.so").write_text(script + "\n")


if __name__ == "__main__":
    main()

"""Gives a wheel the platform tag of the systems that it runs on: tag_wheel.py WHEEL

Each binary in the wheel is looked at. If none needs a newer symbol or another library than the policy
manylinux_2_28 allows, the wheel is written anew under that tag; else the reasons are named, and the
wheel stays as it is. auditwheel does the same, but it also wants to take torch's libraries in, which
have to be those of the user's torch.

Members get the time of SOURCE_DATE_EPOCH or the oldest that an archive can have, so that two builds
give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src/portable"))
from stubs import within_limits

PLATFORM = "manylinux_2_28_x86_64"
SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
SYSTEM |= {"ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
TORCH = {"libtorch_cpu.so", "libc10.so"}


def readelf(option: str, path: Path) -> str:
    command = ["readelf", option, "--wide", path]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def reasons_against(name: str, path: Path, own: set[str]) -> list[str]:
    versions = re.findall(r"Name: (\S+)", readelf("--version-info", path))
    libraries = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", path)))
    found = [f"{name} needs {v}" for v in versions if is_needed(v) and not within_limits(v)]
    return found + [f"{name} links {lib}" for lib in libraries - SYSTEM - TORCH - own]


def is_needed(version: str) -> bool:
    # The versions that a library itself defines have its own name.
    return re.match(r"(GLIBC|GLIBCXX|CXXABI|GCC)_", version) is not None


def reasons(wheel: zipfile.ZipFile) -> list[str]:
    found: list[str] = []
    own = {Path(name).name for name in wheel.namelist()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "binary")
        for name in wheel.namelist():
            content = wheel.read(name)
            if content.startswith(b"\x7fELF"):
                path.write_bytes(content)
                found += reasons_against(name, path, own)
    return found


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def write(wheel: zipfile.ZipFile, path: Path, tag: str) -> None:
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    moment = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    records = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as result:
        for info in sorted(wheel.infolist(), key=lambda i: i.filename.endswith("/RECORD")):
            content = wheel.read(info)
            if info.filename.endswith(".dist-info/WHEEL"):
                content = re.sub(rb"(?m)^Tag: .*$", f"Tag: {tag}".encode(), content)
            if info.filename.endswith(".dist-info/RECORD"):
                records.append(f"{info.filename},,")
                content = ("\n".join(records) + "\n").encode()
            else:
                records.append(record_line(info.filename, content))
            member = zipfile.ZipInfo(info.filename, moment)
            member.external_attr = info.external_attr
            result.writestr(member, content, zipfile.ZIP_DEFLATED)


def main() -> None:
    path = Path(sys.argv[1])
    with zipfile.ZipFile(path) as wheel:
        if against := reasons(wheel):
            sys.exit("\n".join([f"{path.name} is not {PLATFORM}:", *against]))
        name = re.sub(r"-[^-]+\.whl$", f"-{PLATFORM}.whl", path.name)
        tag = name.removesuffix(".whl").split("-", 2)[2]
        new = path.with_name(f".{name}")
        write(wheel, new, tag)
    path.unlink()
    new.rename(path.with_name(name))


if __name__ == "__main__":
    main()

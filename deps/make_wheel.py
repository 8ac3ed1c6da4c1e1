"""Packs build folders into one wheel, in dist/: make_wheel.py PROGRAM_BUILD [RUNTIME_BUILD...].

The first folder has the program and one runtime, each of the others the runtime of another release of
torch. Nothing is compiled. The tag of the wheel is that of the oldest system that auditwheel finds all
files to run on, and two runs on the same files give the same bytes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WANTED = "manylinux_2_28_x86_64"


def build(folders: list[Path], dist: Path, scratch: Path) -> Path:
    # The files in the wheel have the time of the commit.
    time = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    settings = {
        "build-dir": scratch,
        "cmake.define.TORCHPORT_PREBUILT": ";".join(str(folder.resolve()) for folder in folders),
    }
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    command += ["--no-build-isolation", "--no-deps", "--wheel-dir", str(dist)]
    command += [f"--config-settings={name}={value}" for name, value in settings.items()]
    environment = os.environ | {"SOURCE_DATE_EPOCH": time or "315532800"}
    subprocess.run([*command, str(ROOT)], env=environment, check=True)
    return next(dist.glob("torchport-*.whl"))


def tag_of(wheel: Path) -> str:
    """The platform that auditwheel finds the wheel to fit."""
    done = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", str(wheel)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = re.search(r'"(\w+_x86_64)"', re.sub(r"\s+", " ", done.stdout))
    if found is None:
        sys.exit(f"make_wheel.py: auditwheel says: {done.stdout}{done.stderr}")
    return found[1]


def main() -> int:
    folders = [Path(word) for word in sys.argv[1:]]
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = build(folders, scratch / "dist", scratch / "build")
        tag = tag_of(wheel)
        if tag != WANTED:
            print(f"make_wheel.py: the wheel is for {tag}, not for {WANTED}", file=sys.stderr)
        done = subprocess.run(
            [sys.executable, "-m", "wheel", "tags", "--platform-tag", tag, str(wheel)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        tagged = wheel.with_name(done.stdout.strip().splitlines()[-1])
        target = dist / tagged.name
        target.write_bytes(tagged.read_bytes())
    print(f"{target.relative_to(ROOT)}  {target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

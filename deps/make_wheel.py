"""Packs build folders into one wheel: make_wheel.py [--into FOLDER] PROGRAM_BUILD [RUNTIME_BUILD...].

The first folder has the program and one runtime, each of the others the runtime of another release of
torch. Nothing is compiled. The wheel replaces those in FOLDER (default: dist/). It has the tag
manylinux_2_28 (.ci/tag_wheel.py checks it), unless the program was built for this system only. Two runs
on the same files give the same bytes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """The files in the wheel have the time of the commit."""
    time = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    return os.environ | {"SOURCE_DATE_EPOCH": time or "0"}


def build(folders: list[Path], dist: Path, scratch: Path) -> Path:
    settings = {
        "build-dir": scratch,
        "cmake.define.TORCHPORT_PREBUILT": ";".join(str(folder.resolve()) for folder in folders),
    }
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet"]
    command += ["--no-build-isolation", "--no-deps", "--wheel-dir", str(dist)]
    command += [f"--config-settings={name}={value}" for name, value in settings.items()]
    subprocess.run([*command, str(ROOT)], env=environment(), check=True)
    return next(dist.glob("torchport-*.whl"))


def is_portable(build: Path) -> bool:
    return "TORCHPORT_PORTABLE:BOOL=ON" in (build / "CMakeCache.txt").read_text()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--into", type=Path, default=ROOT / "dist", metavar="FOLDER")
    parser.add_argument("folders", type=Path, nargs="+", metavar="BUILD")
    options = parser.parse_args()
    dist = options.into
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = build(options.folders, scratch / "dist", scratch / "build")
        if is_portable(options.folders[0]):
            tagger = ROOT / ".ci/tag_wheel.py"
            subprocess.run([sys.executable, tagger, wheel], env=environment(), check=True)
            wheel = next(wheel.parent.glob("torchport-*.whl"))
        else:
            print(
                "The program was built for this system only, and so is the wheel.", file=sys.stderr
            )
        for old in dist.glob("torchport-*.whl"):
            old.unlink()
        target = dist / wheel.name
        target.write_bytes(wheel.read_bytes())
    print(f"{os.path.relpath(target)}  {target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

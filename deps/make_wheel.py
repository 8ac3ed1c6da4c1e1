"""Packs build folders into one wheel: make_wheel.py [--dist FOLDER] PROGRAM_BUILD [RUNTIME_BUILD...].

The wheel replaces the one in FOLDER, which is dist/ by default. The first build folder has the program
and one runtime, each of the others the runtime of another release of torch. Nothing is compiled. The
wheel has the tag manylinux_2_28 (.ci/tag_wheel.py checks it), and two runs on the same files give the
same bytes.
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


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    dist = options.dist.resolve()
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        wheel = build(options.folders, scratch / "dist", scratch / "build")
        tagger = ROOT / ".ci/tag_wheel.py"
        subprocess.run([sys.executable, tagger, wheel], env=environment(), check=True)
        tagged = next(wheel.parent.glob("torchport-*.whl"))
        for old in dist.glob("torchport-*.whl"):
            old.unlink()
        target = dist / tagged.name
        target.write_bytes(tagged.read_bytes())
    print(f"{os.path.relpath(target)}  {target.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

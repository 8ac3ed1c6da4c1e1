"""Runs the program in roots of older Debian releases: `make test-old-systems`, as root.

    run.py [--build FOLDER] [--roots FOLDER] [RELEASE...]

Each root is made once, by debootstrap, from the mirror that apt uses. The program has to answer there
as it does here, and the unit tests of what it links for an older glibc have to pass. A release that the
mirror does not have is named and left out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("bullseye", "buster")  # glibc 2.31 and 2.28
PLACE = "torchport-test"

PROGRAM_WITH_FINDINGS = """\
import torch

model = torch.nn.Linear(2, 2).cuda()
state = torch.load("weights.pt")
"""

COMMANDS = (
    ["torchport", "--version"],
    ["torchport", "check", "source"],
    ["torchport", "check", "source"],  # from the cache
    ["torchport", "check", "--format", "sarif", "source"],
    ["torchport", "check", "--no-such-option"],  # an exception inside of the program
    ["torchport", "check", "no-such-folder"],
    ["torchport", "fix", "--diff", "source"],
    ["torchport", "explain", "TP101"],
    ["torchport", "inspect", "checkpoints/state_zip.pt"],
    ["torchport", "inspect", "checkpoints/state_legacy.pt"],
    ["torchport", "inspect", "checkpoints/shards"],
    ["torchport", "inspect", "source/a.py"],
)


def mirror() -> str:
    command = ["apt-get", "indextargets", "--format", "$(SITE)"]
    command += ["Created-By: Packages", "Origin: Debian"]
    sites = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    if not sites:
        sys.exit("apt knows no mirror of Debian: apt-get update")
    return sites[0]


def make_root(release: str, folder: Path, packages: tuple[str, ...] = ()) -> bool:
    """Whether there is such a root. `packages` are installed beside the smallest system."""
    if (folder / "usr/bin/env").exists():
        return True
    site = mirror()
    index = ["curl", "-sfI", "-m", "30", f"{site}/dists/{release}/Release"]
    if subprocess.run(index, capture_output=True, check=False).returncode != 0:
        return False
    included = [f"--include={','.join(packages)}"] if packages else []
    command = ["debootstrap", "--variant=minbase", *included, release, folder, site]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        sys.exit(f"debootstrap {release}: {made.stdout[-2000:]}{made.stderr[-2000:]}")
    return True


def lay_out(folder: Path, build: Path) -> None:
    """What is run, and what it reads."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "source").mkdir(parents=True)
    (folder / "source/a.py").write_text(PROGRAM_WITH_FINDINGS)
    shutil.copy(build / "bin/torchport", folder)
    shutil.copy(build / "tests/portable_test", folder)


def answer(words: list[str], folder: str, root: Path | None) -> tuple[int, str, str]:
    inside = ["env", "-C", folder, f"TORCHPORT_CACHE_DIR={folder}/cache", "LC_ALL=C.UTF-8"]
    command = [*(["chroot", root] if root else []), *inside, f"./{words[0]}", *words[1:]]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def compare(release: str, root: Path, here: Path, there: Path) -> list[str]:
    """What differs between this system and the root."""
    wrong = []
    for words in COMMANDS:
        expected = answer(words, str(here), None)
        found = answer(words, f"/{PLACE}", root)
        if found != expected:
            wrong.append(f"{release}: {' '.join(words)}\n  here:  {expected}\n  there: {found}")
    if not list((there / "cache").glob("*.sqlite")):
        wrong.append(f"{release}: the program wrote no cache")
    code, _, errors = answer(["torchport", "doctor"], f"/{PLACE}", root)
    if code not in (0, 1):
        wrong.append(f"{release}: doctor ended with {code}: {errors}")
    code, output, errors = answer(["portable_test"], f"/{PLACE}", root)
    if code != 0:
        wrong.append(f"{release}: portable_test ended with {code}\n{output}{errors}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--roots", type=Path, default=ROOT / "build/old_systems")
    options = parser.parse_args()
    roots = options.roots.resolve()
    here = roots / "here"
    checkpoints = here / "checkpoints"
    lay_out(here, options.build)
    maker = ROOT / "tests/cli/programs/make_checkpoints.py"
    checkpoints.mkdir()
    subprocess.run([sys.executable, maker, checkpoints], check=True)
    wrong = []
    for release in options.releases:
        root = roots / release
        if not make_root(release, root):
            print(f"{release}: the mirror does not have it")
            continue
        there = root / PLACE
        lay_out(there, options.build)
        shutil.copytree(checkpoints, there / "checkpoints")
        found = compare(release, root, here, there)
        print(f"{release}: {'differs' if found else f'{len(COMMANDS)} commands answer as here'}")
        wrong += found
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()

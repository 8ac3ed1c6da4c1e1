"""Compares virtual devices with every recording of a real device that is here.

The same program asks virtual devices of the recorded device's profile. A table says how many answers
are alike; every difference is written in full into build/fidelity. Ends with 1 if a difference is not
in known.toml, or a recording is no real device's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from recorder import comparison, known  # noqa: E402

TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).with_name("torchport")))
NONE = """There is no recording of a real device in tests/fidelity, so nothing is compared.
On a machine with an NVIDIA GPU and torch 2.9 or newer, `make record-device` writes one
(docs/fidelity.md); put it into tests/fidelity and run this again."""


class Refused(Exception):
    """The recording cannot be compared; the text says why, and what to do."""


def read(path: Path, *, accept_virtual: bool) -> dict[str, Any]:
    """A recording of a real device.

    Raises:
        Refused: It is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        virtual, device, made = found["virtual"], found["device"], found["made"]
        found["answers"], device["torch"], made["hash"]
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path.name} is no recording: {type(error).__name__}: {error}") from error
    # A build without CUDA has no real device, whatever the file says.
    if (virtual is not False or "+cpu" in device["torch"]) and not accept_virtual:
        raise Refused(
            f"{path.name} was made on a virtual device. Only recordings of real devices belong into "
            "tests/fidelity: delete it."
        )
    return found


def profile_of(device: dict[str, Any]) -> str:
    """The profile whose devices have the recorded device's name.

    Raises:
        Refused: There is none.
    """
    command = [TORCHPORT, "devices", "--profiles", "--kind", "cuda", "--format", "json"]
    listed = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=True
    )
    name = device["name"]
    for profile in json.loads(listed.stdout):
        if profile["device_name"] == name:
            return profile["name"]
    raise Refused(
        f"no profile of virtual devices is called {name!r}: add one to src/devices/profiles/cuda"
    )


def ask_virtual(
    path: Path, recording: dict[str, Any], folder: Path, only: list[str], questions: Path | None
) -> dict[str, Any]:
    """What virtual devices of the recording's profile and number answer."""
    profile = profile_of(recording["device"])
    count = min(recording["device"].get("devices", 1), 2)
    output = folder / f"virtual-{path.name}"
    command = [TORCHPORT, "run", "-q", "--devices", f"cuda:{count}", "--profile", profile]
    command += [HERE / "record.py", "--fresh", "--slower", "5", "--output", output]
    command += ["--jobs", str(min(4, os.cpu_count() or 1))]
    command += ["--only", *only] if only else []
    command += ["--questions", questions] if questions else []
    subprocess.run([str(word) for word in command], check=True)
    return json.loads(output.read_text(encoding="utf-8"))


def release_of(recording: dict[str, Any]) -> str:
    return recording["device"]["torch"].partition("+")[0]


def own_release() -> str:
    from importlib import metadata

    return metadata.version("torch").partition("+")[0]


def of_kinds(recording: dict[str, Any], only: list[str]) -> dict[str, Any]:
    """The recording's answers of these kinds and groups alone."""
    if not only:
        return recording
    answers = {
        kind: {g: a for g, a in groups.items() if kind in only or f"{kind}/{g}" in only}
        for kind, groups in recording["answers"].items()
    }
    return recording | {"answers": {kind: groups for kind, groups in answers.items() if groups}}


def examine(path: Path, options: argparse.Namespace) -> int:
    """Compares one recording, prints its table, and returns the number of unknown differences."""
    recording = read(path, accept_virtual=options.accept_virtual)
    device = recording["device"]
    print(f"{path.name}: {device['name']}, torch {device['torch']}, driver {device['driver']}")
    same_release = release_of(recording) == own_release()
    if not same_release:
        print(f"  compared with torch {own_release()}: some differences are the release's")
    folder = options.results
    folder.mkdir(parents=True, exist_ok=True)
    if options.against:
        other = json.loads(options.against.read_text(encoding="utf-8"))
    else:
        other = ask_virtual(path, recording, folder, options.only, options.questions)
    if recording["made"]["hash"] != other["made"]["hash"]:
        print("  The program has changed since the recording: what it did not ask is not answered.")
    found = comparison.compare(of_kinds(recording, options.only), of_kinds(other, options.only))
    entries = known.load(options.known)
    if same_release:
        entries = [entry for entry in entries if entry.cause != "release"]
    explained, others = known.sort_out(device["name"], found.differences, entries)
    counts: dict[str, int] = {}
    for one, _ in explained:
        counts[one.kind] = counts.get(one.kind, 0) + 1
    print("\n".join(f"  {line}" for line in found.table(counts)))
    lines = [one.text() for one in others]
    lines += [f"{one.text()}\n    known: {entry.reason}" for one, entry in explained]
    full = folder / f"{path.stem}.differences.txt"
    full.write_text("".join(f"{text}\n\n" for text in lines), encoding="utf-8")
    print(f"  {len(others)} differences are not in {options.known.name}; all of them: {full}\n")
    return len(others)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", default=[], metavar="KIND")
    parser.add_argument("--recordings", type=Path, default=HERE, metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=ROOT / "build/fidelity", metavar="FOLDER")
    parser.add_argument("--known", type=Path, default=HERE / "known.toml", metavar="FILE")
    # For the program's own tests.
    parser.add_argument("--accept-virtual", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--against", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--questions", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    paths = sorted(options.recordings.glob("*.json"))
    if not paths:
        print(NONE)
        return 0
    bad = False
    for path in paths:
        try:
            bad = examine(path, options) > 0 or bad
        except Refused as refused:
            print(f"run.py: {refused}", file=sys.stderr)
            bad = True
        except subprocess.CalledProcessError as error:
            print(f"run.py: {path.name}: the virtual devices were not asked: {error}")
            bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

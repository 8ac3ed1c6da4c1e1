"""Programs that are fixed and then run: what ran before runs as before, and what did not, runs.

`programs/` are scripts as people write them, which need CUDA. Each is run as it is and with its fixes:
the safe ones, all of them, all in the idiom of torch 2.6, and those of every two rules that fix the same
file. Where the script itself runs, each fixed text has to print the same. With all fixes it runs on every
device and without one, and prints what it prints on CUDA (`TORCHPORT_UPDATE=1` rewrites that), unless it meets a tie that `fix`
can only describe.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
from pathlib import Path

import pytest
import torch
from running import ALL, Ending, codes_of, fixed, pairs_of, reported_lines, run

pytestmark = pytest.mark.devices(None, "cuda:1", "cuda:2", "mps")

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = {path.name: path.read_text() for path in sorted(PROGRAMS.glob("*.py"))}
PRINTED = PROGRAMS / "printed.json"  # what each program prints on CUDA


@functools.cache
def own_folder() -> tempfile.TemporaryDirectory:  # removed when the process ends
    return tempfile.TemporaryDirectory(prefix="fixed-programs-")


def folder() -> Path:
    return Path(own_folder().name)


@functools.cache
def texts(kind: str, *words: str) -> dict[str, str]:
    return fixed(SOURCES, folder() / kind, *words)


@functools.cache
def ending(name: str, text: str) -> Ending:
    return run(text, folder() / "runs" / name)


def problems(kind: str, changed: dict[str, str]) -> list[str]:
    """What is wrong with fixed texts of programs that run without their fixes."""
    found = []
    for name, text in changed.items():
        before, after = ending(name, SOURCES[name]), ending(name, text)
        if before.ran and after != before:
            found.append(f"{name} {kind}: {after.raised or after.printed}\n{text}")
    return found


def test_the_programs_need_cuda() -> None:
    ran = {name for name, text in SOURCES.items() if ending(name, text).ran}
    if not torch.cuda.is_available():
        assert len(ran) <= 5, ran
        return
    assert len(ran) >= 30, set(SOURCES) - ran
    if os.environ.get("TORCHPORT_UPDATE") == "1" and torch.cuda.device_count() == 1:
        last = {
            name: SOURCES[name] if name in ran else texts("all", *ALL)[name] for name in SOURCES
        }
        told = {name: ending(name, text).printed.splitlines() for name, text in last.items()}
        PRINTED.write_text(json.dumps(told, indent=1) + "\n")
    expected = json.loads(PRINTED.read_text())
    assert {name: ending(name, SOURCES[name]).printed.splitlines() for name in ran} == {
        name: expected[name] for name in ran
    }


def test_a_fixed_program_runs_as_before() -> None:
    wrong = problems("safe", texts("safe")) + problems("all", texts("all", *ALL))
    assert not wrong, "\n".join(wrong)


def test_every_two_rules_leave_a_program_that_runs_as_before() -> None:
    if not torch.cuda.is_available():
        return  # the programs run on CUDA only before they are fixed
    codes = codes_of(SOURCES, folder() / "codes")
    wrong, pairs = [], pairs_of(codes.values())
    for pair in pairs:
        mine = {name: text for name, text in SOURCES.items() if set(pair) <= codes[name]}
        select = f"--select={','.join(pair)}"
        changed = fixed(mine, folder() / "-".join(pair), "--unsafe-fixes", select)
        wrong += problems("+".join(pair), changed)
    assert not wrong, "\n".join(wrong)
    assert len(pairs) >= 95


@pytest.mark.parametrize("words", [(), ("--min-torch=2.6",)])
def test_a_fixed_program_runs_on_every_device(words: tuple[str, ...]) -> None:
    expected = json.loads(PRINTED.read_text())
    kind = "everywhere" + "".join(words)
    changed = texts(kind, *ALL, *words)
    # What `fix` can only describe is still reported; the program may end there, and nowhere else.
    known = reported_lines(changed, folder() / kind)
    wrong, ended = [], 0
    for name, text in changed.items():
        after = ending(name, text)
        if not after.ran and (name, after.line) in known:
            ended += 1
        elif not after.ran or after.printed.splitlines() != expected[name]:
            wrong.append(f"{name}: {after.raised or after.printed}, line {after.line}\n{text}")
    assert not wrong, "\n".join(wrong)
    assert ended <= 6

"""What is run on each system without torch, and which answers have to be those of this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from roots import System

# The answers do not depend on the machine: exit code, output and errors are equal.
EQUAL = (
    ["--version"],
    ["check", "source"],
    ["check", "source"],  # from the cache
    ["check", "--format", "sarif", "source"],
    ["check", "--no-such-option"],  # an exception inside of the program
    ["check", "no-such-folder"],
    ["no-such-command"],
    ["fix", "--diff", "source"],
    ["fix", "--unsafe-fixes", "--allow-dirty", "source"],
    ["check", "source"],
    ["fix", "--undo"],
    ["explain", "TP101"],
    ["explain", "TP999"],
    ["rules"],
    ["inspect", "checkpoints/state_zip.pt"],
    ["inspect", "checkpoints/state_legacy.pt"],
    ["inspect", "checkpoints/shards"],
    ["inspect", "source/train.py"],
    ["run"],
    ["prove"],
    ["container", ".", "--device", "cuda", "--entry", "source/train.py"],
    ["ci", "."],
)
WRITTEN = ("Dockerfile", "compose.yaml", ".dockerignore", ".github/workflows/torchport.yml")

# The answers name the machine: the exit code, and a part of the output or of the errors.
OWN = (
    (["doctor"], (0, 1), "no torch"),
    (["doctor", "--json"], (0, 1), '"torches": []'),
    (["build-plan"], (1,), "torch was not found"),
    (["build-plan", "--no-such-option"], (2,), "--no-such-option"),
)
# They need torch, and one sentence says so.
SENTENCE = (
    ["verify", "net:make"],
    ["export", "net:make", "--input", "net:inputs", "--to", "pt2", "--output", "net.pt2"],
    ["bench", "net:make", "--input", "net:inputs"],
    ["infer", "net.pt2", "data.npy"],
)


def lay_out(system: System, checkpoints: Path) -> None:
    """The folder `project`, as it is in the checkout."""
    project = system.outside / "project"
    shutil.rmtree(project, ignore_errors=True)
    shutil.rmtree(system.outside / "cache", ignore_errors=True)
    shutil.copytree(Path(__file__).with_name("project"), project)
    shutil.copytree(checkpoints, project / "checkpoints")


def compare(here: System, there: System, here_program: str, program: str) -> list[str]:
    """What differs between this machine and the other system, or is wrong there."""
    wrong = []
    for words in EQUAL:
        expected = here.run([here_program, *words], "project")
        found = there.run([program, *words], "project")
        if found != expected:
            wrong.append(f"{' '.join(words)}\n  here:  {expected}\n  there: {found}")
    for name in WRITTEN:
        files = [system.outside / "project" / name for system in (here, there)]
        if files[0].read_bytes() != files[1].read_bytes():
            wrong.append(f"{name} is not what was written here")
    if not list((there.outside / "cache").glob("*.sqlite")):
        wrong.append("the program wrote no cache")
    for words, codes, part in OWN:
        code, output, errors = there.run([program, *words], "project")
        if code not in codes or part not in output + errors:
            wrong.append(f"{' '.join(words)} ended with {code}: {output}{errors}")
    return wrong


def without_torch(there: System, program: str, too_old: bool) -> list[str]:
    """What is wrong with the answers of the commands that need torch: each is one sentence, which
    names what is missing: torch, or a newer Python for those that are Python."""
    wrong = []
    for words in SENTENCE:
        reason = "Python 3.10" if too_old and words[0] != "infer" else "has no torch"
        code, output, errors = there.run([program, *words], "project")
        if code != 2 or output or errors.count("\n") != 1 or reason not in errors:
            wrong.append(f"{words[0]} without torch ended with {code}: {output}{errors}")
    return wrong


def self_check(there: System, program: str, code: int, part: str) -> list[str]:
    """`torchport doctor --self`: lines that begin with ok or !!, and `part` in one of them."""
    ended, output, errors = there.run([program, "doctor", "--self"], "project")
    marked = all(line[:2] in ("ok", "!!") for line in output.splitlines())
    if ended != code or not marked or errors or part not in output:
        return [f"doctor --self ended with {ended}: {output}{errors}"]
    return []


def unit_tests(there: System, program: Path) -> list[str]:
    """The unit tests of what is linked for an older glibc."""
    shutil.copy(program, there.outside / program.name)
    code, output, errors = there.run([f"{there.base}/{program.name}"])
    return [f"{program.name} ended with {code}: {output}{errors}"] if code != 0 else []

"""Runs many small programs in this process, each in a fresh namespace, and fixes folders of them."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import random
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

ALL = ("--unsafe-fixes", "--extend-select=hygiene")  # all that `fix` can do
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))


@dataclass(frozen=True)
class Ending:
    """How a program ended: what it printed, and what it raised ("" if nothing) in which line."""

    printed: str
    raised: str
    line: int = field(default=0, compare=False)

    @property
    def ran(self) -> bool:
        return not self.raised


@contextlib.contextmanager
def fresh_torch() -> Iterator[None]:
    """A torch as a new process has it: programs set defaults, devices and groups."""
    threads = torch.get_num_threads()
    random.seed(0)
    torch.manual_seed(0)
    if torch.cuda.is_available():
        torch.cuda.set_device(0)
    modules = set(sys.modules)
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.callback(torch.set_grad_enabled, True)
        stack.callback(torch.set_num_threads, threads)
        stack.callback(torch.set_default_tensor_type, torch.FloatTensor)
        stack.callback(torch.set_default_device, None)
        stack.callback(setattr, torch.backends.cudnn, "deterministic", False)
        yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    for name in set(sys.modules) - modules:
        if not name.startswith("torch"):
            del sys.modules[name]


def run(text: str, path: Path, names: dict[str, Any] | None = None) -> Ending:
    """Runs a program, in the namespace `names` if it is given."""
    printed, raised, line = io.StringIO(), "", 0
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": str(path)}
    if names is not None:
        namespace = names
        namespace["__file__"] = str(path)
    errors = io.StringIO()
    with fresh_torch(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        sys.path.insert(0, str(path.parent))
        try:
            exec(compile(text, str(path), "exec"), namespace)
        except SystemExit as ending:
            raised = f"SystemExit({ending.code})" if ending.code else ""
        except Exception as error:
            raised = f"{type(error).__name__}: {error}"
            frames = traceback.extract_tb(error.__traceback__)
            line = next((f.lineno or 0 for f in reversed(frames) if f.filename == str(path)), 0)
        finally:
            sys.path.remove(str(path.parent))
    return Ending(printed.getvalue(), raised, line)


def torchport(folder: Path, *words: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHPORT_")}
    env["VIRTUAL_ENV"] = "/no/torch/here"
    done = subprocess.run(
        [TORCHPORT, *words], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def fixed(sources: dict[str, str], folder: Path, *words: str) -> dict[str, str]:
    """The texts that `torchport fix` makes of files; `words` are its options."""
    folder.mkdir(parents=True, exist_ok=True)
    write(sources, folder)
    torchport(folder, "fix", "--no-cache", *words, ".")
    return {name: (folder / name).read_text() for name in sources}


def write(sources: dict[str, str], folder: Path) -> None:
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def findings_of(sources: dict[str, str], folder: Path) -> list[dict[str, Any]]:
    write(sources, folder)
    select = "--extend-select=hygiene"
    report = torchport(folder, "check", "--no-cache", select, "--format=json", ".")
    return json.loads(report)["findings"]


def codes_of(sources: dict[str, str], folder: Path) -> dict[str, set[str]]:
    """The rules that have a fix for each file."""
    codes: dict[str, set[str]] = {name: set() for name in sources}
    for finding in findings_of(sources, folder):
        if finding["fix"] and finding["fix"]["applicability"] != "display":
            codes[finding["path"]].add(finding["code"])
    return codes


def reported_lines(sources: dict[str, str], folder: Path) -> set[tuple[str, int]]:
    """The lines of files that `check` has a finding for."""
    return {
        (finding["path"], line)
        for finding in findings_of(sources, folder)
        for line in range(finding["line"], finding["end_line"] + 1)
    }


def pairs_of(codes: Iterable[set[str]]) -> list[tuple[str, str]]:
    """Every two rules that fix one file, and each rule alone (a rule with itself)."""
    found = set()
    for some in codes:
        found |= set(itertools.combinations_with_replacement(sorted(some), 2))
    return sorted(found)

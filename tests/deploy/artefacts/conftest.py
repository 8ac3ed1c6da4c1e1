"""Exports and what runs them: programs in processes of their own, and torchport-infer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import forking
import pytest

PROGRAMS = Path(__file__).parent / "programs"
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}


def words_of_python(env: dict[str, str] | None, words: Sequence[object]) -> list[str]:
    """The command of a Python; `env` are the variables of this one alone."""
    return forking.command(words, environment(**(env or {})), own=env)


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    return kept | ENVIRONMENT | more


def run(words: list[object], folder: Path, *, check: bool = True, timeout: float = 300, **options):
    env = environment(**options.pop("env", {}))
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=env,
        capture_output=True,
        timeout=timeout,
        check=False,
        **{"text": True, "stdin": None if "input" in options else subprocess.DEVNULL, **options},
    )
    if check:
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


INFER = [Path(sys.executable).with_name("torchport"), "infer"]
EXPORT = ["-W", "ignore", "-m", "torchport.deploy.artefact.command"]


@pytest.fixture
def export(tmp_path: Path):
    """export("models:make", "--to", "onnx", ...): the command, in a folder of its own."""

    def command(*words: object, check: bool = True, **options) -> subprocess.CompletedProcess:
        program = words_of_python(options.get("env"), [*EXPORT, *words])
        return run(program, tmp_path, check=check, **options)

    return command


@pytest.fixture
def python(tmp_path: Path):
    """python(code, words...): code, or the program at a Path, in a process of its own."""

    def command(code: str | Path, *words: object, **options) -> subprocess.CompletedProcess:
        program = [code] if isinstance(code, Path) else ["-c", code]
        started = words_of_python(options.get("env"), ["-W", "ignore", *program, *words])
        return run(started, tmp_path, **options)

    return command


@pytest.fixture
def infer(tmp_path: Path):
    """infer(artefact, files..., "--output", ...): torchport infer; `before` starts it."""

    def command(*words: object, before: list[str] | None = None, check: bool = True, **options):
        return run([*(before or []), *INFER, *words], tmp_path, check=check, **options)

    return command


@pytest.fixture
def start(tmp_path: Path):
    """start("infer", ...), start("export", ...): the running process, for signals."""
    commands = {"infer": INFER, "export": [sys.executable, *EXPORT]}
    started = []

    def begin(name: str, *words: object) -> subprocess.Popen:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [*map(str, [*commands[name], *words])],
            cwd=tmp_path, env=environment(), stdin=pipe, stdout=pipe, stderr=pipe,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def artefacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one model in every format, data for it in every format, and what eager gives:
    made once by programs/make_artefacts.py.
    """
    folder = tmp_path_factory.mktemp("artefacts")
    run(words_of_python(None, ["-W", "ignore", PROGRAMS / "make_artefacts.py", folder]), folder)
    return folder

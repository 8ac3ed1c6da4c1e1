"""What every test that drives the program shares."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ("device_modules", "longest_first")  # tests/plugins

# A job in the background ignores Ctrl-C, and so do the programs that it starts; tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))


class Torchport:
    """Runs the installed program in one folder, with a cache of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.program = TORCHPORT
        self.env = {
            k: v
            for k, v in os.environ.items()
            if k not in ("NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX")
        }
        self.env["TORCHPORT_CACHE_DIR"] = str(folder.parent / "cache")
        self.env["TORCHPORT_STATE_DIR"] = str(folder.parent / "state")

    def __call__(
        self, *words: object, env: dict | None = None, **options
    ) -> subprocess.CompletedProcess:
        return subprocess.run(
            [TORCHPORT, *map(str, words)],
            cwd=self.folder,
            env=self.env | (env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            **{"text": True, **options},
        )

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


@pytest.fixture(scope="session")
def torch_folder() -> Path:
    """The package torch of this environment, which is not imported."""
    return Path(importlib.util.find_spec("torch").origin).parent


@pytest.fixture(scope="session")
def runtime_folder(torch_folder: Path) -> Path:
    """torchport's libraries for this environment's torch."""
    from torchport import _runtimes

    return _runtimes.find(_runtimes.Torch.at(torch_folder))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of what `make build` compiled."""
    dist = tmp_path_factory.mktemp("dist")
    command = [sys.executable, ROOT / "deps/make_wheel.py", "--into", dist, ROOT / "build/release"]
    subprocess.run(command, check=True)
    return next(dist.glob("torchport-*.whl"))


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's own folder is the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def torchport(tmp_path: Path) -> Torchport:
    folder = tmp_path / "project"
    folder.mkdir()
    return Torchport(folder)


@pytest.fixture
def without_torch(torchport: Torchport) -> None:
    """The active environment has no torch, so that fixes are written for the default."""
    torchport.env["VIRTUAL_ENV"] = "/no/torch/here"

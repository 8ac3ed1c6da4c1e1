"""`torchport fix` is ended at every call that changes something on disk, one run for each."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("programs") / "end_at.c"
TIE = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
NAMES = ["a.py", "b c.py", "p/größe.py", "p/q/d.py"]


@pytest.fixture(scope="module")
def end_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("end_at") / "end_at.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
    return library


class Project:
    """Files with a tie, and runs of the program that end early."""

    def __init__(self, torchport, library: Path):
        self.torchport, self.library = torchport, library
        self.paths = [torchport.write(name, TIE) for name in NAMES]
        self.new = TIE

    def run(self, *words: str, **variables: object) -> subprocess.CompletedProcess:
        """Runs `fix`, ended as the variables say."""
        env = {name: str(value) for name, value in variables.items()}
        return self.torchport(
            "fix", "--select", "TP101", *words, env=env | {"LD_PRELOAD": str(self.library)}
        )

    def moments(self, *words: str) -> int:
        """How many calls a whole run makes that change something."""
        count = self.torchport.folder.parent / "count"
        run = self.run(*words, END_COUNT=count)
        assert run.returncode == 0, run.stderr
        return int(count.read_text())

    def texts(self) -> list[str]:
        return [path.read_text() for path in self.paths]

    def partial(self) -> list[Path]:
        return list(self.torchport.folder.rglob("*torchport-*"))

    def start_again(self) -> None:
        for path in self.paths:
            path.write_text(TIE)
        shutil.rmtree(self.torchport.env["TORCHPORT_STATE_DIR"], ignore_errors=True)


@pytest.fixture
def project(torchport, end_at: Path) -> Project:
    return Project(torchport, end_at)


def test_a_kill_at_any_moment(project: Project) -> None:
    moments = project.moments()
    fixed = project.texts()
    assert moments > 4 * len(NAMES) and not project.partial()
    for moment in range(1, moments + 1):
        project.start_again()
        run = project.run(END_AT=moment, END_SIGNAL=int(signal.SIGKILL), END_TIMES=1)
        assert run.returncode == -signal.SIGKILL, f"moment {moment}"
        for text, new in zip(project.texts(), fixed, strict=True):
            assert text in (TIE, new), f"half a file, moment {moment}"
        if moment % 2:
            again = project.torchport("fix", "--select", "TP101")
            assert again.returncode == 0, again.stderr
            assert project.texts() == fixed
            assert not project.partial(), f"left by moment {moment}"
        undo = project.torchport("fix", "--undo")
        assert undo.returncode in (0, 2), undo.stderr
        assert project.texts() == [TIE] * len(NAMES)
        assert not project.partial(), f"left by moment {moment}"


def test_a_kill_of_undo_at_any_moment(project: Project) -> None:
    project.moments()
    fixed = project.texts()
    moments = project.moments("--undo")
    assert project.texts() == [TIE] * len(NAMES)
    for moment in range(1, moments + 1):
        assert project.torchport("fix", "--select", "TP101").returncode == 0
        run = project.run("--undo", END_AT=moment, END_SIGNAL=int(signal.SIGKILL), END_TIMES=1)
        assert run.returncode == -signal.SIGKILL, f"moment {moment}"
        assert set(project.texts()) <= {TIE, fixed[0]}
        project.torchport("fix", "--undo")
        assert project.texts() == [TIE] * len(NAMES)
        assert not project.partial()


@pytest.mark.parametrize(
    "sent, times", [(signal.SIGINT, 1), (signal.SIGINT, 2), (signal.SIGTERM, 1)]
)
def test_the_writing_ends_before_an_interrupt(project: Project, sent: int, times: int) -> None:
    moments = project.moments()
    fixed = project.texts()
    for moment in range(1, moments + 1, 3):
        project.start_again()
        project.run(END_AT=moment, END_SIGNAL=int(sent), END_TIMES=times)
        assert project.texts() == fixed
        assert not project.partial(), f"left by moment {moment}"


def test_the_waits_for_the_disk_do_not_grow_with_the_files(project: Project) -> None:
    """Everything else that changes something is done once for each file."""
    few = project.moments()
    project.start_again()
    for i in range(60):
        project.torchport.write(f"more/m{i}.py", TIE)
    many = project.moments()
    assert many - few <= 4 * 60

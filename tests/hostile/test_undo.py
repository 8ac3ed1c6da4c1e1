"""No original is lost: runs that are killed, that meet, and journals that somebody else wrote."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FILES = 300
TIES = "".join(f"a{k} = torch.zeros({k}).cuda()\n" for k in range(20))
TIE = "import torch\n" + TIES
UNSAFE = TIE + "for i in range(3):\n    print(a0.sum().item())\nstate = torch.load('x.pt')\n"


class Tree:
    """Many files with ties, and runs of `fix` over them."""

    def __init__(self, torchport):
        self.torchport = torchport
        self.paths = [torchport.write(f"p{i % 20}/m{i}.py", UNSAFE) for i in range(FILES)]

    def start(self, *words: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.torchport.program, "fix", "--unsafe-fixes", "-q", *words, str(self.torchport.folder)],
            env=self.torchport.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def changed(self) -> int:
        return sum(path.read_text() != UNSAFE for path in self.paths)

    def wait_for_writing(self, run: subprocess.Popen, at: int) -> None:
        last = self.paths[at]
        while run.poll() is None and last.read_text() == UNSAFE:
            time.sleep(0.0005)

    def undo(self) -> subprocess.CompletedProcess:
        return self.torchport("fix", "--undo")


@pytest.fixture
def tree(torchport) -> Tree:
    return Tree(torchport)


@pytest.mark.parametrize("at", range(1, FILES, 40))
def test_one_undo_gives_all_back_after_a_kill_and_a_second_fix(tree: Tree, at: int) -> None:
    killed = tree.start()
    tree.wait_for_writing(killed, at)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    again = tree.torchport("fix", "--unsafe-fixes", "-q")
    assert tree.changed() == FILES, again.stderr
    if killed.returncode < 0:
        assert "stopped half way" in again.stderr
    undo = tree.undo()
    assert undo.returncode == 0 and f"Restored {FILES} files." in undo.stdout, undo.stderr
    assert tree.changed() == 0
    assert not list(tree.torchport.folder.rglob("*torchport-*"))


@pytest.mark.parametrize("at", [0, 1, 150, 299])
def test_two_runs_at_once(tree: Tree, at: int) -> None:
    first = tree.start()
    if at:
        tree.wait_for_writing(first, at)
    second = tree.start()
    errors = [run.communicate()[1] for run in (first, second)]
    assert tree.changed() == FILES, errors
    for _ in range(2):
        undo = tree.undo()
        if undo.returncode == 2:
            break
    assert tree.changed() == 0, undo.stderr


def test_undo_goes_back_run_by_run(torchport) -> None:
    path = torchport.write("a.py", UNSAFE)
    texts = [path.read_text()]
    for words in (["--select", "TP101"], ["--unsafe-fixes"]):
        torchport("fix", "-q", *words)
        texts.append(path.read_text())
    assert len(set(texts)) == 3
    undo = torchport("fix", "--undo")
    assert undo.stdout == "Restored 1 file.\n1 earlier fix here can be undone, too: run it again.\n"
    assert path.read_text() == texts[1]
    assert torchport("fix", "--undo").stdout == "Restored 1 file.\n"
    assert path.read_text() == texts[0]
    assert "nothing to undo" in torchport("fix", "--undo").stderr


def test_undo_tells_what_it_could_not(torchport) -> None:
    paths = [torchport.write(name, TIE) for name in ("a.py", "b.py", "c.py")]
    torchport("fix", "-q")
    fixed = paths[0].read_text()
    paths[0].write_text("edited\n")
    paths[1].unlink()
    paths[1].symlink_to("c.py")
    undo = torchport("fix", "--undo")
    assert undo.returncode == 1
    assert "a.py" in undo.stderr and "edited since" in undo.stderr
    assert "b.py" in undo.stderr and "no regular file" in undo.stderr
    assert "Restored 1 file.\n2 files could not be restored" in undo.stdout
    assert paths[2].read_text() == TIE and paths[1].is_symlink()
    paths[0].write_text(fixed)
    paths[1].unlink()
    paths[1].write_text(fixed)
    assert torchport("fix", "--undo").stdout == "Restored 2 files.\n"
    assert [path.read_text() for path in paths] == [TIE] * 3


def test_a_journal_of_the_tree_is_not_read(torchport, tmp_path) -> None:
    victim = tmp_path / "outside"
    victim.write_text("kept")
    path = torchport.write("a.py", TIE)
    state = Path(torchport.env["TORCHPORT_STATE_DIR"])
    torchport("fix", "-q")
    (journal,) = state.glob("undo/*/*.done")
    for name in (".torchport/undo.cbor", ".torchport/000001.done", ".torchport/undo/000001.done"):
        torchport.write(name, journal.read_bytes())
    shutil.rmtree(state)
    fixed = path.read_text()
    undo = torchport("fix", "--undo")
    assert undo.returncode == 2 and "nothing to undo" in undo.stderr
    assert ".torchport/undo.cbor: a journal that lies in the tree is not read" in undo.stderr
    assert path.read_text() == fixed and victim.read_text() == "kept"


def test_a_link_of_the_tree_is_not_followed(torchport, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (torchport.folder / ".torchport").symlink_to(elsewhere)
    path = torchport.write("a.py", TIE)
    assert torchport("fix", "-q").returncode == 0
    assert not list(elsewhere.iterdir())
    assert torchport("fix", "--undo").returncode == 0
    assert path.read_text() == TIE


def test_a_set_uid_bit_is_not_restored(torchport) -> None:
    path = torchport.write("a.py", TIE)
    path.chmod(0o6755)
    torchport("fix", "-q")
    torchport("fix", "--undo")
    assert path.read_text() == TIE and path.stat().st_mode & 0o7777 == 0o755


def test_owner_and_attributes_survive(torchport) -> None:
    path = torchport.write("a.py", TIE)
    os.setxattr(path, "user.note", b"kept")
    if os.geteuid() == 0:
        os.chown(path, 65534, 12)
    acl = (
        subprocess.run(["setfacl", "-m", "u:7:rw", path], check=False)
        if shutil.which("setfacl")
        else None
    )

    def seen():
        attributes = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        return path.stat().st_uid, path.stat().st_gid, path.stat().st_mode, attributes

    before = seen()
    assert before[3]["user.note"] == b"kept"
    assert acl is None or acl.returncode or "system.posix_acl_access" in before[3]
    assert torchport("fix", "-q").returncode == 0
    assert path.read_text() != TIE and seen() == before
    assert torchport("fix", "--undo").returncode == 0
    assert path.read_text() == TIE and seen() == before


def test_hard_links_are_named(torchport, tmp_path) -> None:
    path = torchport.write("a.py", TIE)
    os.link(path, tmp_path / "other")
    os.link(path, tmp_path / "third")
    run = torchport("fix", "-q")
    assert "a.py: has 2 more names (hard links), which keep the old content" in run.stderr
    assert path.read_text() != TIE and (tmp_path / "other").read_text() == TIE


def test_what_was_not_written_is_not_called_fixed(torchport) -> None:
    path = torchport.write("p/a.py", TIE)
    subprocess.run(["chattr", "+i", path], check=False, capture_output=True)
    try:
        try:
            path.open("r+").close()
            pytest.skip("cannot make a file that even root may not replace")
        except PermissionError:
            pass
        run = torchport("fix", "-q")
        assert run.returncode == 1
        assert "Fixed" not in run.stdout and "Nothing was fixed." in run.stdout, run.stdout
        assert "1 file could not be written" in run.stdout
    finally:
        subprocess.run(["chattr", "-i", path], check=False, capture_output=True)


@pytest.mark.parametrize("how", ["writable", "link", "file"])
def test_a_folder_of_journals_that_is_not_private_is_refused(torchport, tmp_path, how) -> None:
    state = Path(torchport.env["TORCHPORT_STATE_DIR"])
    path = torchport.write("a.py", TIE)
    state.mkdir()
    if how == "writable":
        (state / "undo").mkdir()
        (state / "undo").chmod(0o777)
    elif how == "link":
        (tmp_path / "other").mkdir()
        (state / "undo").symlink_to(tmp_path / "other")
    else:
        (state / "undo").touch()
    run = torchport("fix", "-q")
    assert run.returncode == 2 and str(state / "undo") in run.stderr, run
    assert path.read_text() == TIE


def test_without_a_home(torchport) -> None:
    """A container whose user has none: the journals are in /tmp, in a folder of this user."""
    path = torchport.write("a.py", TIE)
    torchport.env = {
        k: v
        for k, v in torchport.env.items()
        if k not in ("HOME", "TORCHPORT_STATE_DIR", "XDG_STATE_HOME")
    }
    assert torchport("fix", "-q").returncode == 0
    assert Path(f"/tmp/torchport-{os.geteuid()}/undo").is_dir()
    assert torchport("fix", "--undo").returncode == 0
    assert path.read_text() == TIE


def test_an_interrupt_ends_the_wait_for_another_run(torchport, tmp_path) -> None:
    path = torchport.write("a.py", TIE)
    assert torchport("fix", "-q").returncode == 0
    assert torchport("fix", "--undo").returncode == 0
    lock = Path(torchport.env["TORCHPORT_STATE_DIR"]) / "undo/lock"
    hold = f"import fcntl, time; f = open({str(lock)!r}, 'r+'); fcntl.flock(f, 2); print(1, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", hold], stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        run = subprocess.Popen([torchport.program, "fix", "-q"], cwd=torchport.folder, env=torchport.env,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
        assert "waiting for its end" in run.stderr.readline()
        run.send_signal(signal.SIGINT)
        assert "nothing was written" in run.stderr.read()
        assert run.wait(20) == 2
        other.kill()
    assert path.read_text() == TIE

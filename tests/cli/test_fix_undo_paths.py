"""`fix --undo` finds a run from the folder, the file or the paths that it was started for."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from pathlib import Path

import pytest

TIE = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
NAMES = ["a/m.py", "b/m.py"]


@pytest.fixture
def files(torchport) -> list[Path]:
    """Two folders of no project."""
    return [torchport.write(name, TIE) for name in NAMES]


def are_old(files: list[Path]) -> list[bool]:
    return [path.read_text() == TIE for path in files]


@pytest.mark.parametrize("paths", [["a", "b"], ["b", "a"], ["."], []])
def test_undo_finds_the_run_where_it_was_started(torchport, files, paths) -> None:
    assert torchport("fix", *paths).returncode == 0
    assert are_old(files) == [False, False]
    run = torchport("fix", "--undo")
    assert (run.returncode, run.stdout) == (0, "Restored 2 files.\n"), run.stderr
    assert are_old(files) == [True, True]


def test_runs_of_a_part_and_of_the_whole_are_undone_in_their_order(torchport, files) -> None:
    torchport("fix", "a")
    time.sleep(0.02)  # the order is that of the journals' times
    torchport("fix", ".")
    first = torchport("fix", "--undo")
    assert "1 earlier fix here can be undone" in first.stdout
    assert are_old(files) == [False, True]
    assert torchport("fix", "--undo").returncode == 0
    assert are_old(files) == [True, True]
    assert torchport("fix", "--undo").returncode == 2


@pytest.mark.parametrize("asked", ["a", "b", "a/m.py"])
def test_a_part_of_a_run_names_the_command_for_all_of_it(torchport, files, asked) -> None:
    torchport("fix", "a", "b")
    run = torchport("fix", "--undo", asked)
    assert run.returncode == 2 and are_old(files) == [False, False]
    command = shlex.split(re.search(r"^  torchport (fix --undo .*)$", run.stderr, re.M).group(1))
    assert torchport(*command).returncode == 0
    assert are_old(files) == [True, True]


def test_a_kill_of_a_run_of_two_paths_is_undone(torchport) -> None:
    paths = [torchport.write(f"p{i % 2}/f{i}.py", TIE) for i in range(200)]
    started = time.perf_counter()
    torchport("fix", "p0", "p1")
    whole = time.perf_counter() - started
    torchport("fix", "--undo")
    assert all(are_old(paths))
    changed = 0
    for part in (0.3, 0.5, 0.7, 0.8, 0.9):
        run = subprocess.Popen(
            [torchport.program, "fix", "-q", "p0", "p1"],
            cwd=torchport.folder,
            env=torchport.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(whole * part)
        run.kill()
        run.wait()
        changed += not all(are_old(paths)) or bool(list(torchport.folder.rglob(".torchport-*")))
        torchport("fix", "--undo")
        assert all(are_old(paths))
        assert not list(torchport.folder.rglob(".torchport-*"))
    assert changed or whole < 0.05


def test_an_edited_file_can_be_passed_over(torchport, files) -> None:
    torchport("fix", "a")
    time.sleep(0.02)
    torchport("fix", "b")
    files[1].write_text("mine\n")
    run = torchport("fix", "--undo")
    assert run.returncode == 1 and "--skip-edited" in run.stdout
    run = torchport("fix", "--undo", "--skip-edited")
    assert run.returncode == 0 and "edited since the fix; it stays as it is" in run.stderr
    assert torchport("fix", "--undo").returncode == 0
    assert (files[0].read_text(), files[1].read_text()) == (TIE, "mine\n")
    assert torchport("fix", "--skip-edited").returncode == 2  # only with --undo


def test_nothing_is_written_through_a_link_that_came_with_the_tree(torchport, files) -> None:
    outside = torchport.folder.parent / "outside"
    outside.mkdir()
    (outside / "m.py").write_text(TIE)
    (torchport.folder / "linked").symlink_to(outside)
    (torchport.folder / ".github").mkdir()
    (torchport.folder / ".github/workflows").symlink_to(outside)
    for path in ("linked", "linked/m.py", "./linked"):
        run = torchport("fix", path)
        assert run.returncode == 2 and f"name the place itself: {outside}" in run.stderr
    run = torchport("ci")
    assert run.returncode == 2 and "is a link, through which nothing is written" in run.stderr
    assert [path.name for path in outside.iterdir()] == ["m.py"]
    assert (outside / "m.py").read_text() == TIE
    # Who names the folder means it.
    assert torchport("fix", "--allow-dirty", outside).returncode == 0
    assert (outside / "m.py").read_text() != TIE


def test_a_moved_tree_is_told_where_it_was(torchport, files) -> None:
    old, new = files[0].parent, files[0].parent.with_name("moved")
    assert torchport("fix", "a").returncode == 0
    old.rename(new)
    run = torchport("fix", "--undo", "moved")
    assert run.returncode == 2 and f"  {old}\n" in run.stderr
    new.rename(old)
    assert torchport("fix", "--undo", "a").stdout == "Restored 1 file.\n"
    # A folder that was never fixed has nothing to do with it.
    run = torchport("fix", "--undo", "b")
    assert run.returncode == 2 and "moved" not in run.stderr

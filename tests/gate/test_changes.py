"""What differs from what passed the gate before, and which commit that is."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gate import passed
from gate.changes import Changes, changes, note_pass


@pytest.fixture
def clone(tmp_path: Path) -> Callable[..., str]:
    def git(*words: str) -> str:
        settings = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        done = subprocess.run(
            ["git", "-C", tmp_path, *settings, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    for name in ("kept", "moved from", "changed"):
        (tmp_path / name).write_text(f"{name}\n" * 20)
    git("add", ".")
    git("commit", "-qm", "first")
    return git


def test_what_differs_from_what_passed(clone: Callable[..., str], tmp_path: Path) -> None:
    base = clone("rev-parse", "HEAD")
    clone("mv", "moved from", "moved\nto")
    clone("commit", "-qam", "second")
    (tmp_path / "changed").write_text("not committed\n")
    (tmp_path / "new").write_text("")
    expected = ["changed", "moved\nto", "moved from", "new"]
    for name in ("TORCHPORT_GATE_BASE", "CI_MERGE_REQUEST_DIFF_BASE_SHA"):
        assert changes(tmp_path, {name: base}) == Changes(expected)
    clone("update-ref", "refs/remotes/origin/main", base)
    assert changes(tmp_path, {"GITHUB_BASE_REF": "main"}) == Changes(expected)
    assert changes(tmp_path, {"TORCHPORT_GATE_BASE": "HEAD"}).paths == ["changed", "new"]


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, "nothing says which commit passed"),
        ({"TORCHPORT_GATE_BASE": ""}, "nothing says which commit passed"),
        ({"TORCHPORT_GATE": "all", "TORCHPORT_GATE_BASE": "HEAD"}, "TORCHPORT_GATE=all"),
        ({"TORCHPORT_GATE_BASE": "0" * 40}, "is not in this clone"),
        ({"TORCHPORT_GATE_BASE": "--all"}, "is not in this clone"),
        ({"GITHUB_BASE_REF": "main"}, "origin/main, which passed before, is not in this clone"),
    ],
)
def test_everything_runs_where_nothing_is_known(
    clone: Callable[..., str], tmp_path: Path, environment: dict[str, str], reason: str
) -> None:
    nowhere = {"TORCHPORT_GATE_CACHE": str(tmp_path / "nothing")}
    assert reason in changes(tmp_path, environment | nowhere).unknown


@pytest.fixture
def kept(clone: Callable[..., str], tmp_path: Path) -> dict[str, str]:
    """The environment after the gate passed in the clone."""
    environment = {"TORCHPORT_GATE_CACHE": str(tmp_path.parent / f"{tmp_path.name} cache")}
    assert changes(tmp_path, environment).unknown
    assert clone("rev-parse", "HEAD").strip()[:8] in note_pass(tmp_path, environment)
    return environment


def test_what_passed_here_is_compared_with(
    clone: Callable[..., str], tmp_path: Path, kept: dict[str, str]
) -> None:
    assert changes(tmp_path, kept) == Changes([])
    (tmp_path / "changed").write_text("not committed\n")
    assert changes(tmp_path, kept) == Changes(["changed"])
    assert "nothing is kept" in note_pass(tmp_path, kept)
    clone("commit", "-qam", "second")
    assert changes(tmp_path, kept) == Changes(["changed"])
    note_pass(tmp_path, kept)
    assert changes(tmp_path, kept) == Changes([])
    assert changes(tmp_path, kept | {"TORCHPORT_GATE": "all"}).unknown
    nowhere = {"TORCHPORT_GATE_CACHE": str(tmp_path / "changed" / "x")}  # below a file
    assert "nothing is kept" in note_pass(tmp_path, nowhere)


def test_a_pass_is_not_believed_for_long_nor_on_another_machine(
    tmp_path: Path, kept: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = passed.record(kept)
    for text in ("", "[]", "{", '{"commit": 3}', file.read_text().replace('"time": 1', '"time": ')):
        before = file.read_text()
        file.write_text(text)
        assert changes(tmp_path, kept).unknown, text
        file.write_text(before)
    assert not changes(tmp_path, kept).unknown
    monkeypatch.setattr(passed, "TOOLS", ("true",))
    assert changes(tmp_path, kept).unknown

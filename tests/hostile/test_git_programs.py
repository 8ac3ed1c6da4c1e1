"""No program that a repository names is started: git's configuration, its hooks and filters are data."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

TIE = "import torch\nx = torch.zeros(3).cuda()\n"
COMMANDS = (
    ("check", "-q", "."),
    ("check", "-q", "--diff", "HEAD", "."),
    ("fix", "-q", "--diff", "."),
    ("fix", "-q", "."),
    ("fix", "-q", "--undo", "."),
    ("ci", "--torch", "2.13.0", "--python", "3.12", "--torchport", "dist/t.whl", "--stdout", "."),
)
# The keys of git's own list whose value names a program, or a folder of programs.
NAMES = re.compile(
    r"^(pager|alias)\.|command|cmd|program|editor|pager|helper|hook|driver|textconv|clean|smudge|process"
    r"|fsmonitor|external|browser|askpass|proxy|vcs|pack$|tunnel|filter|update$|tool|templatedir",
    re.IGNORECASE,
)
MORE = (
    "filter.x.process",
    "submodule.sub.update",
    "core.worktree",
    "tar.x.command",
    "trailer.x.command",
)


class Repository:
    """A repository of a stranger, and where its programs would leave a file."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch):
        self.folder = folder / "r"
        self.ran = folder / "ran"
        self.program = f"touch {self.ran}; :"
        monkeypatch.setenv("HOME", str(folder))
        self.folder.mkdir()
        self.git("init", "-q", "-b", "main")
        (self.folder / "dist").mkdir()
        (self.folder / "dist/t.whl").touch()
        (self.folder / "a.py").write_text(TIE)
        (self.folder / ".gitattributes").write_text("*.py filter=x diff=x merge=x\n")
        self.git("add", ".")
        self.git("commit", "-qm", "a")
        with (self.folder / "a.py").open("a") as file:
            file.write("y = 1\n")

    def git(self, *words: str, folder: Path | None = None) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run(
            ["git", *identity, *words], cwd=folder or self.folder, check=True, capture_output=True
        )

    def started_by(self, torchport, commands=COMMANDS) -> list[str]:
        found = []
        torchport.folder = self.folder
        for words in commands:
            self.ran.unlink(missing_ok=True)
            run = torchport(*words, env={"HOME": os.environ["HOME"]})
            assert run.returncode in (0, 1, 2), run.stderr
            if self.ran.exists():
                found.append(" ".join(words))
        self.ran.unlink(missing_ok=True)
        return found


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(tmp_path, monkeypatch)


def keys() -> list[str]:
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True)
    named = [line.strip() for line in listed.stdout.splitlines() if NAMES.search(line)]
    made = [re.sub(r"<.*?>|\*", "x", name) for name in named if " " not in name]
    commands = ("diff", "status", "config", "rev-parse", "merge-base", "ls-files", "check-ignore")
    return sorted(
        {*made, *MORE, *(f"{of}.{name}" for of in ("alias", "pager") for name in commands)}
    )


def test_the_list_is_gits_own() -> None:
    found = keys()
    assert len(found) > 90
    assert {"core.fsmonitor", "core.hooksPath", "core.sshCommand", "diff.external", "diff.x.textconv",
            "diff.x.command", "filter.x.clean", "alias.x", "pager.diff"} <= set(found)  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_no_key_that_names_a_program(repository, torchport, part) -> None:
    started = {}
    config = repository.folder / ".git/config"
    before = config.read_text()
    for key in keys()[part::4]:
        try:
            repository.git("config", key, repository.program)
        except subprocess.CalledProcessError:
            continue  # git refuses the value
        if found := repository.started_by(torchport, COMMANDS[1:4:2]):
            started[key] = found
        config.write_text(before)
        (repository.folder / "a.py").write_text(TIE + "y = 1\n")
    assert not started


@pytest.mark.parametrize(
    "keys",
    [("filter.x.clean",), ("filter.x.process",), ("filter.a=b.clean", "filter.a=b.required"),
     ("diff.x.textconv",), ("diff.x.command",), ("core.fsmonitor",)],
)  # fmt: skip
def test_by_every_command(repository, torchport, keys) -> None:
    (repository.folder / ".gitattributes").write_text(
        f"*.py filter={keys[0].split('.')[1]} diff=x\n"
    )
    for key in keys:
        repository.git("config", key, "true" if key.endswith("required") else repository.program)
    repository.git("diff") if keys[0] != "filter.x.process" else None
    if keys[0].startswith("filter") and keys[0] != "filter.x.process":
        assert repository.ran.exists(), "git itself runs it"
    assert repository.started_by(torchport) == []


def test_a_filter_of_the_user_stays(repository, torchport, tmp_path) -> None:
    """As git-lfs: what the user set for all repositories counts, also where the repository names another."""
    mark = tmp_path / "of_user"
    repository.git("config", "--global", "filter.x.clean", f"touch {mark}; cat")
    repository.git("config", "filter.x.clean", repository.program)
    assert repository.started_by(torchport, [("check", "-q", "--diff", "HEAD", ".")]) == []
    assert mark.exists()


def test_hooks(repository, torchport) -> None:
    listed = subprocess.run(
        ["git", "help", "githooks"], capture_output=True, text=True, check=False
    )
    names = {"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout", "pre-commit",
             *re.findall(r"^   ([a-z0-9]+(?:-[a-z0-9]+)+)$", listed.stdout, re.MULTILINE)}  # fmt: skip
    for folder in (repository.folder / ".git/hooks", repository.folder / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / name).write_text(f"#!/bin/sh\n{repository.program}\n")
            (folder / name).chmod(0o755)
    assert repository.started_by(torchport) == []
    repository.git("config", "core.hooksPath", "hooks")
    repository.git("config", "core.fsmonitor", "hooks/fsmonitor-watchman")
    assert repository.started_by(torchport) == []


def test_a_bare_repository_among_the_files(repository, torchport) -> None:
    """Ordinary files of a clone, which git takes for a repository of their folder."""
    sub = repository.folder / "sub"
    repository.git("init", "-q", "--bare", str(sub))
    repository.git("config", "core.bare", "false", folder=sub)
    repository.git("config", "core.worktree", "..", folder=sub)
    repository.git("config", "core.fsmonitor", repository.program, folder=sub)
    (sub / "a.py").write_text(TIE)
    commands = [(*words[:-1], "sub") for words in COMMANDS] + [
        ("check", "-q", "--diff", "HEAD", "sub/a.py")
    ]
    assert repository.started_by(torchport, commands) == []
    repository.folder = sub
    assert repository.started_by(torchport) == []


def test_a_submodule(repository, torchport, tmp_path) -> None:
    other = Repository.__new__(Repository)
    other.folder, other.ran, other.program = tmp_path / "o", repository.ran, repository.program
    other.folder.mkdir()
    other.git("init", "-q")
    (other.folder / "b.py").write_text(TIE)
    other.git("add", ".")
    other.git("commit", "-qm", "b")
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", str(other.folder), "sub")
    repository.git("commit", "-qm", "sub")
    (repository.folder / "sub/b.py").write_text(TIE + "y = 1\n")
    (repository.folder / "sub/.gitattributes").write_text("*.py filter=x\n")
    for key in ("core.fsmonitor", "filter.x.clean"):
        repository.git("config", key, repository.program, folder=repository.folder / "sub")
    assert repository.started_by(torchport) == []


def test_a_partial_clone_fetches_nothing(repository, torchport, tmp_path) -> None:
    (repository.folder / "a.py").write_text(TIE * 2)
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("commit", "-aqm", "b")
    clone = tmp_path / "clone"
    url = f"file://{repository.folder}"
    repository.git("clone", "-q", "--filter=blob:none", url, str(clone), folder=tmp_path)
    (clone / "new.py").write_text(TIE)
    for key in ("remote.origin.uploadpack", "core.sshCommand", "credential.helper"):
        repository.git("config", key, repository.program, folder=clone)
    for address in (url, f"ext::sh -c {repository.program!r}", "ssh://example.invalid/r"):
        repository.git("config", "remote.origin.url", address, folder=clone)
        torchport.folder = clone
        run = torchport("check", "-q", "--diff", "HEAD~1", ".")
        assert not repository.ran.exists()
        assert run.returncode == 2
        assert "this partial clone lacks files of HEAD~1" in run.stderr, run.stderr

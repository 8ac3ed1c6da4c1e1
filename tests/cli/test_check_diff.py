"""`torchport check --diff BASE`: only what a change touches."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

TIE = "x{} = torch.ones(1).cuda()\n"


class Repository:
    """A repository with a commit `base`; files are named by their path."""

    def __init__(self, torchport):
        self.torchport, self.folder = torchport, torchport.folder
        self.git("init", "-q", "-b", "main")

    def git(self, *words: object, folder: Path | None = None) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        command = ["git", *identity, *map(str, words)]
        run = subprocess.run(
            command, cwd=folder or self.folder, check=True, capture_output=True, text=True
        )
        return run.stdout

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def write(self, name: str, *numbers: object) -> Path:
        """A file with one tie for each number, each in its own line."""
        lines = "".join(TIE.format(number) for number in numbers)
        return self.torchport.write(name, "import torch\n" + lines)

    def found(self, *words: object, base: str = "base") -> list[tuple[str, int]]:
        run = self.check("--format", "json", *words, base=base)
        assert run.returncode in (0, 1), run.stderr
        return [(f["path"], f["line"]) for f in json.loads(run.stdout)["findings"]]

    def check(self, *words: object, base: str = "base"):
        return self.torchport("check", "--select", "TP101", "--diff", base, *words)


@pytest.fixture
def repository(torchport) -> Repository:
    made = Repository(torchport)
    made.write("a.py", 1, 2, 3)
    made.write("größe und mehr.py", 1, 2)
    made.write("p/b.py", 1, 2)
    made.write("gone.py", 1)
    made.commit("base")
    made.git("tag", "base")
    return made


def test_lines_of_commits_and_of_the_work_tree(repository: Repository) -> None:
    assert repository.found() == []
    repository.write("a.py", 1, "_2", 3)
    repository.commit("committed")
    assert repository.found() == [("a.py", 3)]
    repository.write("a.py", 1, "_2", 3, 4)
    repository.write("größe und mehr.py", 0, 1, 2)
    repository.git("add", "größe und mehr.py")
    repository.write("new file.py", 1)
    (repository.folder / "gone.py").unlink()
    expected = [("a.py", 3), ("a.py", 5), ("größe und mehr.py", 2), ("new file.py", 2)]
    assert repository.found() == expected
    assert repository.found("a.py", "p") == expected[:2]


def test_a_branch_is_compared_with_where_it_began(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "work")
    repository.write("a.py", 1, 2, 3, 4)
    repository.commit("work")
    repository.git("checkout", "-q", "main")
    repository.write("p/b.py", 1, "_2")
    repository.commit("main goes on")
    repository.git("checkout", "-q", "work")
    assert repository.found(base="main") == [("a.py", 5)]


def test_renamed_files_count_by_their_changed_lines(repository: Repository) -> None:
    numbers = range(20)
    repository.write("old.py", *numbers)
    repository.commit("long")
    repository.git("tag", "long")
    repository.git("mv", "old.py", "p/größer.py")
    repository.write("p/größer.py", *numbers, "new")
    assert repository.found(base="long") == [("p/größer.py", 22)]


def test_odd_names(repository: Repository) -> None:
    names = ['quote".py', "back\\slash.py", "tab\t.py", "b/a.py", "-dash.py", "ü\u2028.py"]
    for name in names:
        repository.write(name, 1)
    repository.commit("odd")
    repository.git("tag", "odd")
    for name in names:
        repository.write(name, 1, 2)
    assert sorted(repository.found(base="odd")) == sorted((name, 3) for name in names)


def test_settings_of_git_change_nothing(repository: Repository) -> None:
    for setting in [
        "diff.noprefix=true", "diff.mnemonicPrefix=true", "color.ui=always", "diff.renames=false",
        "core.quotePath=true", "diff.external=false", "diff.interHunkContext=9", "diff.context=9",
        "diff.relative=true",
    ]:  # fmt: skip
        repository.git("config", *setting.split("="))
    repository.write("größe und mehr.py", 1, 2, 3)
    assert repository.found() == [("größe und mehr.py", 4)]


def test_in_a_subfolder(repository: Repository) -> None:
    repository.write("a.py", 1, 2, 3, 4)
    repository.write("p/b.py", 1, 2, 3)
    repository.write("p/c.py", 1)
    repository.torchport.folder = repository.folder / "p"
    assert repository.found() == [("b.py", 4), ("c.py", 2)]
    assert repository.found("../a.py", ".") == [("../a.py", 5), ("b.py", 4), ("c.py", 2)]


def test_a_finding_of_several_lines_counts_if_one_of_them_changed(repository: Repository) -> None:
    text = "import torch\nx = torch.ones(1).cuda(\n    non_blocking={})\n"
    repository.torchport.write("long.py", text.format("True"))
    repository.commit("long")
    repository.git("tag", "long")
    repository.torchport.write("long.py", text.format("False"))
    assert repository.found(base="long") == [("long.py", 2)]


def test_the_summary_tells_what_was_left_out(repository: Repository) -> None:
    repository.write("a.py", 1, 2, 3, 4)
    run = repository.check()
    assert run.returncode == 1
    assert "Found 1 finding in 1 of 4 files.\n" in run.stdout
    assert "8 findings outside of the change since base are not shown.\n" in run.stdout
    summary = json.loads(repository.check("--format", "json").stdout)["summary"]
    assert summary["diff"] == {"base": "base", "outside": 8}
    run = repository.check("p")
    assert run.returncode == 0
    assert run.stdout == (
        "No finding in the lines changed since base, in 1 file.\n"
        "2 findings outside of the change since base are not shown.\n"
    )
    plain = repository.torchport("check", "--format", "json")
    assert json.loads(plain.stdout)["summary"]["diff"] is None


@pytest.mark.parametrize("form", ["text", "json", "sarif", "html", "github"])
def test_every_format(repository: Repository, form: str) -> None:
    repository.write("a.py", 1, 2, 3, 4)
    shown = repository.check("--format", form).stdout
    assert (
        "x4 = " in shown or "line=5" in shown or '"line": 5' in shown or '"startLine": 5' in shown
    )
    assert "p/b.py" not in shown


def test_with_a_baseline(repository: Repository) -> None:
    baseline = ["--baseline", "../known.json"]
    repository.torchport("check", "--select", "TP101", *baseline)
    repository.write("a.py", 1, 2, 3, 4)
    repository.commit("later")
    repository.git("tag", "later")
    repository.write("a.py", 1, 2, 3, 4, 5)
    assert repository.found(*baseline, base="later") == [("a.py", 6)]
    run = repository.check(*baseline, base="later")
    assert "Found 1 new finding" in run.stdout
    assert "8 findings of the baseline not shown.\n" in run.stdout
    assert "1 finding outside of the change since later is not shown.\n" in run.stdout
    assert repository.found(*baseline) == [("a.py", 5), ("a.py", 6)]


def test_files_that_cannot_be_read_count_if_the_change_touches_them(repository: Repository) -> None:
    repository.torchport.write("broken.py", "import torch\ndef f(:\n")
    repository.commit("broken")
    repository.git("tag", "broken")
    assert repository.check(base="broken").returncode == 0
    assert repository.check().returncode == 1


def refused(run, *words: str) -> None:
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1, "one sentence"
    for word in words:
        assert word in run.stderr


def test_a_revision_that_does_not_exist(repository: Repository) -> None:
    refused(repository.check(base="nonsense"), "nonsense", "no commit", "git branch --all")
    refused(repository.check(base="--output=x"), "--output=x", "no commit")
    assert not (repository.folder / "x").exists()
    repository.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    refused(repository.check(base="trunk"), "--diff origin/trunk")


def test_no_repository(torchport) -> None:
    torchport.write("a.py", TIE)
    run = torchport("check", "--diff", "main", env={"GIT_CEILING_DIRECTORIES": "/"})
    refused(run, "--diff", "git repository")
    refused(torchport("check", "--diff", "main", env={"PATH": "/nowhere"}), "git", "install")


def test_a_repository_without_a_commit(torchport) -> None:
    Repository(torchport).write("a.py", 1)
    refused(torchport("check", "--diff", "HEAD"), "HEAD", "no commit")


def test_a_shallow_clone(repository: Repository, tmp_path: Path) -> None:
    for number in (4, 5):
        repository.write("a.py", number)
        repository.commit("more")
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "--depth", "1", repository.folder.as_uri(), clone)
    repository.torchport.folder = clone
    refused(repository.check(), "shallow", "git fetch --unshallow", "fetch-depth: 0")
    # The base is there, but not what leads from it to here.
    repository.git("fetch", "-q", "--depth", "1", "origin", "tag", "base", folder=clone)
    refused(repository.check(), "shallow", "git fetch --unshallow")
    repository.git("fetch", "-q", "--unshallow", "--tags", folder=clone)
    assert repository.found() == [("a.py", 2)]


def test_histories_that_have_nothing_in_common(repository: Repository) -> None:
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit("other")
    refused(repository.check(), "base", "nothing in common")

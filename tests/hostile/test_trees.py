"""Folders made to hurt: names, links, rights, depth, number; and reports that stay readable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile_file import TIE

pytestmark = [pytest.mark.alone("hostile"), pytest.mark.split]

NAMES = [
    b"new\nline.py",
    b"not-utf8-\xff\xfe.py",
    b"--diff.py",
    b"-j.py",
    b"quote'\"`$(x);.py",
    b"<script>&amp;.py",
    b"::error::.py",
    b"tab\tand\x1b[31mcolour.py",
    b"a:3:4.py",
    "längs-光-😀.py".encode(),
    b"%0A%s%n{}{0}.py",
    b" .py",
    b"...py",
]


def write_names(folder) -> None:
    for name in NAMES:
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(TIE.encode())


@pytest.mark.parametrize("form", ["text", "json", "sarif", "html", "github"])
def test_reports_are_valid_utf8_whatever_files_are_called(torchport, form) -> None:
    write_names(torchport.folder)
    run = torchport("check", "--select", "TP101", "--format", form, text=False)
    assert run.returncode == 1
    text = run.stdout.decode("utf-8")
    if form == "json":
        assert len(json.loads(text)["findings"]) == len(NAMES)
    elif form == "sarif":
        assert len(json.loads(text)["runs"][0]["results"]) == len(NAMES)
    elif form == "html":
        assert "<script>&amp;.py" not in text
    elif form == "github":
        assert sum(line.startswith("::error file=") for line in text.splitlines()) == len(NAMES)
        assert not [line for line in text.splitlines() if line.startswith("::error::")]
    if form in ("text", "github"):
        assert "\x1b[31m" not in text, "a name does not colour the terminal"


def test_fix_and_undo_whatever_files_are_called(torchport) -> None:
    write_names(torchport.folder)
    assert torchport("fix", "--select", "TP101", text=False).returncode == 0
    paths = [os.path.join(os.fsencode(torchport.folder), name) for name in NAMES]
    for path in paths:
        with open(path, "rb") as file:
            assert b".to(DEVICE)" in file.read()
    assert torchport("fix", "--undo", text=False).returncode == 0
    for path in paths:
        with open(path, "rb") as file:
            assert file.read() == TIE.encode()


def test_names_with_dashes_are_files_behind_two_dashes(torchport) -> None:
    torchport.write("--diff.py", TIE)
    assert json.loads(torchport("check", "--format", "json", "--", "--diff.py").stdout)["findings"]
    assert json.loads(torchport("check", "--format", "json", "./--diff.py").stdout)["findings"]


def test_links_in_circles_and_out_of_the_tree(torchport, tmp_path) -> None:
    folder = torchport.folder
    torchport.write("a.py", TIE)
    (folder / "self").symlink_to("self")
    (folder / "self.py").symlink_to("self.py")
    (folder / "up").symlink_to("..")
    (folder / "root").symlink_to("/")
    (folder / "x").symlink_to("y")
    (folder / "y").symlink_to("x")
    (folder / "gone.py").symlink_to("nowhere.py")
    deep = folder / "d"
    deep.mkdir()
    (deep / "back").symlink_to(folder)
    run = torchport("check", "--format", "json")
    assert run.returncode == 1
    assert {f["path"] for f in json.loads(run.stdout)["findings"]} == {"a.py"}
    for name in ("self", "self.py", "x", "gone.py"):
        named = torchport("check", name)
        assert named.returncode == 2, "a path that leads nowhere is the caller's mistake"
        assert name in named.stdout + named.stderr


NOBODY = 65534


def as_nobody(torchport, *words: str) -> subprocess.CompletedProcess:
    """Root may read anything: run as somebody who may not."""
    prefix = (
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    )
    return subprocess.run(
        [*prefix, torchport.program, *words],
        cwd=torchport.folder,
        env=torchport.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def open_to_all(torchport, tmp_path):
    """Somebody else can reach the project and the program."""
    if os.geteuid() == 0:
        probe = subprocess.run(
            [
                "setpriv",
                "--reuid=65534",
                "--regid=65534",
                "--clear-groups",
                str(torchport.program),
                "--version",
            ],
            capture_output=True,
            check=False,
        )
        if probe.returncode != 0:
            pytest.skip("cannot become another user here")
    for path in [torchport.folder, *torchport.folder.parents]:
        if os.stat(path).st_uid == os.geteuid() and path != path.parent:
            mode = path.stat().st_mode
            if mode & 0o005 != 0o005:
                path.chmod(mode | 0o055)
    torchport.folder.chmod(0o777)
    state = Path(torchport.env["TORCHPORT_STATE_DIR"])
    state.mkdir()
    if os.geteuid() == 0:
        os.chown(state, NOBODY, NOBODY)
    return torchport


def test_what_may_not_be_read_is_said_and_the_rest_is_read(open_to_all) -> None:
    torchport = open_to_all
    torchport.write("a.py", TIE).chmod(0o666)
    torchport.write("secret.py", TIE).chmod(0)
    torchport.write("closed/b.py", TIE)
    (torchport.folder / "closed").chmod(0)
    try:
        run = as_nobody(torchport, "check", "--no-cache", "--format", "json")
        document = json.loads(run.stdout)
        assert run.returncode == 1
        assert {f["path"] for f in document["findings"]} == {"a.py"}
        assert {p["path"] for p in document["problems"]} == {"secret.py", "closed"}
        assert all("Permission denied" in p["message"] for p in document["problems"])
    finally:
        (torchport.folder / "closed").chmod(0o755)


def test_what_may_not_be_written_is_said_and_the_rest_is_fixed(open_to_all) -> None:
    torchport = open_to_all
    good = torchport.write("a.py", TIE)
    kept = torchport.write("shut/b.py", TIE)
    of_root = torchport.write("c.py", TIE)
    for path in (good, kept, of_root):
        path.chmod(0o666)
    kept.parent.chmod(0o555)
    if os.geteuid() == 0:
        os.chown(good, NOBODY, NOBODY)
    try:
        run = as_nobody(torchport, "fix", "--select", "TP101")
        assert run.returncode == 1
        assert "shut/b.py" in run.stderr and "Permission denied" in run.stderr
        assert kept.read_text() == TIE
        if os.geteuid() == 0:
            assert "c.py: belongs to another user or group, which it would lose" in run.stderr
            assert of_root.read_text() == TIE and of_root.stat().st_uid == 0
            assert "Fixed 1 finding in 1 file." in run.stdout
            assert "2 files could not be written" in run.stdout
        assert ".to(DEVICE)" in good.read_text()
        assert os.listdir(kept.parent) == ["b.py"], "no temporary file stays"
    finally:
        kept.parent.chmod(0o755)


def test_folders_with_the_names_of_files(torchport) -> None:
    for name in (
        "a.py",
        "requirements.txt",
        "pyproject.toml",
        "torchport.toml",
        ".gitignore",
        "setup.py",
        "setup.cfg",
    ):
        (torchport.folder / name).mkdir()
    torchport.write("a.py/b.py", TIE)
    run = torchport("check", "--format", "json")
    assert {f["path"] for f in json.loads(run.stdout)["findings"]} == {"a.py/b.py"}


def test_sockets_and_pipes_are_passed_over(torchport) -> None:
    torchport.write("a.py", TIE)
    os.mkfifo(torchport.folder / "pipe.py")
    os.mkfifo(torchport.folder / ".gitignore")
    run = torchport("check", "--format", "json")
    assert {f["path"] for f in json.loads(run.stdout)["findings"]} == {"a.py"}
    assert torchport("check", "pipe.py").returncode == 2


def test_very_deep_folders(torchport) -> None:
    """Deeper than PATH_MAX: what can be reached by its name is read, the rest is a problem, not a crash."""
    here = os.open(torchport.folder, os.O_RDONLY)
    try:
        for _ in range(1500):
            os.mkdir("deep", dir_fd=here)
            below = os.open("deep", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    torchport.write("deep/deep/a.py", TIE)
    run = torchport("check", "--format", "json")
    document = json.loads(run.stdout)
    assert [f["path"] for f in document["findings"] if f["code"] == "TP101"] == ["deep/deep/a.py"]
    assert [p["message"] for p in document["problems"]] == ["File name too long"]
    subprocess.run(["rm", "-rf", torchport.folder / "deep"], check=True)


def test_ten_thousand_files(torchport) -> None:
    for i in range(100):
        folder = torchport.folder / f"d{i}"
        folder.mkdir()
        for j in range(100):
            (folder / f"f{j}.py").write_text(TIE if j == 0 else "x = 1\n")
    start = time.monotonic()
    run = torchport("check", "--select", "TP101", "--format", "json")
    assert time.monotonic() - start < 10
    document = json.loads(run.stdout)
    assert document["summary"]["files"] == 10_000
    assert len(document["findings"]) == 100


def test_ignore_lists_that_make_no_sense(torchport) -> None:
    subprocess.run(["git", "init", "-q", torchport.folder], check=True)
    torchport.write("a.py", TIE)
    lines = [
        b"[",
        b"[a-",
        b"\\",
        b"!",
        b"/",
        b"//",
        b"**",
        b"!**",
        b"[]",
        b"[!]",
        b"\xff\xfe",
        b"\0",
        b"*a" * 500 + b"b",
        b"**/a/" * 200 + b"b",
        b"x" * 100_000,
    ]
    torchport.write(".gitignore", b"\n".join(lines) * 50)
    run = torchport("check", "--format", "json")
    assert {f["path"] for f in json.loads(run.stdout)["findings"]} == {"a.py"}


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"\0",
        b"[" * 100_000,
        b"a = " + b"[" * 100_000,
        b"a = " + b"{b = " * 20_000,
        b"a." * 50_000 + b"b = 1",
        b'select = "' + b"x" * 1_000_000,
        b"[[[a]]]\n",
        b"[=]\n",
        b"[\x0bproject]\n",
    ],
    ids=[
        "utf16",
        "nul",
        "tables",
        "arrays",
        "inline_tables",
        "dotted",
        "long",
        "three_brackets",
        "no_key",
        "vertical_tab",
    ],
)
def test_settings_that_make_no_sense(torchport, content) -> None:
    torchport.write("a.py", TIE)
    torchport.write("torchport.toml", content)
    run = torchport("check")
    assert run.returncode == 2
    assert "torchport.toml" in run.stderr
    assert len(run.stderr) < 3000


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"null",
        b'{"torchport-baseline": 1}',
        b'{"torchport-baseline": 1, "findings": [1]}',
        b"[" * 1_000_000,
    ],
)
def test_baselines_that_make_no_sense(torchport, content) -> None:
    torchport.write("a.py", TIE)
    torchport.write("base.json", content)
    run = torchport("check", "--baseline", "base.json")
    assert run.returncode == 2
    assert "base.json" in run.stderr
    assert (torchport.folder / "base.json").read_bytes() == content


def test_a_damaged_journal_restores_nothing(torchport) -> None:
    path = torchport.write("a.py", TIE)
    assert torchport("fix", "--select", "TP101").returncode == 0
    fixed = path.read_text()
    (journal,) = Path(torchport.env["TORCHPORT_STATE_DIR"]).glob("undo/*/*.done")
    whole = journal.read_bytes()
    for damaged in (
        b"",
        whole[: len(whole) // 2],
        b"\xff" * 100,
        b"\x9b" + b"\xff" * 8,
        b"\x81" * 10_000_000,
    ):
        journal.write_bytes(damaged)
        run = torchport("fix", "--undo")
        assert run.returncode == 2, run
        assert journal.name in run.stderr and "damaged" in run.stderr
        assert path.read_text() == fixed
    journal.write_bytes(whole)
    assert torchport("fix", "--undo").returncode == 0
    assert path.read_text() == TIE


def test_files_that_change_and_vanish_under_the_reader(torchport) -> None:
    """Another process rewrites, removes and adds files all the time."""
    for i in range(200):
        torchport.write(f"m{i}.py", TIE * 20)
    churn = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys, itertools\n"
            "for i in itertools.count():\n"
            "    name = f'm{i % 200}.py'\n"
            "    if i % 3 == 0: open(name, 'w').write('import torch\\nx = torch.ones(1).cu')\n"
            "    elif i % 3 == 1 and os.path.exists(name): os.unlink(name)\n"
            "    else: open(name, 'w').write('import torch\\nx = torch.ones(1).cuda()\\n' * 30)\n",
        ],
        cwd=torchport.folder,
    )
    try:
        for _ in range(5):
            run = torchport("check", "--format", "json", "-j", 4)
            assert run.returncode in (0, 1), run
            json.loads(run.stdout)
            run = torchport("fix", "--select", "TP101", "-j", 4)
            assert run.returncode in (0, 1), run
    finally:
        churn.kill()
        churn.wait()


def test_html_of_hostile_sources_is_well_formed(torchport) -> None:
    torchport.write(
        "a.py", "import torch\nx = '</pre><script>alert(1)</script>', torch.ones(1).cuda()\n"
    )
    page = torchport("check", "--format", "html").stdout
    assert "<script>alert(1)" not in page


def test_a_folder_of_tmp_that_another_user_made_is_not_used(open_to_all) -> None:
    """Without a home the journals are in a folder of /tmp: who made it could replace what is below it."""
    if os.geteuid() != 0:
        pytest.skip("cannot become another user here")
    torchport = open_to_all
    path = torchport.write("a.py", TIE)
    os.chown(path, NOBODY, NOBODY)
    homeless = ("HOME", "XDG_STATE_HOME", "TORCHPORT_STATE_DIR")
    torchport.env = {k: v for k, v in torchport.env.items() if k not in homeless}
    made = Path(f"/tmp/torchport-{NOBODY}")
    made.mkdir()
    try:
        made.chmod(0o777)
        run = as_nobody(torchport, "fix", "--select", "TP101")
        assert run.returncode == 2 and f"{made}: belongs to another user" in run.stderr, run
        assert path.read_text() == TIE and not list(made.iterdir())
    finally:
        made.rmdir()

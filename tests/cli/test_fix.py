"""`torchport fix`: what it writes, what it keeps, how it is taken back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("without_torch")

TIE = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
FIXED = """import torch

DEVICE = torch.device(
    "cuda" if torch.cuda.is_available()
    else "mps" if torch.backends.mps.is_available()
    else "cpu"
)

model = torch.nn.Linear(2, 2).to(DEVICE)
"""

# In a file that prefers single quotes.
SINGLE = FIXED.replace('"', "'")


def fix(torchport, *words: object, select: str = "TP101"):
    return torchport("fix", "--select", select, *words)


def git(folder, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_fix_settles_and_undo_brings_back(torchport) -> None:
    path = torchport.write("a.py", TIE)
    path.chmod(0o751)
    run = fix(torchport)
    assert run.returncode == 0
    assert path.read_text() == FIXED
    assert path.stat().st_mode & 0o777 == 0o751
    assert "Fixed 1 finding in 1 file." in run.stdout and "--undo" in run.stdout
    assert "Nothing to fix" in fix(torchport).stdout
    assert path.read_text() == FIXED
    undo = torchport("fix", "--undo")
    assert undo.returncode == 0 and "1 file" in undo.stdout
    assert path.read_text() == TIE
    assert path.stat().st_mode & 0o777 == 0o751
    again = torchport("fix", "--undo")
    assert again.returncode == 2 and "nothing to undo" in again.stderr


def test_diff_writes_nothing_and_patch_reads_it(torchport) -> None:
    path = torchport.write("a.py", TIE)
    run = fix(torchport, "--diff")
    assert path.read_text() == TIE
    assert not Path(torchport.env["TORCHPORT_STATE_DIR"]).exists()
    subprocess.run(
        ["patch", "-p0"],
        input=run.stdout,
        text=True,
        cwd=torchport.folder,
        check=True,
        capture_output=True,
    )
    assert path.read_text() == FIXED


@pytest.mark.parametrize(
    "name, content, expected",
    [
        ("crlf", TIE.replace("\n", "\r\n").encode(), FIXED.replace("\n", "\r\n").encode()),
        ("cr", TIE.replace("\n", "\r").encode(), FIXED.replace("\n", "\r").encode()),
        ("bom", b"\xef\xbb\xbf" + TIE.encode(), b"\xef\xbb\xbf" + FIXED.encode()),
        ("no_newline", TIE.encode()[:-1], FIXED.encode()[:-1]),
        (
            "latin",
            b"# coding: latin-1\n" + TIE.encode() + b"name = '\xe9'\n",
            b"# coding: latin-1\n" + SINGLE.encode() + b"name = '\xe9'\n",
        ),
        (
            "shift_jis",
            b"# coding: shift_jis\n" + TIE.encode() + "name = '表示'\n".encode("shift_jis"),
            b"# coding: shift_jis\n" + SINGLE.encode() + "name = '表示'\n".encode("shift_jis"),
        ),
        (
            "tabs_formfeed_trailing_spaces",
            (TIE + "\x0c\ndef f():  \n\tif 1:\n\t\treturn 1   \n\n\n\n").encode(),
            (FIXED + "\x0c\ndef f():  \n\tif 1:\n\t\treturn 1   \n\n\n\n").encode(),
        ),
    ],
)
def test_bytes_outside_of_the_edits_stay(torchport, name, content, expected) -> None:
    path = torchport.write(f"{name}.py", content)
    fix(torchport)
    assert path.read_bytes() == expected
    compile(path.read_bytes(), str(path), "exec")


def test_docstring_future_and_comments_stay_on_top(torchport) -> None:
    path = torchport.write(
        "a.py",
        '#!/usr/bin/env python\n"""Doc."""\nfrom __future__ import annotations\n\nimport torch  # the library\n\nx = torch.ones(1).cuda()\n',
    )
    fix(torchport)
    lines = path.read_text().splitlines()
    assert lines[:5] == [
        "#!/usr/bin/env python",
        '"""Doc."""',
        "from __future__ import annotations",
        "",
        "import torch  # the library",
    ]
    compile(path.read_text(), str(path), "exec")


def test_syntax_errors_are_reported_and_never_edited(torchport) -> None:
    broken = "import torch\nx = torch.ones(1).cuda()\ndef f(:\n"
    python2 = "import torch\nprint torch.ones(1).cuda()\n"
    a = torchport.write("a.py", broken)
    b = torchport.write("b.py", python2)
    c = torchport.write("c.py", TIE)
    run = fix(torchport)
    assert run.returncode == 1
    assert a.read_text() == broken and b.read_text() == python2
    assert c.read_text() == FIXED
    assert "a.py:3" in run.stderr and "b.py:2" in run.stderr


def test_unsafe_fixes_only_when_asked_for(torchport) -> None:
    source = "import torch\n\nx = torch.ones(1).cuda(1)\n"
    path = torchport.write("a.py", source)
    run = fix(torchport)
    assert path.read_text() == source
    assert "--unsafe-fixes" in run.stdout
    fix(torchport, "--unsafe-fixes")
    assert ".cuda(1)" not in path.read_text()


def test_idioms(torchport) -> None:
    torchport.write("a.py", TIE)
    assert "torch.accelerator" in fix(torchport, "--diff", "--idiom", "accelerator").stdout
    assert "torch.accelerator" in fix(torchport, "--diff", "--min-torch", "2.7").stdout
    assert "mps" not in fix(torchport, "--diff", "--min-torch", "1.8").stdout
    helper = fix(torchport, "--diff", "--idiom", "helper", "--helper", "pkg.devices:pick").stdout
    assert "+from pkg.devices import pick" in helper and "+DEVICE = pick()" in helper


def test_a_tensor_of_an_array_goes_to_the_input(torchport) -> None:
    text = "import torch\n\n\ndef scale(boxes: torch.Tensor, rows):\n    "
    text += "factor = torch.from_numpy(rows)\n    return boxes * factor\n"
    path = torchport.write("a.py", text)
    assert fix(torchport, "--unsafe-fixes", select="TP201").returncode == 0
    assert path.read_text() == text.replace("(rows)\n", "(rows).to(boxes.device)\n")


def test_min_torch_is_read_from_the_project(torchport) -> None:
    torchport.write("a.py", TIE)
    torchport.write("requirements.txt", "numpy\ntorch>=2.6,<3\ntorchvision>=0.1\n")
    assert "torch.accelerator" in fix(torchport, "--diff").stdout
    torchport.write("requirements.txt", "torchmetrics>=3\ntorch==1.7.1\n")
    assert "mps" not in fix(torchport, "--diff").stdout


def test_dirty_git_tree_is_refused(torchport) -> None:
    path = torchport.write("a.py", TIE)
    other = torchport.write("b.txt", "1\n")
    git(torchport.folder, "init", "-q")
    run = fix(torchport)
    assert run.returncode == 2 and "a.py" in run.stderr, "not tracked: git could not bring it back"
    git(torchport.folder, "add", ".")
    git(torchport.folder, "commit", "-qm", "x")
    other.write_text("2\n")
    run = fix(torchport)
    assert run.returncode == 2 and "--allow-dirty" in run.stderr
    assert path.read_text() == TIE
    assert fix(torchport, "--diff").returncode == 0, "showing is always allowed"
    assert fix(torchport, "--allow-dirty").returncode == 0
    git(torchport.folder, "commit", "-qam", "y")
    status = subprocess.run(
        ["git", "status", "--porcelain"],
        cwd=torchport.folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert status.stdout == "", "the journal is nobody's source"


def test_links_are_not_followed(torchport, tmp_path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(TIE)
    (torchport.folder / "link.py").symlink_to(outside)
    (torchport.folder / "folder").symlink_to(tmp_path)
    fix(torchport)
    assert outside.read_text() == TIE
    run = fix(torchport, "link.py")
    assert outside.read_text() == TIE
    assert (torchport.folder / "link.py").is_symlink()
    assert "is a link" in run.stderr


def test_undo_leaves_later_edits_alone(torchport) -> None:
    a = torchport.write("a.py", TIE)
    b = torchport.write("b.py", TIE)
    fix(torchport)
    a.write_text("mine\n")
    run = torchport("fix", "--undo")
    assert run.returncode == 1 and "a.py" in run.stderr
    assert a.read_text() == "mine\n"
    assert b.read_text() == TIE


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_a_kill_in_the_middle_can_be_undone(torchport, delay) -> None:
    files = [torchport.write(f"m{i}.py", TIE * 40) for i in range(150)]
    process = subprocess.Popen(
        [torchport.program, "fix", "--select", "TP101", "."],
        env=torchport.env,
        cwd=torchport.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for path in files:
        text = path.read_text()
        assert text == TIE * 40 or (".cuda()" not in text and text.endswith(".to(DEVICE)\n")), (
            "half a file"
        )
    undo = torchport("fix", "--undo")
    assert undo.returncode in (0, 2)
    assert all(path.read_text() == TIE * 40 for path in files)
    assert not list(torchport.folder.rglob("*torchport-*")), "undo removes the temporary files"


def test_a_full_disk_harms_nothing(torchport, tmp_path) -> None:
    """A real one: a small tmpfs, when this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "none", disk],
            capture_output=True,
            check=False,
        ).returncode
        != 0
    ):
        pytest.skip("may not mount")
    try:
        (disk / "a.py").write_text(TIE * 500)
        (disk / "fill").write_bytes(b"x" * (256 * 1024 - 500 * len(TIE) - 16384))
        before = (disk / "a.py").read_bytes()
        run = subprocess.run(
            [torchport.program, "fix", "--select", "TP101", "."],
            env=torchport.env,
            cwd=disk,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode in (1, 3)
        assert "No space left on device" in run.stderr
        assert (disk / "a.py").read_bytes() == before
        assert not [p for p in disk.rglob("*torchport-*")], "no temporary file stays"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_notebooks_keep_their_layout(torchport) -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["use `.cuda()`"]},
            {
                "cell_type": "code",
                "execution_count": 3,
                "metadata": {"x": [1]},
                "outputs": [{"data": "é"}],
                "source": ["%time\n", "import torch\n"],
            },
            {
                "cell_type": "code",
                "execution_count": 4,
                "metadata": {},
                "outputs": [],
                "source": ["x = torch.ones(1).cuda()  # é"],
            },
        ],
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    for indent, ascii_only in ((1, False), (1, True), (4, False), (None, False)):
        text = json.dumps(notebook, indent=indent, ensure_ascii=ascii_only) + "\n"
        path = torchport.write("a.ipynb", text)
        fix(torchport)
        fixed = json.loads(path.read_text())
        assert fixed["cells"][2]["source"] == ["x = torch.ones(1, device=DEVICE)  # é"]
        assert "DEVICE = torch.device(\n" in fixed["cells"][1]["source"]
        assert fixed["cells"][1]["source"][0] == "%time\n"
        # Written by the same writer, it is the same text: nothing else of the layout changed.
        assert path.read_text() == json.dumps(fixed, indent=indent, ensure_ascii=ascii_only) + "\n"
        assert fix(torchport).returncode == 0
        os.unlink(path)


def test_the_prefix_of_keys_stays_where_another_file_handles_it(torchport) -> None:
    save = (
        "import torch\n\nnet = torch.nn.DataParallel(torch.nn.Linear(1, 1))\n"
        'torch.save(net.state_dict(), "a.pt")\n'
    )
    path = torchport.write("train.py", save)
    load = torchport.write("load.py", "import torch\n\nnet.load_state_dict(torch.load('a.pt'))\n")
    assert (
        "+    (net.module if" in fix(torchport, "--unsafe-fixes", "--diff", select="TP303").stdout
    )
    for line in ('name = key.replace("module.", "")', "name = key[7:]"):
        load.write_text(f"import torch\n\nkey = ''\n{line}\nnet.load_state_dict(torch.load('a'))\n")
        fix(torchport, "--unsafe-fixes", select="TP303")
        assert path.read_text() == save


@pytest.mark.parametrize(
    "name, setting",
    [
        ("pyproject.toml", "[tool.black]\nline-length = 60\n"),
        ("pyproject.toml", "[tool.ruff]\nline-length = 60\n"),
        ("setup.cfg", "[metadata]\nname = a\n[flake8]\nmax-line-length = 60\n"),
        ("inner/pyproject.toml", "[tool.ruff]\nline-length = 60\n"),
        ("inner/package/tox.ini", "[flake8]\nmax-line-length = 60\n"),
    ],
)
def test_long_lines_are_broken_for_the_nearest_formatter(torchport, name, setting) -> None:
    inner = "/" in name
    if inner:
        torchport.write("pyproject.toml", "[tool.black]\nline-length = 120\n")
    path = torchport.write(
        "inner/package/a.py" if inner else "a.py",
        "import torch\n\nstate = torch.load(folder, pickle_module=p)\n",
    )
    shown = fix(torchport, "--unsafe-fixes", "--diff", select="TP301").stdout
    assert "+state = torch.load(folder, " in shown
    torchport.write(name, setting)
    fix(torchport, "--unsafe-fixes", select="TP301")
    assert path.read_text() == (
        'import torch\n\nstate = torch.load(\n    folder, pickle_module=p, map_location="cpu"\n)\n'
    )

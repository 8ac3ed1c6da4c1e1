"""`torchport check` as its users call it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

LEGACY = Path(__file__).resolve().parents[2] / "examples/legacy"
TIE = "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
CLEAN = "import torch\n\nprint(torch.__version__)\n"


def findings(run) -> list[dict]:
    return json.loads(run.stdout)["findings"]


def test_version_and_help(torchport) -> None:
    assert torchport("--version").stdout == "torchport 0.1.0\n"
    page = torchport("--help")
    assert page.returncode == 0
    for word in ("check", "fix", "explain", "rules", "Exit codes: 0 clean"):
        assert word in page.stdout
    assert torchport("check", "--help").returncode == 0


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "Usage"),
        (["chek", "."], 'there is no command "chek"; did you mean "check"?'),
        (["runtime", "bild"], 'there is no command "bild"; did you mean "build"?'),
        (["runtime"], "runtime needs one of these commands: list, build"),
        (["--nope"], "unknown option --nope"),
        (
            ["check", "--format", "yaml", "."],
            "--format yaml is not a report format; it is one of github, html",
        ),
        (["check", "--select", "TP1O1", "."], 'did you mean "TP101"'),
        (["check", "--min-torch", "new", "."], "--min-torch new is not a version"),
        (["check", "--idiom", "x", "."], "auto, accelerator, classic, helper"),
        (["check", "--idiom", "helper", "."], "--helper package.module:function"),
        (["check", "nowhere.py"], "nowhere.py"),
        (["check", "--package", "no_such_package_here"], "not installed"),
        (["check", "--select", "nonsense", "."], 'called "nonsense"; `torchport rules` lists them'),
        (["check", "--exclude", "a[b", "."], '"a[b" is not a pattern for files to exclude'),
        (["explain", "TP999"], "did you mean"),
        (["check", "--threads", "many"], "--threads"),
    ],
)
def test_wrong_use_is_exit_2_and_says_what_to_do(torchport, words, said) -> None:
    run = torchport(*words)
    assert run.returncode == 2, run
    assert said in run.stdout + run.stderr


def test_exit_codes(torchport) -> None:
    torchport.write("clean.py", CLEAN)
    assert torchport("check").returncode == 0
    torchport.write("tie.py", TIE)
    assert torchport("check").returncode == 1
    assert torchport("check", "--exit-zero").returncode == 0


def test_empty_folder(torchport) -> None:
    run = torchport("check")
    assert run.returncode == 0
    assert "no Python file" in run.stdout


def test_json_has_the_documented_shape(torchport) -> None:
    torchport.write("a/tie.py", TIE)
    run = torchport("check", "--format", "json")
    document = json.loads(run.stdout)
    (finding,) = [f for f in document["findings"] if f["code"] == "TP101"]
    assert finding["name"] == "cuda-call"
    assert finding["path"] == "a/tie.py"
    assert (finding["line"], finding["column"], finding["end_line"], finding["end_column"]) == (
        3,
        31,
        3,
        37,
    )
    assert finding["severity"] == "error"
    assert finding["fix"]["applicability"] == "safe"
    assert document["summary"]["files"] == 1
    assert document["summary"]["bytes"] == len(TIE)
    assert document["summary"]["by_code"]["TP101"] == 1
    assert document["summary"]["findings"] == len(document["findings"])


def test_columns_count_characters(torchport) -> None:
    torchport.write("a.py", "import torch\nx = 'é€😀', torch.ones(1).cuda()\n")
    (finding,) = findings(torchport("check", "--format", "json", "--select", "TP101"))
    assert finding["column"] == 26


def test_text_shows_source_and_carets(torchport) -> None:
    torchport.write("tie.py", TIE)
    text = torchport("check", "--select", "TP101").stdout
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "model = " in line)
    source, carets = lines[at], lines[at + 1]
    assert source[carets.index("^") : carets.rindex("^") + 1] == "cuda()"
    assert "= fix: " in text


def test_colour_only_where_asked_for(torchport) -> None:
    torchport.write("tie.py", TIE)
    assert "\x1b" not in torchport("check").stdout
    assert "\x1b[" in torchport("check", env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in torchport("check", env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout


def test_the_report_tells_the_torch_floor(torchport, without_torch) -> None:
    torchport.write("tie.py", TIE)

    def floor(*words: str) -> dict:
        return json.loads(torchport("check", "--format", "json", *words).stdout)["summary"][
            "min_torch"
        ]

    assert floor() == {"version": "1.12", "from": "default"}
    assert "written for torch 1.12 and newer (the default" in torchport("check").stdout
    torchport.write("requirements.txt", "numpy\ntorch>=2.6\n")
    assert floor() == {"version": "2.6", "from": "requirements.txt:2"}
    assert "for torch 2.6 and newer (requirements.txt:2).\n" in torchport("check").stdout
    torchport.write("src/a.py", "import torch\n\nx = torch.ones(1).cuda()\n")
    assert "(requirements.txt:2)." in torchport("check", "src").stdout
    assert "(requirements.txt:2)." in torchport("check", str(torchport.folder / "src")).stdout
    torchport.write("torchport.toml", '\nmin-torch = "2.1"\n')
    assert floor() == {"version": "2.1", "from": "torchport.toml:2"}
    assert floor("--min-torch", "2.3") == {"version": "2.3", "from": "--min-torch"}


@pytest.mark.parametrize("floor", ["1.6", "1.12", "2.0", "2.6", "2.9"])
def test_a_floor_silences_no_finding(torchport, floor: str) -> None:
    shutil.copytree(LEGACY, torchport.folder / "legacy")

    def found(*words: str) -> set[tuple]:
        document = json.loads(torchport("check", "--format", "json", *words).stdout)
        return {(f["path"], f["line"], f["code"]) for f in document["findings"]}

    assert found("--min-torch", floor) >= found()


def test_github_annotations(torchport) -> None:
    torchport.write("tie.py", TIE)
    torchport.write("p/two,%.py", TIE + "y = torch.ones(1).cuda()\n")
    torchport.write("broken.py", "import torch\ndef f(:\n")
    lines = torchport("check", "--select", "TP101", "--format", "github").stdout.splitlines()
    error = "::error file={},line={},col={},endLine={},endColumn={},title=TP101 cuda-call::"
    expected = [
        "::group::broken.py: not checked fully",
        "::warning file=broken.py,line=2,title=not checked::",
        "::endgroup::",
        "::group::p/two,%25.py: 2 findings",
        error.format("p/two%2C%25.py", 3, 31, 3, 37),
        error.format("p/two%2C%25.py", 4, 19, 4, 25),
        "::endgroup::",
        "::group::tie.py: 1 finding",
        error.format("tie.py", 3, 31, 3, 37),
        "::endgroup::",
        "Found 3 findings in 3 files.",
    ]
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start)


def test_statistics(torchport) -> None:
    torchport.write("tie.py", TIE * 2)
    out = torchport("check", "--select", "TP101", "--statistics").stdout
    assert out.splitlines()[0].split()[:3] == ["2", "TP101", "cuda-call"]


def test_output_file(torchport) -> None:
    torchport.write("tie.py", TIE)
    run = torchport("check", "--format", "json", "-o", "report.json")
    assert run.stdout == ""
    assert json.loads((torchport.folder / "report.json").read_text())["findings"]


def test_gitignore_is_honoured(torchport) -> None:
    subprocess.run(["git", "init", "-q", torchport.folder], check=True)
    torchport.write(".gitignore", "build/\n*_pb.py\n/top.py\n!keep_pb.py\n")
    for name in ("build/a.py", "x_pb.py", "keep_pb.py", "top.py", "sub/top.py", "sub/x_pb.py"):
        torchport.write(name, TIE)
    torchport.write("sub/.gitignore", "!x_pb.py\n")
    seen = {f["path"] for f in findings(torchport("check", "--format", "json"))}
    assert seen == {"keep_pb.py", "sub/top.py", "sub/x_pb.py"}
    below = {f["path"] for f in findings(torchport("check", "--format", "json", "sub"))}
    assert below == {"sub/top.py", "sub/x_pb.py"}
    named = findings(torchport("check", "--format", "json", "top.py"))
    assert {f["path"] for f in named} == {"top.py"}, "a file named outright is read"
    everything = {
        f["path"] for f in findings(torchport("check", "--format", "json", "--no-gitignore"))
    }
    assert "build/a.py" in everything and "top.py" in everything


def test_exclude_and_virtual_environments(torchport) -> None:
    for name in ("a.py", "old/b.py", "env/lib/c.py", ".venv/d.py"):
        torchport.write(name, TIE)
    torchport.write("env/pyvenv.cfg", "home = /usr\n")
    run = torchport("check", "--format", "json", "--exclude", "old/")
    assert {f["path"] for f in findings(run)} == {"a.py"}


def test_settings_file(torchport) -> None:
    torchport.write(
        "pyproject.toml",
        '[tool.torchport]\nselect = ["placement"]\nexclude = ["old"]\nmin-torch = "2.6"\n'
        '[tool.torchport.per-file-ignores]\n"tests/*" = ["TP101"]\n',
    )
    for name in ("a.py", "old/b.py", "tests/c.py"):
        torchport.write(name, TIE)
    run = torchport("check", "--format", "json")
    assert {(f["path"], f["code"]) for f in findings(run)} == {("a.py", "TP101")}
    diff = torchport("fix", "--diff").stdout
    assert "torch.accelerator.current_accelerator()" in diff
    from_below = torchport("check", "--format", "json", "../project/a.py")
    assert findings(from_below)


@pytest.mark.parametrize(
    "text, said",
    [
        ('slect = ["TP101"]\n', 'unknown key "slect"; did you mean "select"?'),
        ('select = ["TP1x1"]\n', 'no rule is called "TP1x1"'),
        ("select = 1\n", "list of strings"),
        ('idiom = "modern"\n', "auto, accelerator, classic, helper"),
        ('helper = "../../x:f"\n', '"../../x:f" cannot be imported'),
        ('helper = "x.class:f"\n', '"x.class:f" cannot be imported'),
        ('helper = "x:f()"\n', '"x:f()" cannot be imported'),
        ('min-torch = "soon"\n', "is not a version"),
        ('unsafe-fixes = "yes"\n', "true or false"),
        ('strict = "yes"\n', "true or false"),
        ("select = [\n", "torchport.toml:"),
    ],
)
def test_broken_settings_name_file_and_line(torchport, text, said) -> None:
    torchport.write("torchport.toml", "# settings\n" + text)
    torchport.write("a.py", TIE)
    run = torchport("check")
    assert run.returncode == 2
    assert "torchport.toml:" in run.stderr
    assert said in run.stderr


def test_inline_ignores(torchport) -> None:
    torchport.write(
        "a.py",
        "import torch\n"
        "a = torch.ones(1).cuda()  # torchport: ignore\n"
        "b = torch.ones(1).cuda()  # torchport: ignore[TP101]\n"
        "c = torch.ones(1).cuda()  # torchport: ignore[cuda-call, TP302]\n"
        "d = torch.ones(1).cuda()  # torchport: ignore[TP302]\n",
    )
    assert [
        f["line"] for f in findings(torchport("check", "--format", "json", "--select", "TP101"))
    ] == [5]


def test_baseline_ratchets(torchport) -> None:
    path = torchport.write("a.py", TIE)
    first = torchport("check", "--select", "TP101", "--baseline", "base.json")
    assert first.returncode == 0
    assert "only new findings count" in first.stderr
    assert torchport("check", "--select", "TP101", "--baseline", "base.json").returncode == 0
    # Moved is not new.
    path.write_text("import os\n\n\n" + TIE)
    assert torchport("check", "--select", "TP101", "--baseline", "base.json").returncode == 0
    # The same line once more is.
    path.write_text(TIE + TIE)
    again = torchport("check", "--select", "TP101", "--baseline", "base.json", "--format", "json")
    assert again.returncode == 1
    assert len(findings(again)) == 1
    # What is gone leaves the file: it cannot come back.
    path.write_text(CLEAN)
    assert torchport("check", "--select", "TP101", "--baseline", "base.json").returncode == 0
    assert json.loads((torchport.folder / "base.json").read_text())["findings"] == []
    path.write_text(TIE)
    assert torchport("check", "--select", "TP101", "--baseline", "base.json").returncode == 1
    torchport.write("base.json", "{}")
    assert "not a baseline" in torchport("check", "--baseline", "base.json").stderr


def test_package_by_name(torchport) -> None:
    site = torchport.folder / "venv/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (site / "legacy_net").mkdir()
    (site / "legacy_net/model.py").write_text(TIE)
    run = torchport(
        "check",
        "--format",
        "json",
        "--package",
        "legacy_net",
        env={"VIRTUAL_ENV": str(site.parents[2])},
    )
    assert findings(run)[0]["path"].endswith("legacy_net/model.py")


def test_same_bytes_with_any_number_of_threads(torchport) -> None:
    for i in range(60):
        torchport.write(f"p{i % 7}/m{i}.py", TIE * (i % 5 + 1))
    for form in ("json", "text", "github"):
        outputs = {
            torchport("check", "--no-cache", "--format", form, "-j", n).stdout for n in (1, 2, 8)
        }
        assert len(outputs) == 1


def test_cache_changes_nothing_but_time(torchport) -> None:
    torchport.write("a.py", TIE)
    cold = torchport("check", "--format", "json").stdout
    assert torchport("check", "--format", "json").stdout == cold
    torchport.write("a.py", CLEAN)
    assert findings(torchport("check", "--format", "json")) == []
    torchport.write("a.py", TIE)
    assert torchport("check", "--format", "json", "--select", "TP302").stdout != cold
    # A cache that is garbage is an empty cache.
    for database in (torchport.folder.parent / "cache").glob("*.sqlite"):
        database.write_bytes(b"no database" * 100)
    assert torchport("check", "--format", "json").stdout == cold
    assert (
        torchport("check", "--format", "json", env={"TORCHPORT_CACHE_DIR": "/proc/no"}).stdout
        == cold
    )


def test_rules_and_pages(torchport) -> None:
    table = torchport("rules").stdout
    codes = [
        word for line in table.splitlines() for word in line.split()[:1] if word.startswith("TP")
    ]
    assert len(codes) == len(set(codes)) >= 30
    for code in codes:
        page = torchport("explain", code)
        assert (
            page.returncode == 0
            and f"# {code} " in page.stdout
            and "## Why is this bad?" in page.stdout
        )
    assert torchport("explain", "cuda-call").stdout == torchport("explain", "TP101").stdout


def test_interrupt_ends_the_run(torchport) -> None:
    big = "import torch\n" + "x = [torch.ones(1).cuda() for _ in range(3)]\n" * 20000
    for i in range(12):
        torchport.write(f"m{i}.py", big)
    words = ["check", "--no-cache", "-j", "1", "--statistics"]
    process = subprocess.Popen(
        [torchport.program, *words], cwd=torchport.folder, stdout=subprocess.PIPE, text=True
    )
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Interrupted" in out


def test_a_closed_pipe_is_quiet(torchport) -> None:
    torchport.write("a.py", TIE * 3000)
    process = subprocess.Popen(
        [torchport.program, "check", "--no-cache"],
        cwd=torchport.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=20) in (-signal.SIGPIPE, 1)


def test_notebook(torchport) -> None:
    cells = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": ["import torch\n", "x = torch.ones(1).cuda()"],
        }
    ]
    torchport.write(
        "a.ipynb",
        json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1),
    )
    (finding,) = findings(torchport("check", "--format", "json", "--select", "TP101"))
    line = (torchport.folder / "a.ipynb").read_text().splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 :].startswith("cuda()")


def test_unreadable_things_do_not_stop_the_rest(torchport) -> None:
    torchport.write("a.py", TIE)
    os.mkfifo(torchport.folder / "b.py")
    (torchport.folder / "c.py").symlink_to("missing.py")
    (torchport.folder / "loop").symlink_to(".")
    run = torchport("check", "--format", "json")
    assert {f["path"] for f in findings(run)} == {"a.py"}

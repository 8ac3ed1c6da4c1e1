"""The plugin that hands out files by their recorded seconds, with real processes of pytest-xdist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

# Each test notes when it ran, and in which process.
CONFTEST = """
import json, os, time
from pathlib import Path
import pytest
pytest_plugins = ("device_modules", "longest_first")

@pytest.fixture(autouse=True)
def span(request):
    started = time.monotonic()
    yield
    row = [started, time.monotonic(), os.environ["PYTEST_XDIST_WORKER"], request.node.nodeid]
    with (Path(request.config.rootpath) / "spans").open("a") as file:
        file.write(json.dumps(row) + "\\n")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST)
    markers = "markers =\n  alone(beside)\n  split\n"
    markers += "addopts = -p no:asyncio -p no:pytest-lsp\n"  # they take a second of each process
    pytester.makeini(f"[pytest]\npythonpath = {Path(__file__).parent}\n{markers}")
    (pytester.path / "tests").mkdir()
    return pytester


def sleeping(count: int, seconds: float, mark: str = "") -> str:
    text = f"import time, pytest\n{mark}\n"
    for number in range(count):
        text += f"def test_{number}(): time.sleep({seconds})\n"
    return text


def spans(project: pytest.Pytester) -> list[tuple[float, float, str, str]]:
    rows = [json.loads(line) for line in (project.path / "spans").read_text().splitlines()]
    return sorted((start, end, worker, test) for start, end, worker, test in rows)


def beside(project: pytest.Pytester, name: str) -> set[str]:
    """The files of which a test ran in another process at the time of one of this file."""
    rows = spans(project)
    return {
        other.partition(".py")[0]
        for start, end, worker, test in rows
        if test.startswith(name)
        for other_start, other_end, other_worker, other in rows
        if other_worker != worker and other_start < end and start < other_end
    }


def test_files_run_longest_first_and_what_must_be_alone_last(project) -> None:
    project.makepyfile(
        test_a=sleeping(1, 0.1),
        test_b=sleeping(6, 0.1),
        test_c=sleeping(3, 0.1, "pytestmark = pytest.mark.alone"),
        test_d=sleeping(3, 0.1, "pytestmark = pytest.mark.alone('folder')"),
        test_e=sleeping(3, 0.1, "pytestmark = pytest.mark.alone('folder')"),
        test_f="import pytest\n@pytest.mark.alone\ndef test_f(): pass\ndef test_g(): pass\n",
        test_g=sleeping(3, 0.1),
    )
    path = project.path / "tests" / "durations.json"
    path.write_text(
        json.dumps({"test_a.py": 9, "test_b.py": 0.6, "test_f.py": 0.1, "test_g.py": 3})
    )
    before = path.read_text()
    done = project.runpytest_subprocess("-n", "2")
    done.assert_outcomes(passed=21)
    assert path.read_text() == before, "written only where it is asked for"
    order = list(dict.fromkeys(test.partition(".py")[0] for *_, test in spans(project)))
    firsts = dict(reversed([(worker, test[:6]) for *_, worker, test in spans(project)]))
    assert set(firsts.values()) == {"test_a", "test_g"}
    assert set(order[-3:]) <= {
        "test_c",
        "test_d",
        "test_e",
        "test_f",
    }
    assert not beside(project, "test_c")
    assert beside(project, "test_d") == {"test_e"}
    assert "test_f" not in beside(project, "test_c")
    assert spans(project)[-1][3].startswith(("test_c", "test_f.py::test_f"))
    for name in "abcdefg":
        workers = {worker for *_, worker, test in spans(project) if test.startswith(f"test_{name}")}
        assert len(workers) == 1 or name == "f"


def test_seconds_are_recorded(project) -> None:
    project.makepyfile(test_a=sleeping(2, 0.2), test_b=sleeping(1, 0.1))
    path = project.path / "tests" / "durations.json"
    path.write_text(json.dumps({"test_a.py": 9, "test_gone.py": 3, "conftest.py": 5}))
    project.runpytest_subprocess(
        "-n", "1", "--dist", "loadfile", "--record-durations"
    ).assert_outcomes(passed=3)
    rows = json.loads(path.read_text())
    before = path.read_text()
    project.makepyfile(test_c="def test_a(): assert 0\ndef test_b(): pass\n")
    done = project.runpytest_subprocess("-n", "1", "--record-durations", "-x")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert path.read_text() == before, "a run that was interrupted says nothing"
    assert list(rows) == ["conftest.py", "test_a.py", "test_b.py"]
    assert (
        0.4 <= rows["test_a.py"] < 2 and 0.1 <= rows["test_b.py"] < 1 and rows["conftest.py"] == 5
    )


def test_a_module_with_devices_is_one_unit(project) -> None:
    """Its tests run in one inner process, so that one that must be alone makes all of them so."""
    module = "import pytest\npytestmark = pytest.mark.devices(None)\n"
    module += "def test_a(): pass\n@pytest.mark.alone\ndef test_b(): pass\n"
    project.makeconftest(CONFTEST.replace('os.environ["PYTEST_XDIST_WORKER"]', '"inner"'))
    project.makepyfile(test_a=module, test_b=sleeping(8, 0.2))
    project.runpytest_subprocess("-n", "2").assert_outcomes(passed=10)
    last = spans(project)[-2:]
    assert [test for *_, test in last] == ["test_a.py::test_a", "test_a.py::test_b"]
    assert last[0][0] >= max(end for _, end, _, test in spans(project) if "test_b.py" in test)


def test_what_runs_is_told_when_no_test_ends(project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHPORT_TESTS_TELL", "0.5")
    project.makepyfile(test_a=sleeping(1, 3), test_b=sleeping(1, 0))
    done = project.runpytest_subprocess("-n", "1", "-q")
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["   running: test_a.py; 0 files wait"])


def test_a_module_may_be_split(project) -> None:
    project.makepyfile(test_a=sleeping(6, 0.2, "pytestmark = pytest.mark.split"))
    project.runpytest_subprocess("-n", "2").assert_outcomes(passed=6)
    assert len({worker for *_, worker, _ in spans(project)}) == 2


def test_a_process_that_ends_is_replaced(project) -> None:
    crash = "import os\ndef test_0(): pass\ndef test_1(): os.abort()\ndef test_2(): pass\n"
    project.makepyfile(
        test_a=crash,
        test_b=sleeping(3, 0.2),
        test_c=sleeping(2, 0.1, "pytestmark = pytest.mark.alone"),
    )
    done = project.runpytest_subprocess("-n", "2")
    done.assert_outcomes(passed=7, failed=1)
    done.stdout.fnmatch_lines(["*test_a.py::test_1*"])
    assert not beside(project, "test_c")


def test_no_test_and_a_module_that_cannot_be_imported(project) -> None:
    project.makepyfile(test_a="def test_a(): pass\n")
    assert (
        project.runpytest_subprocess("-n", "2", "-k", "no_such").ret
        == pytest.ExitCode.NO_TESTS_COLLECTED
    )
    project.makepyfile(test_b="import no_such_module\n")
    project.runpytest_subprocess("-n", "2").assert_outcomes(passed=1, errors=1)


@pytest.mark.parametrize("words", [["-p", "no:xdist"], ["-n", "2", "--dist", "worksteal"]])
def test_other_ways_to_run_are_as_always(project, words: list[str]) -> None:
    project.makeconftest('pytest_plugins = ("longest_first",)\n')
    project.makepyfile(
        test_a=sleeping(2, 0, "pytestmark = pytest.mark.alone"), test_b=sleeping(2, 0)
    )
    project.runpytest_subprocess(*words).assert_outcomes(passed=4)

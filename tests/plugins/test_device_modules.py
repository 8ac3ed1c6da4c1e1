"""The plugin that runs test modules in a process with virtual devices."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

MODULE = """
import os, sys
import pytest

pytestmark = pytest.mark.devices("cuda:2")

def test_passes():
    import torch
    assert torch.cuda.device_count() == 2
    assert os.environ["OMP_NUM_THREADS"] == "1"

def test_fails():
    seen = 3
    assert seen == 4, "this is told"

@pytest.mark.skip(reason="not today")
def test_is_skipped():
    raise AssertionError

@pytest.mark.xfail(strict=True)
def test_is_expected_to_fail():
    raise AssertionError

@pytest.mark.alone
@pytest.mark.parametrize("number", [1, 2, 3])
def test_numbers(number):
    assert number != 2
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose tests the plugin runs."""
    pytester.makeconftest('pytest_plugins = ("device_modules",)\n')
    pytester.makeini(f"[pytest]\npythonpath = {Path(__file__).parent}\nmarkers = alone\n")
    return pytester


def run(project: pytest.Pytester, module: str, *words: str) -> pytest.RunResult:
    project.makepyfile(test_module=textwrap.dedent(module))
    return project.runpytest_subprocess("-rs", "-p", "no:xdist", *words)


def test_each_test_reports_what_the_inner_one_reported(project) -> None:
    done = run(project, MODULE)
    done.assert_outcomes(passed=3, failed=2, skipped=1, xfailed=1)
    done.stdout.fnmatch_lines(["*_ test_numbers?2? _*"])
    done.stdout.fnmatch_lines(["*seen = 3*", "E * AssertionError: this is told*"])
    done.stdout.fnmatch_lines(["SKIPPED*test_module.py*not today"])


@pytest.mark.parametrize(
    ("words", "outcomes"),
    [
        (["-k", "passes"], {"passed": 1, "deselected": 4}),
        (["-m", "alone"], {"passed": 2, "failed": 1, "deselected": 4}),
        (["-m", "not alone"], {"passed": 1, "failed": 1, "skipped": 1, "xfailed": 1, "deselected": 1}),
        (["test_module.py::test_fails"], {"failed": 1}),
        (["test_module.py::test_numbers[3]"], {"passed": 1}),
        (["-p", "xdist", "-n", "1", "--dist", "loadfile"], {"passed": 3, "failed": 2, "skipped": 1, "xfailed": 1}),
    ],
)  # fmt: skip
def test_tests_are_selected_as_always(project, words, outcomes) -> None:
    project.makepyfile(test_module=MODULE)
    project.runpytest_subprocess(*words).assert_outcomes(**outcomes)


def test_a_crash_fails_what_did_not_run_to_its_end(project) -> None:
    module = """
        import os
        import pytest

        pytestmark = pytest.mark.devices(None)

        def test_before(): pass

        @pytest.mark.parametrize("number", [1, 2, 3])
        def test_crash(number):
            print("printed before the crash")
            if number == 2: os.abort()

        def test_after(): pass
    """
    done = run(project, module)
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            "*test_crash?2?, *test_crash?3? did not run to its end: the inner pytest ended with exit status -6",
            "*Fatal Python error: Aborted*",
            "*test_after did not run to its end: the inner pytest ended with exit status -6",
        ]
    )


def test_a_module_that_takes_too_long_is_stopped(project) -> None:
    module = """
        import time, pytest
        pytestmark = [pytest.mark.devices(None, timeout=3)]

        def test_sleeps(): time.sleep(60)
    """
    done = run(project, module)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        ["*test_sleeps did not*: the inner pytest was stopped after 3 seconds"]
    )


def test_a_module_on_several_devices_runs_on_each(project) -> None:
    module = """
        import pytest, helper
        pytestmark = pytest.mark.devices("cuda:1", None, memory="64MiB")

        def test_devices():
            assert helper.torch.cuda.is_available()

        @pytest.mark.parametrize("number", [1, 2])
        def test_memory(number):
            if helper.torch.cuda.is_available():
                assert helper.torch.cuda.mem_get_info()[1] == 64 << 20
    """
    project.makepyfile(helper="import torch\n")
    done = run(project, module, "-v")
    done.assert_outcomes(passed=5, failed=1)
    done.stdout.fnmatch_lines(["*test_devices?cuda:1? PASSED*", "*test_devices?cpu? FAILED*"])
    done.stdout.fnmatch_lines(["*test_memory?cpu? PASSED*"])


def test_a_module_that_cannot_be_imported(project) -> None:
    module = """
        import pytest
        pytestmark = pytest.mark.devices(None)
        {}
        def test_one(): pass
        def test_two(): pass
    """
    done = run(project, module.format("import no_such_module"))
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*No module named 'no_such_module'*"])
    done = run(project, module.format("pytest.importorskip('no_such_module', reason='not there')"))
    done.assert_outcomes(skipped=2)
    done.stdout.fnmatch_lines(["SKIPPED*not there*"])


def test_the_module_is_not_imported_by_the_runner(project) -> None:
    module = """
        import os, sys, pytest
        pytestmark = pytest.mark.devices(None)
        assert int(os.environ["RUNNER"]) != os.getpid()

        def test_it(): pass
    """
    conftest = project.path / "conftest.py"
    runner = '\nimport os\nos.environ.setdefault("RUNNER", str(os.getpid()))\n'
    conftest.write_text(conftest.read_text() + runner)
    run(project, module).assert_outcomes(passed=1)
    classes = "import pytest\npytestmark = pytest.mark.devices(None)\nclass TestIt: pass\n"
    done = run(project, classes)
    done.stdout.fnmatch_lines(["*TestIt: a module with devices has functions only*"])

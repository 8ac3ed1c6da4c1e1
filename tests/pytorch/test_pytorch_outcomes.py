"""The outcomes of PyTorch's tests are counted as they are meant."""

from __future__ import annotations

from dataclasses import asdict

import pytest
import pytorch_page
from pytorch_names import neutral
from pytorch_outcomes import by_cause, compare, last_words
from suite_outcomes import Known, Outcome

PASSED, SKIPPED = Outcome("passed"), Outcome("skipped", "no cuDNN")


def failed(words: str) -> Outcome:
    return Outcome("failed", f"RuntimeError: x\nsource line\nE   RuntimeError: {words}\n\nfile:3")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("test_a.TestACUDA::test_b_cuda", "test_a.TestACPU::test_b_cpu"),
        ("test_a.TestACUDA::test_b_cuda_float32", "test_a.TestACPU::test_b_cpu_float32"),
        ("t.TestCUDA::test_cuda_to_cpu_cuda_int8", "t.TestCPU::test_cuda_to_cpu_cpu_int8"),
        ("t.py::TestACUDA::test_b_cuda", "t.py::TestACPU::test_b_cpu"),
    ],
)
def test_the_tests_made_of_one_have_the_same_neutral_name(one: str, other: str) -> None:
    assert neutral(one) == neutral(other)


def test_different_tests_have_different_neutral_names() -> None:
    names = ["A::test_b", "ACUDA::test_b_cuda", "ACUDA::test_c_cuda", "BCUDA::test_b_cuda"]
    assert len({neutral(name) for name in names}) == len(names)


def test_each_test_is_counted_in_one_place() -> None:
    cpu = {
        "t.ACPU::test_good_cpu": PASSED,
        "t.ACPU::test_broken_cpu": PASSED,
        "t.ACPU::test_lost_cpu": PASSED,
        "t.ACPU::test_both_cpu": failed("both"),
        "t.ACPU::test_mended_cpu": failed("on the CPU"),
        "t.ACPU::test_cuda_only_cpu": SKIPPED,
    }
    cuda = {
        "t.ACUDA::test_good_cuda": PASSED,
        "t.ACUDA::test_broken_cuda": failed("wrong 17"),
        "t.ACUDA::test_lost_cuda": SKIPPED,
        "t.ACUDA::test_both_cuda": failed("both"),
        "t.ACUDA::test_mended_cuda": PASSED,
        "t.ACUDA::test_cuda_only_cuda": PASSED,
        "t.TestCuda::test_refused": failed("torchport: virtual devices do not support x: no GPU"),
        "t.TestCuda::test_known": failed("a known one"),
        "t.TestCuda::test_new": failed("new"),
    }
    known = [Known("t.py", "*test_known", "device", "a reason", "known one")]
    found = compare("t.py", cpu, cuda, known)
    assert found.on_cpu.passed == 1
    assert found.on_cpu.skipped == 1
    assert list(found.on_cpu.failed) == ["t.ACUDA::test_broken_cuda"]
    assert found.on_cpu.share() == 0.5
    assert found.only_cuda.passed == 1
    assert list(found.only_cuda.refused) == ["t.TestCuda::test_refused"]
    assert found.only_cuda.known == {"t.TestCuda::test_known": "a reason"}
    assert list(found.only_cuda.failed) == ["t.TestCuda::test_new"]
    assert found.fail_on_both == ["t.ACUDA::test_both_cuda"]
    assert found.mended == ["t.ACUDA::test_mended_cuda"]
    assert found.skip_reasons == {"no cuDNN": 1}


def test_failures_that_say_the_same_are_one_cause() -> None:
    failures = {"a": failed("size 3 of 'x'").message, "b": failed("size 44 of 'yy'").message}
    failures["c"] = failed("other").message
    assert by_cause(failures) == [
        ("RuntimeError: size N of '..'", ["a", "b"]),
        ("RuntimeError: other", ["c"]),
    ]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "AssertionError: x\n>  assert 1\nE   AssertionError: Scalars differ\nE   \nE   more",
            "AssertionError: Scalars differ",
        ),
        ("worker 'gw0' crashed while running 'x'", "worker 'gw0' crashed while running 'x'"),
        ("", ""),
    ],
)
def test_the_line_that_says_what_went_wrong(message: str, words: str) -> None:
    assert last_words(message) == words


def test_the_table_has_a_row_for_each_file_and_the_sums() -> None:
    cuda = {"t.TestCuda::test_a": PASSED, "t.TestCuda::test_b": failed("new")}
    found = asdict(compare("t.py", {}, cuda, []))
    entries = [{"name": name, "parts": 2, "found": found} for name in ("t.py", "u.py")]
    lines = pytorch_page.table(entries)
    assert lines[2] == "| t.py 1/2 | 0 | 0 | 0 | 0 |  | 1 | 1 | 0 | 0 | 50.0 % |"
    assert lines[-1] == "| all | 0 | 0 | 0 | 0 |  | 2 | 2 | 0 | 0 | 50.0 % |"
    assert "2 passed, 2 failed" in pytorch_page.sums(entries)[1]

"""The count of assertions, by which a change of the tests shows that it lost none."""

from __future__ import annotations

import count_assertions
import pytest

PYTHON = '''
import pytest
from torch.testing import assert_close

def helper(x):
    assert x, "not a comment: assert 1"

async def test_a():
    """assert nothing"""
    with pytest.raises(ValueError): int("x")
    assert_close(1, 1); torch.testing.assert_close(1, 1)
    assert_type(1, int)  # mypy reads it; when the program runs it does nothing
    one.raises(2)

class TestB:
    def test_b(self):
        pytest.fail("x") if 0 else None
        assert 1 and 2
'''

CPP = """
TEST_CASE("a") {
  CHECK(1 == 1);
  REQUIRE_FALSE (x); CHECK_THROWS_AS(f(), Error);
  if (y) FAIL("x");
  MY_CHECK(1); CHECKED(2);
}
TEST_CASE_TEMPLATE("b", T, int) {}
"""


@pytest.mark.parametrize(
    ("path", "text", "numbers"),
    [
        ("tests/a/test_a.py", PYTHON, [0, 0, 0, 1, 2, 2, 4]),
        ("tests/a/programs/a.py", PYTHON, [0, 0, 0, 0, 0, 2, 4]),
        ("tests/a/test_broken.py", "def (", [0, 0, 0, 1, 0, 0, 0]),
        ("python/torchport/a.py", PYTHON, [0] * 7),
        ("src/a/a_test.cpp", CPP, [2, 4, 0, 0, 0, 0, 0]),
        ("src/a/a.cpp", CPP, [0] * 7),
        ("src/source/rules/x/y/page.md", "```python hit\n```\n```python fixed a=1\n```\n```console\n", [0, 0, 2, 0, 0, 0, 0]),
        ("docs/page.md", "```python hit\n", [0] * 7),
    ],
)  # fmt: skip
def test_what_counts(path: str, text: str, numbers: list[int]) -> None:
    found = count_assertions.count([(path, text)])
    assert [found[row] for row in count_assertions.ROWS] == numbers


def test_this_tree_and_a_commit(capsys: pytest.CaptureFixture[str]) -> None:
    assert count_assertions.main([]) == 0
    rows = capsys.readouterr().out.splitlines()
    numbers = {row[:20].strip(): int(row[20:]) for row in rows[1:]}
    assert list(numbers) == list(count_assertions.ROWS) and min(numbers.values()) > 200
    assert count_assertions.main(["HEAD", "HEAD"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["HEAD", "HEAD"]
    for row in rows:
        one, other = row[20:].split()
        assert one == other != "0"

"""What rounds of times say, how the functions of a benchmark are named, and the report's text."""

from __future__ import annotations

import pytest
from torchport.deploy.bench.measuring import benchmark, importable
from torchport.deploy.bench.page import page
from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow, rate
from torchport.deploy.bench.statistics import quantile, ranks, ratio

pytestmark = pytest.mark.devices(None)

SLOW = [[2.0], [20.0], [2.0, 2.0, 9.0]]
FAST = [[1.0], [10.0], [1.0]]


def model() -> None: ...


def test_quantiles() -> None:
    assert quantile([3, 1, 2], 0.5) == 2 and quantile([1, 2], 0.9) == 1.9
    assert quantile([7], 0.99) == 7


def test_a_slow_round_is_slow_for_both_sides_of_a_ratio() -> None:
    found = ratio(SLOW, FAST)
    assert (found.median, found.low, found.high) == (2, 2, 2) and found.clear
    assert not ratio([[1.0], [2.0], [1.0]], [[2.0], [1.0], [1.0]]).clear
    assert ratio(FAST, SLOW).clear


def test_ranks() -> None:
    # Twice as fast is another rank; what goes either way shares one, and the next rank counts all.
    even, other = [[1.0], [1.1], [0.9]], [[1.1], [1.0], [1.0]]
    assert ranks([[[2.0]] * 3, even, other, [[3.0]] * 3]) == [3, 1, 1, 4]
    # The first has the smaller times, yet loses wherever both ran.
    assert ranks([[[2.0], [20.0], [2.0]], [[1.0], [10.0], [1.0]]]) == [2, 1]


def test_names_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert importable("a.b:c") == "a.b:c"
    assert importable(quantile) == "torchport.deploy.bench.statistics:quantile"
    with pytest.raises(ValueError, match="separate processes"):
        importable(lambda: None)
    monkeypatch.setattr(model, "__module__", "__main__")  # as in a program
    assert importable(model) == f"{__file__}:model"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"modes": ["fast"]}, "no mode fast; the modes are train, eval"),
        ({"modes": []}, "no mode"),
        ({"batches": [0]}, "at least 1"),
    ],
)
def test_what_cannot_be_measured(options: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        benchmark("a:b", "a:c", **options)


def test_the_report_as_text() -> None:
    report = BenchmarkReport("m", "cpu", "a CPU", "2", 1, 3, True, "eval")
    report.rows = [
        BenchmarkRow("eval", "eval", 1, p50=0.5, p90=2, p99=3, throughput=2, rank=2, peak=2**20),
        BenchmarkRow("onnx", "ONNX", 1, p50=0.25, against=ratio(SLOW, FAST), rank=1),
        BenchmarkRow("aoti", "AOTI", 1, "failed", "no compiler"),
        BenchmarkRow(
            "no_grad", "no_grad", 1, against=ratio([[1.0], [2.0]], [[2.0], [1.0]]), rank=2
        ),
    ]
    text = str(report).splitlines()
    assert text[2] == "batch 1" and text[3].split()[:3] == ["mode", "peak", "MiB"]
    assert text[4].split() == ["eval", "1", "500", "2000", "3000", "2", "(0-0)", "2"]
    assert "2.00x (2.00-2.00)" in text[5] and text[5].endswith(" 1")
    assert text[6] == "AOTI     failed: no compiler"
    assert "same (0.65-1.85)" in text[7], text[7]
    assert report.row("aoti").reason == "no compiler"


def test_large_numbers_have_no_exponent() -> None:
    assert [rate(n) for n in (0.012345, 9.8765, 999.99, 1000, 23114.6)] == [
        "0.01235",
        "9.877",
        "1,000",
        "1,000",
        "23,115",
    ]


def test_bars_and_their_labels_fit_the_page() -> None:
    report = BenchmarkReport("m", "cpu", "a CPU", "2", 1, 3, True, "eval")
    report.rows = [
        BenchmarkRow(
            "eval", "eval", 1, throughput=50, throughput_low=40, throughput_high=80, peak=2**20
        ),
        BenchmarkRow(
            "no_grad", "no_grad", 1, throughput=100, throughput_low=90, throughput_high=100
        ),
    ]
    text = page(report)
    assert text.count('class="bar"') == 4 and text.count('class="whisker"') == 2
    assert 'width="35.00%"' in text and 'x="56.00%" dx="8" y="16">50</text>' in text

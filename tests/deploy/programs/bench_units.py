"""What rounds of times say, and how the functions of a benchmark are named."""

from __future__ import annotations

from torchport.deploy.bench.measuring import benchmark, importable
from torchport.deploy.bench.report import Report, Row
from torchport.deploy.bench.statistics import quantile, ranks, ratio


def raises(text: str, call) -> None:  # type: ignore[no-untyped-def]
    try:
        call()
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no ValueError: {text}")


def model() -> None: ...


assert quantile([3, 1, 2], 0.5) == 2 and quantile([1, 2], 0.9) == 1.9 and quantile([7], 0.99) == 7

# A slow round is slow for both: the ratio does not see it.
slow = [[2.0], [20.0], [2.0, 2.0, 9.0]]
fast = [[1.0], [10.0], [1.0]]
found = ratio(slow, fast)
assert (found.median, found.low, found.high) == (2, 2, 2) and found.clear
assert not ratio([[1.0], [2.0], [1.0]], [[2.0], [1.0], [1.0]]).clear
assert ratio(fast, slow).clear

# Twice as fast is another rank; what goes either way shares one, and the next rank counts all.
even, other = [[1.0], [1.1], [0.9]], [[1.1], [1.0], [1.0]]
assert ranks([[[2.0]] * 3, even, other, [[3.0]] * 3]) == [3, 1, 1, 4]
# The first has the smaller times, yet loses wherever both ran.
assert ranks([[[2.0], [20.0], [2.0]], [[1.0], [10.0], [1.0]]]) == [2, 1]

assert importable(model) == f"{__file__}:model"
assert importable("a.b:c") == "a.b:c"
assert importable(quantile) == "torchport.deploy.bench.statistics:quantile"
raises("separate processes", lambda: importable(lambda: None))
raises("no mode fast; the modes are train, eval", lambda: benchmark("a:b", "a:c", modes=["fast"]))
raises("no mode", lambda: benchmark("a:b", "a:c", modes=[]))
raises("at least 1", lambda: benchmark("a:b", "a:c", batches=[0]))

report = Report("m", "cpu", "a CPU", "2", 1, 3, True, "eval")
report.rows = [
    Row("eval", "eval", 1, p50=0.5, p90=2, p99=3, throughput=2, rank=2, peak=2**20),
    Row("onnx", "ONNX", 1, p50=0.25, against=ratio(slow, fast), rank=1),
    Row("aoti", "AOTI", 1, "failed", "no compiler"),
    Row("no_grad", "no_grad", 1, against=ratio([[1.0], [2.0]], [[2.0], [1.0]]), rank=2),
]
text = str(report).splitlines()
assert text[2] == "batch 1" and text[3].split()[:3] == ["mode", "peak", "MiB"]
assert text[4].split() == ["eval", "1", "500", "2000", "3000", "2", "(0-0)", "2"]
assert "2.00x (2.00-2.00)" in text[5] and text[5].endswith(" 1")
assert text[6] == "AOTI     failed: no compiler"
assert "same (0.65-1.85)" in text[7], text[7]
assert report.row("aoti").reason == "no compiler"
print("passed")

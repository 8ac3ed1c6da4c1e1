"""What rounds of times say, how the functions of a benchmark are named, and the report's text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from torchport.deploy.bench.earlier import compare, read
from torchport.deploy.bench.measuring import benchmark, importable
from torchport.deploy.bench.page import page
from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow
from torchport.deploy.bench.statistics import quantile, ranks, ratio, spread
from torchport.deploy.bench.text import rate

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


def test_one_round_has_no_spread_and_decides_nothing() -> None:
    assert spread([2.0]) == (None, None) and spread([1.0, 2.0]) == (1.1, 1.9)
    found = ratio(SLOW[:1], FAST[:1])
    assert (found.median, found.spread) == (2, None) and not found.clear
    assert ranks([SLOW[:1], FAST[:1]]) == [0, 0]


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
    assert text[4].split() == ["eval", "1", "500", "2000", "3000", "2", "2"]
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


def measured(
    mode: str, speed: float, off: float | None = None, *, peak: int = 2**20, batch: int = 1
) -> BenchmarkRow:
    """A row of a mode whose rounds were all within ``off`` samples per second."""
    row = BenchmarkRow(mode, mode, batch, throughput=speed, peak=peak, steps=9)
    row.p10, row.p50, row.p90, row.p99 = (share / speed for share in (0.9, 1, 1.5, 2))
    if off is not None:
        row.throughput_low, row.throughput_high = speed - off, speed + off
    return row


def a_report(*rows: BenchmarkRow, rounds: int = 3) -> BenchmarkReport:
    report = BenchmarkReport("m", "cpu", "a CPU", "2", 1, rounds, True, "eval")
    report.rows = list(rows)
    return report


def test_one_round_has_no_interval_in_any_report() -> None:
    report = a_report(measured("eval", 50), measured("onnx", 100), rounds=1)
    for row in report.rows:
        row.against = ratio([[1.0]], [[50 / row.throughput]])
    text = str(report)
    assert ", one round," in text and "One round has no spread" in text and "rank " not in text
    assert "2.00x" in text and not re.search(r"\(\S+-\S+\)", text), text
    rows = json.loads(report.as_json())["rows"]
    assert rows[0]["throughput_low"] is None and rows[1]["against"]["high"] is None
    assert rows[1]["against"]["clear"] is False
    written = page(report)
    assert "whisker" not in written.split("</style>")[1] and ">rank<" not in written


def cells(written: str) -> list[list[str]]:
    """The text of the cells of the table's rows, and the width of a bar that stands in one."""
    body = written.split("<tbody>")[1].split("</tbody>")[0]
    found = []
    for row in body.split("</tr>")[:-1]:
        texts = []
        for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S):
            bar = re.search(r'class="bar" width="([^"]*)"', cell)
            words = " ".join(re.sub(r"<[^>]*>", "", cell).split())
            texts.append(f"{words} [{bar[1]}]" if bar else words)
        found.append(texts)
    return found


def test_the_table_of_the_page_is_sorted_and_its_bars_have_one_scale() -> None:
    failed = BenchmarkRow("aoti", "AOTI", 1, "failed", "no <compiler>")
    report = a_report(
        failed,
        measured("eval", 50, 10, peak=2**21),
        measured("no_grad", 100, 25),
        measured("train", 10, 0, peak=2**22),
    )
    rows = cells(page(report))
    assert [row[0] for row in rows] == ["no_grad", "eval", "train", "AOTI"]
    assert [row[1] for row in rows[:3]] == [
        "100 (75-125) [80.00%]",  # the scale ends with the highest end of an interval
        "50 (40-60) [40.00%]",
        "10 (10-10) [8.00%]",
    ]
    assert [row[-1] for row in rows[:3]] == ["1 [25.00%]", "2 [50.00%]", "4 [100.00%]"]
    assert rows[3][1:] == ["failed: no &lt;compiler&gt;"]
    # Without times, the smallest is the first.
    report.timed = False
    assert [row[0] for row in cells(page(report))] == ["no_grad", "eval", "train", "AOTI"]
    report.rows.reverse()
    assert [row[1] for row in cells(page(report))][:2] == ["1 [25.00%]", "2 [50.00%]"]


def test_the_plot_of_latencies() -> None:
    slow, once = measured("eval", 50, 1), measured("onnx", 100, 1)
    once.steps, once.p99 = 1, once.p50
    written = page(a_report(slow, once)).split('class="plot"')[1]
    strips = written.split('class="strip')
    assert "onnx: 10 ms, one step" in strips[1] and 'class="box"' not in strips[1]
    assert 'class="mark" x1="18.75%"' in strips[1]
    assert "eval: 20 ms" in strips[2] and 'class="box" x="33.75%" width="22.50%"' in strips[2]
    assert 'x1="56.25%" x2="75.00%"' in strips[2], "the slowest step ends the line"
    assert re.findall(r">(\d+)</text>", strips[3]) == ["0", "10", "20", "30", "40"]


def test_against_an_earlier_run(tmp_path: Path) -> None:
    old = a_report(measured("eval", 50, 5), measured("onnx", 100, 5), measured("aoti", 70, 5))
    old.rows += [BenchmarkRow("compile", "compile", 1, "failed", "no compiler")]
    old.rows += [measured("eval", 10, 1, batch=8)]
    (tmp_path / "old.json").write_text(old.as_json())
    now = a_report(
        measured("eval", 51, 5, peak=3 * 2**19),
        measured("onnx", 125, 5),
        measured("compile", 9, 1),
        measured("train", 9, 1),
        BenchmarkRow("aoti", "aoti", 1, "skipped", "not here"),
    )
    then = read(tmp_path / "old.json")
    compare(now, then, "old.json")
    lines = str(now).splitlines()
    assert re.search(r"within the spread \(0\.84-1\.24\) +1\.50x$", lines[4]), lines[4]
    assert re.search(r"1\.25x \(1\.14-1\.37\) +1\.00x$", lines[5]), lines[5]
    assert lines[6].endswith("failed then") and lines[7].endswith("not measured then")
    assert lines[-1] == "Measured only in old.json: aoti (batch 1), eval (batch 8)."
    assert not any("differ in more" in line for line in lines)
    rows = json.loads(now.as_json())["rows"]
    assert rows[0]["earlier"]["throughput"]["clear"] is False and rows[0]["earlier"]["peak"] == 1.5
    assert rows[1]["earlier"]["throughput"]["clear"] is True
    assert rows[2]["earlier"] == {"missing": "failed then", "throughput": None, "peak": None}
    assert json.loads(now.as_json())["earlier"]["file"] == "old.json"
    shown = {row[0]: row[-2:] for row in cells(page(now))}
    assert shown["eval"] == ["within the spread (0.84-1.24)", "1.50x"]
    assert shown["onnx"] == ["1.25x (1.14-1.37)", "1.00x"]
    assert "Measured only in old.json" in page(now)
    assert read(tmp_path / "old.json").as_json() == old.as_json(), "nothing is lost"


def test_an_earlier_run_on_another_machine_or_without_a_spread(tmp_path: Path) -> None:
    old = a_report(measured("eval", 50), rounds=1)
    old.device_name, old.torch, old.threads, old.model = "another CPU", "1", 4, "n"
    data = json.loads(old.as_json())
    # What a version wrote that gave a single round an interval.
    data["rows"][0] |= {"throughput_low": 50, "throughput_high": 50}
    del data["rows"][0]["p10"], data["rows"][0]["earlier"], data["earlier"]
    (tmp_path / "old.json").write_text(json.dumps(data))
    now = a_report(measured("eval", 100, 1))
    compare(now, read(tmp_path / "old.json"), "old.json")
    assert str(now).splitlines()[4].endswith("  2.00x          1.00x"), str(now)
    assert "it is not known what is chance" in str(now)
    assert (
        "The two runs differ in more than the code: another model: n then, m now; another device: "
        "cpu (another CPU) then, cpu (a CPU) now; another torch: 1 then, 2 now; another number of "
        "threads: 4 then, 1 now."
    ) in str(now)
    # Only memory, where one of the runs was on virtual devices.
    now = a_report(measured("eval", 100, 1))
    now.timed = False
    compare(now, read(tmp_path / "old.json"), "old.json")
    assert now.rows[0].earlier.throughput is None and "samples/s" not in str(now)
    assert str(now).splitlines()[4].endswith(" 1.00x")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file"),
        ("{", "it is not JSON"),
        ("[]", '"schema" is not 1'),
        ('{"schema": 2}', '"schema" is not 1'),
        ('{"schema": 1, "rows": []}', '"model" is missing or of another type'),
    ],
)
def test_what_is_no_earlier_run(tmp_path: Path, content: str | None, told: str) -> None:
    path = tmp_path / "old.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=re.escape(told)):
        benchmark("a:b", "a:c", against=path)
    report = json.loads(a_report(measured("eval", 1, 0)).as_json())
    report["rows"][0]["throughput"] = "fast"
    path.write_text(json.dumps(report))
    with pytest.raises(ValueError, match='"throughput" is missing or of another type'):
        read(path)

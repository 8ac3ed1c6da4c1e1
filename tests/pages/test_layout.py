"""Every page on a phone and on a wide screen: nothing sticks out, overlaps or is cut."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import forking
import pytest
from browser import WIDTHS, look, needs_chromium
from torchport.deploy.bench.earlier import compare
from torchport.deploy.bench.page import page as bench_page
from torchport.deploy.bench.report import BenchmarkReport, BenchmarkRow
from torchport.deploy.bench.statistics import Ratio
from torchport.virtual._watching import FORMATS

pytestmark = needs_chromium

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TORCHPORT = Path(os.environ.get("TORCHPORT_BINARY", Path(sys.executable).parent / "torchport"))
LONG = "a_module_with_a_name_that_is_longer_than_a_phone_is_wide_and_has_no_space"


def verify(folder: Path) -> str:
    path = folder / "verify.html"
    words = ["bert:BertModel", "--input", "bert:inputs", "--device", "cuda", "--eval"]
    env = os.environ | {"OMP_NUM_THREADS": "1", "TORCHPORT_VIRTUAL": "cuda:1"}
    run = subprocess.run(
        forking.command(["-m", "torchport.observe.command", *words, "--html", path], env),
        cwd=HERE / "programs",
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1 and "Mixed devices" in run.stdout, run.stdout + run.stderr
    return path.read_text()


def check(folder: Path) -> str:
    shutil.copytree(ROOT / "examples/legacy", folder / "legacy")
    (folder / f"{LONG}.py").write_text(
        f"import torch\n{LONG} = '{LONG * 4}'; x = torch.ones(1).cuda()\n"
    )
    run = subprocess.run(
        [TORCHPORT, "check", "--no-cache", "--format", "html"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    return run.stdout


# Names of modes, and samples per second, from the table of docs/bench.md.
SPEEDS = {
    "train + grad, SGD step": 4.305,
    "eval, graph recorded": 11.75,
    "inference + autocast bf16": 27.28,
    "channels_last + autocast + compile": 43.16,
    "ONNX Runtime": 23114.6,
}


def measured(rounds: int, faster: float) -> BenchmarkReport:
    report = BenchmarkReport(f"models.py:{LONG}", "cpu", "a CPU", "2.13.0", 2, rounds, True, "eval")
    for batch in (1, 32):
        for rank, (title, speed) in enumerate(SPEEDS.items(), 1):
            speed *= faster
            row = BenchmarkRow(title.split()[0], title, batch, throughput=speed, rank=rank)
            row.peak, row.steps = 2**28 * rank, 30
            row.p10, row.p50, row.p90, row.p99 = (n / speed for n in (0.9, 1, 1.2, 1.9))
            row.throughput_low, row.throughput_high = 0.8 * speed, 1.1 * speed
            row.against = Ratio(speed / 11.75, speed / 13, speed / 10)
            report.rows.append(row)
        report.rows.append(BenchmarkRow("aoti", "AOTInductor", batch, "failed", LONG * 2))
    return report


def bench() -> str:
    report = measured(5, 1.0)
    report.rows[0].throughput_low = report.rows[0].throughput_high = None
    compare(report, measured(5, 0.9), f"{LONG}.json")
    return bench_page(report)


def run() -> str:
    device = {"device": "cuda:0", "name": "a virtual device of the kind a100-80g", "memory": 80e9}
    device |= {"peak_allocated": 12345678, "peak_reserved": 22345678}
    transfer = {"kind": "to device", "count": 123456, "bytes": 1234567890}
    return FORMATS["html"](
        {
            "devices": [device, device],
            "transfers": [
                transfer | {"line": f"/a/folder/{LONG}/{LONG}.py:1234"},
                transfer | {"bytes": 0, "line": "a.py:1"},
            ],
            "random": "device",
            "errors": [],
            "streams": [f"cuda:0: stream 5 reads what stream 0 wrote at /a/{LONG}/{LONG}.py:1"],
            "operators": {f"aten::{LONG}.{n}": 30 - n for n in range(30)},
        }
    )


def plan(folder: Path) -> str:
    (folder / f"{LONG}.py").write_text(
        "import torch\n"
        "net = torch.nn.Sequential()\n"
        "for i in range(20):\n"
        f"    net.add_module(f'{LONG}_{{i}}', torch.nn.Linear(1024, 1024))\n"
        "net.cuda()\n"
        "while True:\n"
        "    kept = [net(torch.zeros(9999, 1024, device='cuda')) for _ in range(9)]\n"
        "    kept[0].sum().item()\n"
    )
    words = ["--memory", "2GiB", "--html", "plan.html", f"{LONG}.py"]
    run = subprocess.run(
        [TORCHPORT, "plan", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    return (folder / "plan.html").read_text()


VERIFY = """
const graph = document.querySelector("#graph").getBoundingClientRect();
return {boxes: document.querySelectorAll(".box").length, width: graph.width, height: graph.height,
  arrows: document.querySelectorAll("#graph svg").length,
  fold: (() => { const box = document.querySelector('.box[data-module="encoder"]');
    const height = box.offsetHeight; box.open = false; const folded = box.offsetHeight; box.open = true;
    return [height, folded]; })()};"""
STYLE = """
const of = (s, k) => { const e = document.querySelector(s); return e && window.getComputedStyle(e)[k]; };
return {body: of("body", "fontFamily"), text: of("body", "fontSize"), title: of("h1", "fontSize"),
  heading: of("h2", "fontSize"), line: of("td", "borderBottomColor"), ground: of("body", "backgroundColor"),
  widest: document.querySelector("main").offsetWidth};"""


@pytest.fixture(scope="module")
def views(tmp_path_factory) -> dict[tuple[str, int], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "checked").mkdir()
    pages = {
        "verify": verify(folder),
        "check": check(folder / "checked"),
        "bench": bench(),
        "run": run(),
        "plan": plan(folder),
    }
    probes = {name: f"return [(() => {{{STYLE}}})()];" for name in pages}
    probes["verify"] = f"return [(() => {{{STYLE}}})(), (() => {{{VERIFY}}})()];"
    return look(pages, folder, probes)


@pytest.mark.parametrize("state", ["folded", "unfolded"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["verify", "check", "bench", "run", "plan"])
def test_nothing_sticks_out_overlaps_or_is_cut(views, name: str, width: int, state: str) -> None:
    seen = views[name, width][state]
    assert seen == {"wide": 0, "sticks_out": [], "overlap": [], "cut": [], "small": []}


@pytest.mark.parametrize("width", WIDTHS)
def test_one_look_for_all_pages(views, width: int) -> None:
    looks = [views[name, width]["probe"][0] for name in ("verify", "check", "bench", "run", "plan")]
    assert looks == [looks[0]] * 5


def test_bert_is_readable_at_both_widths(views) -> None:
    wide, narrow = (views["verify", width]["probe"][1] for width in (1280, 390))
    # The model, and all of its modules that run or hold tensors.
    assert wide["boxes"] == narrow["boxes"] == 45
    assert wide["arrows"] == 3, "the copy, the read and the mixed devices"
    assert wide["height"] < 1500, "two screens"
    assert narrow["width"] <= 390 and narrow["height"] < 3000
    for unfolded, folded in (wide["fold"], narrow["fold"]):
        assert folded < 60 < unfolded


def test_the_measurements_see_what_is_wrong(tmp_path: Path) -> None:
    page = """<!doctype html><body style="margin:0"><div id=wide style="width:2000px;height:20px">wide</div>
      <div style="height:20px"><p id=one style="margin:0;height:20px">one</p></div>
      <p id=two style="margin:-15px 0 0;height:20px">two</p>
      <div id=cut style="overflow:hidden;width:50px;white-space:nowrap">a text that is cut off</div>
      <svg width=100 height=20><text x=0 y=15>long text</text><text x=10 y=15>another</text></svg>
      <svg width=40 height=20><text x=0 y=15>a text that is cut off</text></svg>
      <details><summary>s</summary><p id=late style="width:3000px;font-size:9px">late</p></details>"""
    seen = look({"bad": page}, tmp_path)["bad", 390]
    assert seen["folded"]["wide"] == 2000 - 390
    assert [name.split(":")[0] for name in seen["folded"]["sticks_out"]] == ["div#wide"]
    assert seen["folded"]["overlap"] == ["div: one | p#two: two", "text: long text | text: another"]
    assert [name.split(":")[0] for name in seen["folded"]["cut"]] == ["div#cut", "text"]
    assert seen["folded"]["small"] == []
    assert seen["unfolded"]["small"] == ["p#late: late"] and seen["unfolded"]["wide"] > 2000

"""torchport bench: eager modes here, artefacts in one long test; memory on virtual devices."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import forking
import pytest

PROGRAMS = Path(__file__).parent / "programs"
MODELS = PROGRAMS / "small_models.py"
IMAGES = [f"{MODELS}:convolutions", "--input", f"{MODELS}:images"]


START = ["-W", "ignore", "-m", "torchport.deploy.bench.command"]


def command(*words: object) -> list[str]:
    return [sys.executable, *START, *map(str, words)]


def environment() -> dict[str, str]:
    settings = {k: v for k, v in os.environ.items() if k != "TORCHPORT_VIRTUAL"}
    return settings | {"OMP_NUM_THREADS": "1"}


def bench(folder: Path, *words: object, timeout: float = 300) -> subprocess.CompletedProcess:
    return subprocess.run(
        forking.command([*START, *words], environment()),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def rows_of(done: subprocess.CompletedProcess) -> dict[str, dict]:
    assert done.returncode == 0, done.stdout + done.stderr
    return {row["mode"]: row for row in json.loads(done.stdout)["rows"]}


@pytest.mark.alone
def test_eager_modes_with_a_page_and_a_picture(tmp_path):
    # Activations of 36 MiB: beyond what malloc takes from its heap, whose fragments would count.
    words = ["--batch", 32, "--modes", "train,eval,no_grad,inference,channels_last"]
    words += ["--rounds", 2, "--seconds", 0.1, "--html", "page.html", "--json", "report.json"]
    picture = ["--png", "page.png"] if shutil.which("chromium") else []
    done = bench(tmp_path, *IMAGES, *words, *picture)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "batch 32" in done.stdout and "2 interleaved rounds" in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["timed"] and report["reference"] == "eval" and report["schema"] == 1
    rows = {row["mode"]: row for row in report["rows"]}
    assert {row["status"] for row in rows.values()} == {"measured"}
    assert rows["inference"]["peak"] <= 0.45 * rows["train"]["peak"]
    for row in rows.values():
        assert 0 < row["p50"] <= row["p90"] <= row["p99"] and row["steps"] >= 2
        assert row["throughput_low"] <= row["throughput"] <= row["throughput_high"]
    assert rows["train"]["against"]["median"] < 1 and rows["train"]["rank"] == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["page.html", "report.json", *(["page.png"] if picture else [])]
    )
    page = (tmp_path / "page.html").read_text()
    assert (
        page.count('class="bar"') == 10
        and page.count('class="box"') == 5
        and "eval + inference_mode" in page
    )
    if picture:
        assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_memory_of_a_gpu_without_one(tmp_path):
    words = [
        *IMAGES,
        "--batch",
        "4,8",
        "--devices",
        "cuda:1,profile=a100-80g",
        "--modes",
        "train,eval,inference,onnx,autocast",
    ]
    done = bench(tmp_path, *words, "--json", "-")
    report = json.loads(done.stdout)
    assert not report["timed"] and report["device"] == "cuda", done.stderr
    rows = {(row["mode"], row["batch"]): row for row in report["rows"]}
    # The parameters, their gradients and momentum; each activation of 32 x 96 x 96 at least once.
    activation = 4 * 32 * 96 * 96 * 4
    assert rows["train", 4]["peak"] > 6 * activation
    # cuDNN copies input and output to channels last, in inference too.
    assert activation < rows["inference", 4]["peak"] < 0.55 * rows["train", 4]["peak"]
    # The workspaces of cuBLAS are the same for each batch.
    assert 1.6 < rows["train", 8]["peak"] / rows["train", 4]["peak"] < 2.1
    assert all(r["reserved"] >= r["peak"] and r["against"] is None for r in rows.values())
    assert rows["autocast", 4]["peak"] < rows["train", 4]["peak"]
    assert rows["onnx", 4]["status"] == "skipped" and "ONNX Runtime" in rows["onnx", 4]["reason"]
    (tmp_path / "old.json").write_text(done.stdout)
    text = bench(tmp_path, *words[:-1], "inference", "--against", "old.json").stdout
    assert "no times" in text and "ms" not in text.replace("programs", "")
    assert text.count(" 1.00x\n") == 2 and "Measured only in old.json: train (batch 4)" in text


def test_what_fails_is_a_row_with_the_reason(tmp_path):
    vectors = ["--input", f"{MODELS}:vectors"]
    full = ["--devices", "cuda:1,memory=24MiB", "--modes", "train", "--batch", 64]
    done = bench(tmp_path, *IMAGES, *full)
    assert done.returncode == 1 and "failed: OutOfMemoryError: CUDA out of memory" in done.stdout
    done = bench(tmp_path, f"{MODELS}:broken", *vectors, "--modes", "eval", "--json", "-")
    assert done.returncode == 1, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert row["reason"] == "RuntimeError: the model is broken"
    done = bench(tmp_path, f"{MODELS}:broken", "--input", f"{MODELS}:images", "--modes", "eval")
    assert "failed: RuntimeError: the model is broken\n" in done.stdout + "\n"
    assert "a word of the model's own" not in done.stdout
    words = ["--batch", 5, "--modes", "inference,channels_last", "--rounds", 1, "--seconds", 0.01]
    rows = rows_of(bench(tmp_path, f"{MODELS}:perceptron", *vectors, *words, "--json", "-"))
    assert rows["inference"]["batch"] == 5 and rows["inference"]["status"] == "measured"
    assert rows["channels_last"]["status"] == "skipped"
    assert "four dimensions" in rows["channels_last"]["reason"]


def test_processes_that_end_or_hang_are_rows_too(tmp_path):
    words = ["--input", f"{MODELS}:images", "--modes", "eval", "--device", "cpu"]
    done = bench(tmp_path, f"{MODELS}:leaving", *words)
    assert done.returncode == 1 and "failed: the process ended with exit code 7" in done.stdout, (
        done.stdout
    )
    done = bench(tmp_path, *IMAGES, "--modes", "eval", "--timeout", 0.2)
    assert (
        done.returncode == 1 and "failed: the process did not answer within 0.2 s" in done.stdout
    ), done.stdout
    # A program without a guard would start processes without end.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", PROGRAMS / "bench_unguarded.py"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert 'call it under `if __name__ == "__main__":`' in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([*IMAGES, "--modes", "fast"], "no mode fast; the modes are train, eval"),
        (["no_such_module:f", "--input", f"{MODELS}:images"], "no module 'no_such_module'"),
        ([f"{MODELS}:nothing", "--input", f"{MODELS}:images"], "has no 'nothing'; it has"),
        ([*IMAGES, "--device", "gpu"], "gpu"),
        ([*IMAGES, "--batch", "two"], "two"),
        ([*IMAGES, "--against", "no.json"], "bench: no.json cannot be read: No such file"),
    ],
)
def test_wrong_use(tmp_path, words, told):
    done = bench(tmp_path, *words)
    assert done.returncode == 2 and told in done.stderr, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def ends(pid: str, seconds: float) -> bool:
    """Whether a process ends in this time. A dead one may stay in /proc until init asks for it."""
    status = Path(f"/proc/{pid}/status")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if "State:\tZ" in status.read_text():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_ends_all_processes(tmp_path):
    process = subprocess.Popen(
        command(*IMAGES, "--modes", "train,eval", "--rounds", 1000, "--html", "page.html"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        deadline = time.monotonic() + 120
        while len(workers := children.read_text().split()) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(workers) == 2
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and out == "" and "Traceback" not in err, err
    assert all(ends(worker, seconds=10) for worker in workers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_compiled_and_exported_modes(tmp_path):
    words = ["--modes", "eval,compile,aoti,onnx,torchscript", "--rounds", 1, "--seconds", 0.05]
    done = bench(tmp_path, *IMAGES, "--batch", 2, *words, "--json", "-", timeout=580)
    rows = rows_of(done)
    assert {mode: row["status"] for mode, row in rows.items()} == dict.fromkeys(rows, "measured")
    assert len(rows) == 5


@pytest.mark.long
def test_artefacts_with_named_inputs(tmp_path):
    words = ["--modes", "train,onnx,torchscript", "--rounds", 1, "--seconds", 0.01, "--json", "-"]
    rows = rows_of(bench(tmp_path, f"{MODELS}:Named", "--input", f"{MODELS}:tokens", *words))
    assert [row["status"] for row in rows.values()] == ["measured"] * 3, rows

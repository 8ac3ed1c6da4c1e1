"""Hostile checkpoints: `inspect` and `load` end in bounded time and memory, and say why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import hostile_pickles
import measured_process
import pytest
from hostile_file import CPU_SECONDS, PEAK_MB
from hostile_pickles import PICKLES
from python_process import run_python

TORCHPORT = os.environ.get("TORCHPORT_BINARY", Path(sys.executable).with_name("torchport"))
LOADS = """
import json, resource, sys, time, torchport
results = {}
for path in sys.argv[1:]:
    start = time.process_time()
    try:
        torchport.load(path, device="cpu")
        said = ""
    except torchport.CheckpointError as error:
        said = str(error)
    results[path] = (said, time.process_time() - start)
print(json.dumps([results, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def inspected(path: Path) -> tuple[int, str, float, float]:
    """The exit code, what was said, seconds of CPU, and the peak of memory in MB."""
    with (path.parent / "out").open("w+b") as out:
        words = ["timeout", "-s", "KILL", "40", TORCHPORT, "inspect", path]
        done = measured_process.run(words, out=out, err=out)
        out.seek(0)
        said = out.read().decode(errors="replace")
    return done.returncode, said, done.cpu, done.peak_mb


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pickles as archives and bare. Another process writes them: a child process begins with
    the peak of memory of its parent."""
    folder = tmp_path_factory.mktemp("pickles")
    subprocess.run([sys.executable, hostile_pickles.__file__, folder], check=True)
    return folder


@pytest.mark.parametrize("legacy", [False, True], ids=["archive", "pickle"])
@pytest.mark.parametrize("name", PICKLES)
def test_inspect_ends_in_bounds(name, legacy, files):
    words = PICKLES[name][1]
    code, said, cpu, peak = inspected(files / f"{name}.{'pickle' if legacy else 'pt'}")
    assert code in (0, 1), said[:2000]
    assert cpu < CPU_SECONDS and peak < PEAK_MB, (cpu, peak)
    if not (legacy and "storage 0" in words):
        assert words in said, said[:2000]
    assert len(said) < 100_000_000


def test_load_ends_in_bounds(files):
    pytest.importorskip("torch")
    paths = {name: files / f"{name}.pt" for name in PICKLES}
    words = measured_process.apart([sys.executable, "-c", LOADS, *paths.values()])
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    results, peak = json.loads(done.stdout)
    for name, (_, words) in PICKLES.items():
        said, cpu = results[str(paths[name])]
        assert cpu < CPU_SECONDS, (name, cpu)
        assert words in said and len(said) < 2000, (name, said[:500])
    assert peak < 2 * PEAK_MB, peak  # with torch itself


def test_tensors_that_unpack_to_gigabytes_are_not_unpacked(files):
    pytest.importorskip("torch")
    path = files / "zeros.pt"
    assert path.stat().st_size < 10 << 20
    code, said, _, peak = inspected(path)
    assert code == 1 and "unpacks to 3.0 GiB" in said and peak < PEAK_MB, said
    words = measured_process.apart([sys.executable, "-c", LOADS, path])
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    results, peak = json.loads(done.stdout)
    assert "unpacks to 3.0 GiB" in results[str(path)][0] and peak < PEAK_MB


def test_a_fifo_is_no_checkpoint(torchport) -> None:
    """To open it would wait for a writer."""
    os.mkfifo(torchport.folder / "a.pt")
    for folder, name in (("s", "m.bin"), ("t", "pytorch_model.bin.index.json")):
        (torchport.folder / folder).mkdir()
        os.mkfifo(torchport.folder / folder / name)
    torchport.write("s/pytorch_model.bin.index.json", '{"weight_map": {"w": "m.bin"}}')
    for path in ("a.pt", "s", "t"):
        run = torchport("inspect", path)
        assert run.returncode == 1, run
        assert "is not a regular file" in run.stdout + run.stderr
    code = "import sys, torchport\ntry:\n    torchport.load(sys.argv[1])\nexcept Exception as error:\n    print(error)\n"
    for path in ("a.pt", "s"):
        load = run_python(
            "-c", code, path, cwd=torchport.folder, timeout=60, check=False, devices=None
        )
        assert "not a regular file" in load.stdout, load.stderr

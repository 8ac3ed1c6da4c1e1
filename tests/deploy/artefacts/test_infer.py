"""torchport-infer: artefacts of torchport export, run without Python."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

FORMATS = ["net.onnx", "net.pt", "net.pt2", "program.pt2"]
DATA = ["x.safetensors", "x.pth", "x.npy", "fortran.npy", "x.npz", "packed.npz"]


def close(got: dict, wanted: dict) -> None:
    assert list(got) == list(wanted)
    for name in wanted:
        assert got[name].shape == wanted[name].shape
        np.testing.assert_allclose(got[name], wanted[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("artefact", FORMATS)
def test_every_kind_of_file_gives_what_eager_gives(artefact, artefacts, infer, tmp_path):
    wanted = load_file(artefacts / "wanted.safetensors")
    for data in DATA:
        done = infer(
            artefacts / artefact, artefacts / data, "-o", "out.safetensors", "--batch-size", 4
        )
        close(load_file(tmp_path / "out.safetensors"), wanted)
        assert "10 rows in 3 batches" in done.stderr
    assert os.listdir(tmp_path) == ["out.safetensors"]


def test_batches_are_of_the_contracts_size_without_a_size(artefacts, infer, tmp_path):
    done = infer(artefacts / "net.onnx", artefacts / "x.npy", "-o", "o.safetensors")
    assert "10 rows in 2 batches" in done.stderr  # at most 8 rows
    close(load_file(tmp_path / "o.safetensors"), load_file(artefacts / "wanted.safetensors"))


def test_workers_give_results_in_the_order_of_the_data(artefacts, infer, tmp_path):
    files = [artefacts / name for name in ("x.npy", "x.pth", "x.npz")]
    infer(
        artefacts / "net.pt",
        *files,
        "-o",
        "o.safetensors",
        "--batch-size",
        1,
        "--device",
        "cpu,cpu,cpu",
    )
    wanted = load_file(artefacts / "wanted.safetensors")
    close(
        load_file(tmp_path / "o.safetensors"),
        {name: np.concatenate([value] * 3) for name, value in wanted.items()},
    )


def test_arrays_stream_through(artefacts, infer):
    rows = np.random.default_rng(0).standard_normal((3, 4, 6), dtype=np.float32)
    buffer = io.BytesIO()
    for array in rows:
        np.save(buffer, array)
    done = infer(
        artefacts / "fixed.onnx", "-", "-o", "-", input=buffer.getvalue(), text=False
    )  # fmt: skip
    out = io.BytesIO(done.stdout)
    results = [np.load(out) for _ in rows]
    assert out.read() == b"" and {array.shape for array in results} == {(4, 4)}
    assert not np.array_equal(results[0], results[1])


def test_one_output_goes_to_npy(artefacts, infer, tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((8, 6), dtype=np.float32))
    infer(artefacts / "fixed.onnx", "rows.npy", "-o", "o.npy")
    assert np.load(tmp_path / "o.npy").shape == (8, 4)


def test_the_contract_is_shown(artefacts, infer):
    for name in [*FORMATS, "python.pt2"]:
        contract = json.loads(infer(artefacts / name, "--contract").stdout)
        assert contract["contract"] == 1 and contract["inputs"][0]["name"] == "x"


@pytest.mark.parametrize(
    "words, told",
    [
        (["net.onnx", "double.npy"], ["input x", "expected float32 [batch, 3, 16, 16] on cpu", "got float64 [8, 3, 16, 16] on cpu"]),
        (["net.onnx", "small.npy"], ["input x", "got float32", "16, 8]"]),
        (["net.pt2", "small.npy"], ["input x", "got float32", "16, 8]"]),
        (["net.onnx", "x.npy", "--batch-size", "9"], ["batch must be 1 to 8"]),
        (["net.onnx", "empty.npy"], ["input x has no rows"]),
        (["net.onnx", "y.safetensors"], ["not have a tensor for the input x", "it has y"]),
        (["net.onnx", "big_endian.npy"], ["big-endian"]),
        (["net.onnx", "nan.npy", "--check-finite"], ["input x has NaN or Inf"]),
        (["net.onnx", "absent.npy"], ["cannot read", "absent.npy", "No such file"]),
        (["net.onnx", "net.onnx"], ["/net.onnx: "]),
        (["net.onnx", "hostile.pth"], ["hostile.pth", "posix.system", "do not load it"]),
        (["net.onnx", "sparse.pth"], ["sparse.pth", "x is a sparse tensor"]),
        (["fixed.onnx", "x.npy", "--batch-size", "2"], ["takes 4 rows and no other", "--dynamic batch"]),
        (["python.pt2", "x.npy"], ["needs Python: models.py:", "mine::twice", "export it to aoti"]),
        (["x.npy", "x.npy"], ["not an artefact"]),
        (["x.pth", "x.npy"], ["no contract", "torchport export"]),
        (["absent.onnx", "x.npy"], ["cannot read", "absent.onnx"]),
        (["net.pt", "x.npy", "--device", "cuda"], ["no device for", "cuda"]),
        (["net.onnx", "x.npy", "--device", "gpu"], ["gpu"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(words, told, artefacts, infer, tmp_path):
    paths = [artefacts / w if Path(w).suffix else w for w in words]
    done = infer(*paths, "-o", "o.safetensors", check=False)
    assert done.returncode == 1, done.stderr
    for fragment in told:
        assert fragment in done.stderr, done.stderr
    assert "terminate" not in done.stderr and os.listdir(tmp_path) == []


def test_wrong_use(artefacts, infer):
    for words in ([], [artefacts / "net.onnx"], ["--no-such-option"]):
        assert infer(*words, check=False).returncode == 2
    for output, told in (
        ("o.csv", "must end with .safetensors or .npy"),
        ("o.npy", "2 outputs"),
        ("no/o.npy", "2 outputs"),
        ("no/o.safetensors", "create the folder"),
    ):
        done = infer(artefacts / "net.onnx", artefacts / "x.npy", "-o", output, check=False)
        assert done.returncode == 1 and told in done.stderr


def test_rows_that_depend_on_each_other_are_not_cut(artefacts, infer, tmp_path):
    pictures = np.random.default_rng(0).standard_normal((2, 3, 16, 16), dtype=np.float32)
    np.save(tmp_path / "two.npy", pictures)
    done = infer(artefacts / "keep.onnx", "two.npy", "-o", "o.safetensors", check=False)
    assert done.returncode == 1 and "cannot be cut into batches of 1" in done.stderr
    np.save(tmp_path / "one.npy", pictures[:1])
    infer(artefacts / "keep.onnx", "one.npy", "-o", "o.safetensors")
    assert load_file(tmp_path / "o.safetensors")["output"].shape[1] == 4


@pytest.mark.parametrize("artefact", FORMATS)
def test_damaged_artefacts_are_refused(artefact, artefacts, infer, tmp_path):
    whole = (artefacts / artefact).read_bytes()
    for size in (0, 1, 100, len(whole) // 2, len(whole) - 10):
        (tmp_path / artefact).write_bytes(whole[:size])
        done = infer(artefact, artefacts / "x.npy", "-o", "o.safetensors", check=False)
        assert done.returncode == 1, (size, done.returncode, done.stderr)
        assert artefact in done.stderr and "terminate" not in done.stderr
    assert not (tmp_path / "o.safetensors").exists()


def foreign(source: Path, target: Path, **host: object) -> None:
    """A copy of an archive whose contract asks for another host."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith("torchport.json"):
                contract = json.loads(content)
                contract["host"].update(host)
                contract["contract"] = host.pop("contract", 1)
                content = json.dumps(contract)
            new.writestr(entry, content)


@pytest.mark.parametrize(
    "host, told",
    [
        ({"machine": "riscv64"}, "compiled for riscv64, but this machine has"),
        ({"system": "windows"}, "compiled for windows, but this machine has linux"),
        ({"instructions": ["avx2", "avx9000"]}, "this CPU lacks: avx9000"),
        ({"torch": "9.1"}, "needs torch 9.1 or newer"),
        ({"device": "cuda"}, "there is no cuda:0"),
        ({"contract": 2}, "contract is of version 2"),
    ],
)
def test_artefacts_of_another_host_are_refused_before_they_are_loaded(
    host, told, artefacts, infer, tmp_path
):
    foreign(artefacts / "net.pt2", tmp_path / "net.pt2", **host)
    done = infer("net.pt2", artefacts / "x.npy", "-o", "o.safetensors", check=False)
    assert done.returncode == 1 and told in done.stderr, done.stderr


def test_nothing_falls_back_to_the_cpu(artefacts, infer, tmp_path):
    """An artefact for a GPU, on a host without one: an error, also where the CPU is asked for."""
    foreign(artefacts / "net.pt", tmp_path / "net.pt", device="cuda")
    for words, told in (([], "no cuda:0"), (["--device", "cpu"], "it was exported for cuda")):
        done = infer("net.pt", artefacts / "x.npy", "-o", "o.safetensors", *words, check=False)
        assert done.returncode == 1 and told in done.stderr, done.stderr


def test_two_virtual_devices_share_the_work(artefacts, infer, export, tmp_path):
    virtual = {"TORCHPORT_VIRTUAL": "cuda:2"}
    export(
        "models:net", "--input", "models:picture", "--to", "torchscript", "-o", "gpu.pt",
        "--dynamic", "batch", "--device", "cuda", env=virtual,
    )  # fmt: skip
    done = infer(
        "gpu.pt", artefacts / "x.npy", "-o", "o.safetensors", "--batch-size", 2,
        "--device", "cuda:0,cuda:1", "--watch", env=virtual,
    )  # fmt: skip
    close(load_file(tmp_path / "o.safetensors"), load_file(artefacts / "wanted.safetensors"))
    for device in ("cuda:0", "cuda:1"):
        assert f"{device}   busy" in done.stderr and "on cuda:0, cuda:1" in done.stderr


def test_a_full_disk_leaves_nothing(artefacts, infer, tmp_path):
    few_bytes = ["bash", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"']
    data = [artefacts / "x.npy"] * 3
    done = infer(
        artefacts / "net.onnx", *data, "-o", "o.safetensors", before=few_bytes, check=False
    )
    assert (
        done.returncode == 1 and "infer: o.safetensors: cannot write: File too large" in done.stderr
    ), done
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("artefact", FORMATS)
def test_changed_bytes_of_an_artefact_are_refused(artefact, artefacts, infer, tmp_path):
    whole = bytearray((artefacts / artefact).read_bytes())
    contract = json.loads(infer("--contract", artefacts / artefact).stdout)
    assert [entry["file"] for entry in contract["content"]] == [""]
    size = contract["content"][0]["bytes"]
    assert size > len(whole) - 20_000  # behind it are the contract and the list of records
    chosen = random.Random(artefact)
    for bit in (8, 8 * size - 1, *(chosen.randrange(8 * size) for _ in range(8))):
        whole[bit // 8] ^= 1 << bit % 8
        (tmp_path / artefact).write_bytes(whole)
        done = infer(artefact, artefacts / "x.npy", "-o", "o.safetensors", check=False)
        assert done.returncode == 1 and artefact in done.stderr, (bit, done)
        whole[bit // 8] ^= 1 << bit % 8
    assert not (tmp_path / "o.safetensors").exists()
    (tmp_path / artefact).write_bytes(whole)
    infer(artefact, artefacts / "x.npy", "-o", "o.safetensors")


@pytest.mark.parametrize("signals", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_goes_on_where_it_was_ended(signals, artefacts, infer, start, tmp_path):
    data = [artefacts / "x.npy", artefacts / "x.safetensors"] * 2000
    words = [*data, "-o", "o.safetensors", "--batch-size", 4, "--keep-every", 1]
    parts = tmp_path / "o.safetensors.parts"
    process = start("infer", artefacts / "program.pt2", *words)
    until = time.monotonic() + 60
    while not list(parts.glob("*.safetensors")) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signals)
    _, told = process.communicate(timeout=60)
    assert parts.is_dir() and not (tmp_path / "o.safetensors").exists(), told
    if signals != signal.SIGKILL:
        assert process.returncode == 130
        assert b"the same command goes on from o.safetensors.parts" in told
    other = infer(artefacts / "program.pt2", *data[1:], "-o", "o.safetensors", check=False)
    assert other.returncode == 1 and "--fresh" in other.stderr
    done = infer(artefacts / "program.pt2", *words)
    before = int(re.search(r"goes on after (\d+) rows", done.stderr)[1])
    assert f"{40_000 - before} rows in " in done.stderr
    assert os.listdir(tmp_path) == ["o.safetensors"]
    once = load_file(artefacts / "wanted.safetensors")
    close(load_file(tmp_path / "o.safetensors"),
          {name: np.tile(once[name], (4000, *[1] * (once[name].ndim - 1))) for name in once})  # fmt: skip


def test_a_run_goes_on_if_its_results_cannot_be_kept(artefacts, infer, tmp_path):
    (tmp_path / "o.safetensors.parts").mkdir()
    done = infer(artefacts / "program.pt2", artefacts / "x.npy", "-o", "o.safetensors", check=False)
    assert done.returncode == 1 and "is no folder of parts" in done.stderr
    (tmp_path / "o.safetensors.parts").rmdir()
    no_folder = ["bash", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$0" "$@"']
    data = [artefacts / "x.npy"] * 3000
    done = infer(artefacts / "program.pt2", *data, "-o", "o.safetensors", "--batch-size", 1,
                 "--keep-every", 1, before=no_folder, check=False)  # fmt: skip
    assert done.returncode == 1 and done.stderr.count("results are not kept") == 1, done.stderr
    assert "o.safetensors: cannot write" in done.stderr


def test_an_output_does_not_replace_what_is_read(artefacts, infer, tmp_path):
    for name in ("x.safetensors", "net.pt"):
        (tmp_path / name).write_bytes((artefacts / name).read_bytes())
    os.link(tmp_path / "x.safetensors", tmp_path / "same.safetensors")
    os.symlink("net.pt", tmp_path / "net.safetensors")
    for output, which in (
        ("x.safetensors", "one of the inputs"),
        ("./x.safetensors", "one of the inputs"),
        ("same.safetensors", "one of the inputs"),
        ("net.safetensors", "the artefact"),
    ):
        done = infer("net.pt", "x.safetensors", "-o", output, check=False)
        assert done.returncode == 1 and f"is {which}: name another file" in done.stderr, done
    for name in ("x.safetensors", "net.pt"):
        assert (tmp_path / name).read_bytes() == (artefacts / name).read_bytes()


def test_an_input_that_becomes_shorter_is_named(artefacts, start, tmp_path):
    row = np.load(artefacts / "x.npy")[:1]
    # Longer than the second after which results are kept: a quiet machine takes 30,000 rows in one.
    np.save(tmp_path / "many.npy", np.repeat(row, 400_000, axis=0))
    process = start("infer", artefacts / "program.pt2", "many.npy", "-o", "o.safetensors",
                    "--batch-size", 1, "--keep-every", 1)  # fmt: skip
    parts = tmp_path / "o.safetensors.parts"
    until = time.monotonic() + 60
    while not parts.is_dir() and time.monotonic() < until:
        time.sleep(0.05)
    os.truncate(tmp_path / "many.npy", 4096)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1, told
    assert f"{tmp_path / 'many.npy'} became shorter while it was read".encode() in told
    assert not (tmp_path / "o.safetensors").exists()


def test_ctrl_c_ends_a_stream_quietly(artefacts, start, tmp_path):
    process = start("infer", artefacts / "fixed.onnx", "-", "-o", "o.npy")
    time.sleep(1.5)  # it waits for data
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130 and b"infer:" not in told, told
    assert os.listdir(tmp_path) == []

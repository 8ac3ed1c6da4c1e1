"""`torchport inspect`: what a checkpoint holds, told without loading it."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

MAKE = Path(__file__).parent / "programs/make_checkpoints.py"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder of checkpoints. torch made them in a process of its own."""
    folder = tmp_path_factory.mktemp("checkpoints")
    subprocess.run([sys.executable, MAKE, folder], check=True)
    return folder


@pytest.fixture
def inspect(torchport, made: Path):
    def run(name: str, code: int = 0) -> dict:
        path = name
        name = name.partition("/")[0]
        if not (torchport.folder / name).exists():
            copy = shutil.copytree if (made / name).is_dir() else shutil.copy
            copy(made / name, torchport.folder / name)
        done = torchport("inspect", "--json", path)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    "name",
    [
        "state_zip.pt",
        "state_legacy.pt",
        "module.pt",
        "script.pt",
        "export.pt2",
        "shards",
        "shards/model.safetensors.index.json",
        "dcp",
    ],
)
def test_tensors_are_listed_as_torch_has_them(inspect, made: Path, name: str) -> None:
    state = json.loads((made / "expected.json").read_text())[name.partition("/")[0]]
    listed = {tensor["path"]: tensor for tensor in inspect(name)["tensors"]}
    assert listed.keys() == state.keys()
    for path, tensor in state.items():
        assert {key: listed[path][key] for key in tensor} == tensor, path


def test_a_state_dict_has_nothing_to_note(inspect) -> None:
    for name in ("state_zip.pt", "state_legacy.pt"):
        found = inspect(name)
        assert found["refused"] == found["notes"] == found["broken"] == []


@pytest.mark.parametrize("name", ["list_zip.pt", "list_legacy.pt"])
def test_bytes_are_where_they_are_said_to_be(inspect, made: Path, name: str) -> None:
    found = inspect(name)
    entry = next(t for t in found["tensors"] if t["path"] == "[1]")
    storage = next(s for s in found["storages"] if s["key"] == entry["storage"])
    start = storage["offset"]
    raw = (made / name).read_bytes()[start : start + storage["bytes"]]
    assert struct.unpack("<7i", raw) == tuple(range(7))


def test_training_checkpoint_in_text(torchport, made: Path) -> None:
    text = torchport("inspect", made / "training.pt").stdout
    assert text.startswith(f"{made}/training.pt: torch.save, ")
    for line in (
        "  model.0.weight ",
        "  optimizer.state[0].exp_avg ",
        "  optimizer.param_groups[0].betas = (0.9, 0.999)\n",
        "  epoch = 3\n",
    ):
        assert line in text
    assert "  shares embed\n" in torchport("inspect", made / "tied.pt").stdout


def test_kinds_of_tensors(inspect) -> None:
    found = inspect("kinds.pt")
    assert {tensor["path"]: tensor["kind"] for tensor in found["tensors"]} == {
        "p": "parameter",
        "sparse": "sparse",
        "csr": "sparse",
        "quantized": "quantized",
        "ragged": "nested",
        "meta": "tensor",
    }
    assert found["values"] == {"at": "torch.device('cuda', 1)"}


def test_formats_and_what_to_know_of_them(inspect) -> None:
    assert inspect("script.pt")["format"] == "TorchScript"
    assert inspect("export.pt2")["format"] == "torch.export"
    found = inspect("module.pt")
    assert "torch.nn.modules.container.Sequential" in found["refused"]
    assert "weights_only" in found["notes"][0]
    parallel = inspect("parallel.pt")["notes"][0]
    assert 'begin with "module."' in parallel
    assert "from DataParallel, DistributedDataParallel or AveragedModel:" in parallel
    assert "torch.compile" in inspect("compiled.pt")["notes"][0]


def test_the_device_that_a_file_was_saved_from(torchport, inspect, made: Path) -> None:
    # As a GPU writes it: the device's name stands in the pickle alone.
    data = (made / "plain_legacy.pt").read_bytes()
    torchport.write("gpu.pt", data.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"))
    found = inspect("gpu.pt")
    assert found["tensors"][0]["device"] == "cuda:0"
    assert "map_location" in found["notes"][0]


def test_code_in_a_file_is_named_and_not_run(torchport, inspect) -> None:
    found = inspect("evil.pt", 1)
    assert found["refused"] == [f"{os.name}.system"]
    assert "do not load it" in found["broken"][0]
    assert [tensor["path"] for tensor in found["tensors"]] == ["w"]
    assert not (torchport.folder / "pwned").exists()


def test_what_a_safe_load_accepts_is_as_torch_has_it(torchport, inspect, made: Path) -> None:
    allowed = set(json.loads((made / "expected.json").read_text())["allowed"])
    others = {"os.system", "torch.nn.Linear", "torch.FloatTensors", "torch.cuda.QInt8Storage"}
    others |= {"torch._utils._rebuild_sparse_csr_tensor", "torch.cuda.float32", "builtins.eval"}
    others |= {"torch.storage.FloatStorage", "torch.UntypedStorage", "torch.sparse.BoolTensor"}
    names = sorted(allowed | others)
    program = "".join("c{}\n{}\n".format(*name.rpartition(".")[::2]) for name in names)
    torchport.write("names.pkl", b"\x80\x02(" + program.encode() + b"t.")
    assert set(inspect("names.pkl", 1)["refused"]) == set(names) - allowed


@pytest.mark.parametrize("name", ["plain_zip.pt", "plain_legacy.pt"])
def test_every_cut_is_told(torchport, made: Path, name: str) -> None:
    whole = (made / name).read_bytes()
    for end in [*range(0, len(whole), 397), len(whole) - 22, len(whole) - 1]:
        torchport.write("a.pt", whole[:end])
        run = torchport("inspect", "a.pt")
        assert run.returncode == 1, end
        assert "a.pt" in run.stderr or "broken: " in run.stdout, end


def test_damage_inside_is_told_or_harmless(torchport, made: Path) -> None:
    whole = (made / "plain_zip.pt").read_bytes()
    for at in range(0, len(whole), 41):
        torchport.write("a.pt", whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        assert torchport("inspect", "a.pt").returncode in (0, 1), at


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_safetensors(torchport, inspect) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
    }
    torchport.write("a.safetensors", safetensors(header, bytes(22)))
    found = inspect("a.safetensors")
    assert [(t["path"], t["dtype"], t["shape"]) for t in found["tensors"]] == [
        ("a", "float32", [2, 2]),
        ("b", "bfloat16", [3]),
    ]
    assert found["values"] == {"__metadata__.format": "'pt'"}
    torchport.write("cut.safetensors", safetensors(header, bytes(20)))
    assert "2 bytes before" in inspect("cut.safetensors", 1)["broken"][0]
    header["b"]["data_offsets"] = [12, 18]
    torchport.write("over.safetensors", safetensors(header, bytes(18)))
    assert "overlaps" in inspect("over.safetensors", 1)["broken"][0]


def test_folders_are_whole_or_said_not_to_be(torchport, inspect) -> None:
    folder = torchport.folder / "shards"
    assert inspect("shards")["format"] == "safetensors in 2 files"
    (folder / "b.safetensors").unlink()
    found = inspect("shards", 1)
    assert found["broken"] == ["b.safetensors, with 5 tensors: No such file or directory"]
    assert len(found["tensors"]) == 3
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    index["weight_map"] = {"0.weight": "a.safetensors", "9.weight": "a.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert inspect("shards", 1)["broken"] == ["9.weight is not in a.safetensors"]
    index["weight_map"] = {"0.weight": "../../etc/passwd"}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "not in the folder of the index" in torchport("inspect", "shards").stderr
    (folder / "model.safetensors.index.json").write_text("[1]")
    assert 'no object "weight_map"' in torchport("inspect", "shards").stderr


def test_folders_of_distributed_checkpoints(torchport, inspect) -> None:
    found = inspect("dcp_training")
    assert found["format"] == "torch.distributed.checkpoint" and found["refused"] == []
    assert found["values"] == {"epoch": "an object"}
    folder = torchport.folder / "dcp_training"
    file = folder / "__0_0.distcp"
    os.truncate(file, 100)
    assert "was cut off: it has only 100 of" in inspect("dcp_training", 1)["broken"][0]
    file.unlink()
    assert "__0_0.distcp is missing" in inspect("dcp_training", 1)["broken"][0]
    metadata = folder / ".metadata"
    real = metadata.read_bytes()
    metadata.write_bytes(real.replace(b"__0_0.distcp", b"../../../abc"))
    assert "outside its folder" in inspect("dcp_training", 1)["broken"][0]
    for size in range(0, len(real), 37):
        metadata.write_bytes(real[:size])
        assert torchport("inspect", "dcp_training").returncode == 1
    metadata.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    assert "is not metadata" in torchport("inspect", "dcp_training").stderr
    assert not (torchport.folder / "pwned").exists()


def test_what_is_no_checkpoint(torchport) -> None:
    torchport.write("text.pt", "hello")
    torchport.write("lfs.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    torchport.write("page.pt", "<!DOCTYPE html><html></html>")
    torchport.write("empty.pt", "")
    torchport.write("plain.pkl", pickle.dumps({"a": 1}))
    (torchport.folder / "folder").mkdir()
    names = ["text.pt", "lfs.pt", "page.pt", "empty.pt", "none.pt", "folder", "plain.pkl"]
    run = torchport("inspect", *names)
    assert run.returncode == 1
    for words in (
        "text.pt: is not a checkpoint that torchport can read",
        "lfs.pt: is a Git LFS pointer",
        "page.pt: is a web page",
        "empty.pt: is empty",
        "none.pt: No such file",
        "folder: is a folder without an index",
    ):
        assert f"torchport: {words}" in run.stderr
    assert "a = 1" in run.stdout
    assert torchport("inspect").returncode == 2

"""`torchport inspect`: what a checkpoint holds, told without loading it."""

from __future__ import annotations

import json
import os
import pickle
import struct
import warnings

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn


def contents(torchport, name: str, code: int = 0) -> dict:
    run = torchport("inspect", "--json", name)
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)


def same_as_torch(torchport, name: str, state: dict[str, torch.Tensor]) -> None:
    listed = {tensor["path"]: tensor for tensor in contents(torchport, name)["tensors"]}
    assert listed.keys() == state.keys()
    for path, tensor in state.items():
        entry = listed[path]
        assert entry["shape"] == list(tensor.shape), path
        assert entry["dtype"] == str(tensor.dtype).removeprefix("torch."), path
        assert entry["device"] == str(tensor.device), path
        if tensor.layout == torch.strided and not tensor.is_meta and not tensor.is_quantized:
            assert entry["stride"] == list(tensor.stride()), path
            assert entry["offset"] == tensor.storage_offset(), path


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Embedding(5, 3))


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_a_state_dict_is_listed_as_torch_loads_it(torchport, new: bool) -> None:
    base = torch.randn(4, 4)
    state = model().state_dict() | {
        "view": base[1:, 2],
        "transposed": base.t(),
        "empty": torch.empty(0, 3),
        "scalar": torch.tensor(3),
    }
    for dtype in (torch.bfloat16, torch.float16, torch.float64, torch.complex64, torch.bool):
        state[str(dtype)[6:]] = torch.zeros(2, dtype=dtype)
    if new:
        state |= {
            "f8": torch.zeros(2).to(torch.float8_e4m3fn),
            "u32": torch.zeros(2).to(torch.uint32),
        }
    torch.save(state, torchport.folder / "a.pt", _use_new_zipfile_serialization=new)
    same_as_torch(torchport, "a.pt", state)
    found = contents(torchport, "a.pt")
    assert found["refused"] == found["notes"] == found["broken"] == []


def test_bytes_are_where_they_are_said_to_be(torchport) -> None:
    values = torch.arange(7, dtype=torch.int32)
    for new in (True, False):
        path = torchport.folder / "a.pt"
        torch.save([torch.ones(3), values], path, _use_new_zipfile_serialization=new)
        found = contents(torchport, "a.pt")
        entry = next(t for t in found["tensors"] if t["path"] == "[1]")
        storage = next(s for s in found["storages"] if s["key"] == entry["storage"])
        start = storage["offset"]
        raw = path.read_bytes()[start : start + storage["bytes"]]
        assert raw == values.numpy().tobytes()


def test_training_checkpoint_in_text(torchport) -> None:
    net = model()
    optimizer = torch.optim.Adam(net[:2].parameters())
    net[:2](torch.randn(4, 2)).sum().backward()
    optimizer.step()
    everything = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    torch.save(everything, torchport.folder / "a.pt")
    text = torchport("inspect", "a.pt").stdout
    assert text.startswith("a.pt: torch.save, ")
    for line in (
        "  model.0.weight ",
        "  optimizer.state[0].exp_avg ",
        "  optimizer.param_groups[0].betas = (0.9, 0.999)\n",
        "  epoch = 3\n",
    ):
        assert line in text


def test_kinds_of_tensors(torchport) -> None:
    x = torch.randn(4, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved = {
            "p": nn.Parameter(x.clone()),
            "sparse": x.to_sparse(),
            "csr": x.to_sparse_csr(),
            "quantized": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
            "ragged": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            "meta": torch.empty(3, device="meta"),
        }
        torch.save(saved | {"at": torch.device("cuda", 1)}, torchport.folder / "a.pt")
    found = contents(torchport, "a.pt")
    kinds = {tensor["path"]: tensor["kind"] for tensor in found["tensors"]}
    assert kinds == {
        "p": "parameter",
        "sparse": "sparse",
        "csr": "sparse",
        "quantized": "quantized",
        "ragged": "nested",
        "meta": "tensor",
    }
    assert found["values"] == {"at": "torch.device('cuda', 1)"}


def test_a_whole_module_has_the_names_of_its_state_dict(torchport) -> None:
    net = model()
    torch.save(net, torchport.folder / "a.pt")
    same_as_torch(torchport, "a.pt", net.state_dict())
    found = contents(torchport, "a.pt")
    assert "torch.nn.modules.container.Sequential" in found["refused"]
    assert "weights_only" in found["notes"][0]


@pytest.mark.filterwarnings("ignore")
def test_script_and_export(torchport) -> None:
    net = model()[:2].eval()
    torch.jit.script(net).save(torchport.folder / "s.pt")
    torch.export.save(torch.export.export(net, (torch.randn(2, 2),)), torchport.folder / "e.pt2")
    same_as_torch(torchport, "s.pt", net.state_dict())
    same_as_torch(torchport, "e.pt2", net.state_dict())
    assert contents(torchport, "s.pt")["format"] == "TorchScript"
    assert contents(torchport, "e.pt2")["format"] == "torch.export"


def test_notes_on_prefixes_and_devices(torchport) -> None:
    torch.save(nn.DataParallel(model()).state_dict(), torchport.folder / "dp.pt")
    assert 'begin with "module."' in contents(torchport, "dp.pt")["notes"][0]
    torch.save({"_orig_mod.weight": torch.ones(2)}, torchport.folder / "c.pt")
    assert "torch.compile" in contents(torchport, "c.pt")["notes"][0]
    # As a GPU writes it: the device's name stands in the pickle alone.
    torch.save(
        {"w": torch.ones(2)}, torchport.folder / "g.pt", _use_new_zipfile_serialization=False
    )
    data = (torchport.folder / "g.pt").read_bytes()
    data = data.replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    torchport.write("g.pt", data)
    found = contents(torchport, "g.pt")
    assert found["tensors"][0]["device"] == "cuda:0"
    assert "map_location" in found["notes"][0]


def test_shared_storage_is_told(torchport) -> None:
    weight = torch.ones(3, 3)
    torch.save({"embed": weight, "head": weight}, torchport.folder / "a.pt")
    assert "  shares embed\n" in torchport("inspect", "a.pt").stdout


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


def test_code_in_a_file_is_named_and_not_run(torchport) -> None:
    torch.save({"w": torch.ones(2), "e": Evil()}, torchport.folder / "a.pt")
    found = contents(torchport, "a.pt", 1)
    assert found["refused"] == [f"{os.name}.system"]
    assert "do not load it" in found["broken"][0]
    assert [tensor["path"] for tensor in found["tensors"]] == ["w"]
    assert not (torchport.folder / "pwned").exists()


def test_what_a_safe_load_accepts_is_as_torch_has_it(torchport) -> None:
    """The table of names.cpp, asked through the program, against torch's own."""
    from torch._weights_only_unpickler import _get_allowed_globals

    allowed = set(_get_allowed_globals())
    others = {"os.system", "torch.nn.Linear", "torch.FloatTensors", "torch.cuda.QInt8Storage"}
    others |= {"torch._utils._rebuild_sparse_csr_tensor", "torch.cuda.float32", "builtins.eval"}
    others |= {"torch.storage.FloatStorage", "torch.UntypedStorage", "torch.sparse.BoolTensor"}
    names = sorted(allowed | others)
    program = b"".join(f"c{n.rpartition('.')[0]}\n{n.rpartition('.')[2]}\n".encode() for n in names)
    torchport.write("a.pkl", b"\x80\x02(" + program + b"t.")
    run = torchport("inspect", "--json", "a.pkl")
    assert set(json.loads(run.stdout)["refused"]) == set(names) - allowed


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_every_cut_is_told(torchport, new: bool) -> None:
    torch.save(
        {"w": torch.ones(1000)}, torchport.folder / "a.pt", _use_new_zipfile_serialization=new
    )
    whole = (torchport.folder / "a.pt").read_bytes()
    for end in [*range(0, len(whole), 397), len(whole) - 22, len(whole) - 1]:
        torchport.write("a.pt", whole[:end])
        run = torchport("inspect", "a.pt")
        assert run.returncode == 1, end
        assert "a.pt" in run.stderr or "broken: " in run.stdout, end


def test_damage_inside_is_told_or_harmless(torchport) -> None:
    torch.save({"w": torch.ones(10), "b": [1, 2]}, torchport.folder / "a.pt")
    whole = bytearray((torchport.folder / "a.pt").read_bytes())
    for at in range(0, len(whole), 29):
        torchport.write(
            "a.pt", bytes(whole[:at]) + bytes([whole[at] ^ 0xFF]) + bytes(whole[at + 1 :])
        )
        assert torchport("inspect", "a.pt").returncode in (0, 1), at


def safetensors(header: dict, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_safetensors(torchport) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
    }
    torchport.write("a.safetensors", safetensors(header, bytes(22)))
    found = contents(torchport, "a.safetensors")
    assert [(t["path"], t["dtype"], t["shape"]) for t in found["tensors"]] == [
        ("a", "float32", [2, 2]),
        ("b", "bfloat16", [3]),
    ]
    assert found["values"] == {"__metadata__.format": "'pt'"}
    torchport.write("cut.safetensors", safetensors(header, bytes(20)))
    assert "2 bytes before" in contents(torchport, "cut.safetensors", 1)["broken"][0]
    header["b"]["data_offsets"] = [12, 18]
    torchport.write("over.safetensors", safetensors(header, bytes(18)))
    assert "overlaps" in contents(torchport, "over.safetensors", 1)["broken"][0]


def test_what_is_no_checkpoint(torchport) -> None:
    torchport.write("text.pt", "hello")
    torchport.write("lfs.pt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    torchport.write("page.pt", "<!DOCTYPE html><html></html>")
    torchport.write("empty.pt", "")
    torchport.write("plain.pkl", pickle.dumps({"a": 1}))
    (torchport.folder / "folder").mkdir()
    run = torchport(
        "inspect", "text.pt", "lfs.pt", "page.pt", "empty.pt", "none.pt", "folder", "plain.pkl"
    )
    assert run.returncode == 1
    for words in (
        "text.pt: is no checkpoint that torchport knows",
        "lfs.pt: is a Git LFS pointer",
        "page.pt: is a web page",
        "empty.pt: is empty",
        "none.pt: No such file",
        "folder: is no regular file",
    ):
        assert f"torchport: {words}" in run.stderr
    assert "a = 1" in run.stdout
    assert torchport("inspect").returncode == 2

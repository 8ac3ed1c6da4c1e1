"""torchport.save and load: formats, devices, reports, refusals."""

import json
import os
import pickle
import re
import struct
import zipfile
from pathlib import Path

import pytest
import torch
import torchport
from safetensors.torch import load_file, save_file

pytestmark = [pytest.mark.devices("cuda:2"), pytest.mark.usefixtures("own_folder")]


ONE = torch.device("cuda:1")


class Net(torch.nn.Module):
    """Tied weights, running statistics, and positions that no state dict has."""

    def __init__(self, width=4):
        super().__init__()
        self.embed = torch.nn.Embedding(10, width)
        self.head = torch.nn.Linear(width, 10, bias=False)
        self.head.weight = self.embed.weight
        self.norm = torch.nn.BatchNorm1d(10)
        self.register_buffer("positions", torch.arange(5), persistent=False)

    def forward(self, ids):
        return self.norm(self.head(self.embed(ids)))


torch.manual_seed(0)
NET = Net()
with torch.no_grad():
    NET(torch.tensor([1, 2, 3]))  # statistics that are not the initial ones


def same(module, other=NET):
    ours, theirs = module.state_dict(), other.state_dict()
    assert list(ours) == list(theirs)
    for name in ours:
        assert torch.equal(ours[name].cpu(), theirs[name].cpu()), name
        assert ours[name].dtype == theirs[name].dtype, name
    assert module.head.weight is module.embed.weight
    assert module.positions.tolist() == [0, 1, 2, 3, 4]


def saved_in_every_format(folder, state):
    """Files of one state dict: (path, key)."""
    torchport.save(state, folder / "net.pt")
    torchport.save(state, folder / "net.safetensors")
    torchport.save(state, folder / "shards", shards=150)
    torchport.save(state, folder / "dcp", distributed=True)
    torchport.save({"model": state, "epoch": 3, "lr": 0.1}, folder / "training.pt")
    torch.save(state, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    torchport.save({"model": state, "epoch": 3}, folder / "dcp_training", distributed=True)
    return [
        ("net.pt", None),
        ("net.safetensors", None),
        ("shards", None),
        ("shards/model.safetensors.index.json", None),
        ("dcp", None),
        ("training.pt", None),
        ("training.pt", "model"),
        ("legacy.pt", None),
        ("dcp_training", "model"),
    ]


def test_every_format_loads_onto_every_device(tmp_path):
    for saved_on in ("cpu", ONE):
        state = torchport.to(NET.state_dict(), saved_on)
        for name, key in saved_in_every_format(tmp_path, state):
            for device in ("cpu", ONE):
                made = torchport.load(tmp_path / name, into=Net, device=device, key=key)
                same(made)
                assert {t.device for t in made.state_dict().values()} == {torch.device(device)}, (
                    name
                )
                filled = torchport.load(tmp_path / name, into=Net().to(device), key=key)
                same(filled)
                assert filled.embed.weight.device == torch.device(device), name
                made(torch.tensor([1, 2], device=device)).sum().backward()
                assert made.embed.weight.grad.device == torch.device(device)


def test_objects_come_back_as_they_were(tmp_path):
    saved_in_every_format(tmp_path, NET.state_dict())
    found = torchport.load(tmp_path / "training.pt", device=ONE)
    assert found["epoch"] == 3 and found["lr"] == 0.1
    assert found["model"]["embed.weight"].device == ONE
    assert torchport.load(tmp_path / "training.pt", key="epoch") == 3
    assert torchport.load(tmp_path / "dcp_training")["epoch"] == 3
    with pytest.raises(torchport.CheckpointError, match="it has model, epoch, lr"):
        torchport.load(tmp_path / "training.pt", key="ema")


def test_files_are_others_files_too(tmp_path):
    torchport.save(NET, tmp_path / "ours.safetensors", metadata={"note": "ours"})
    theirs = load_file(tmp_path / "ours.safetensors")
    assert torch.equal(theirs["embed.weight"], NET.embed.weight)
    assert "head.weight" not in theirs  # the format knows no sharing
    loaded = torchport.load(tmp_path / "ours.safetensors")
    assert loaded["head.weight"].data_ptr() == loaded["embed.weight"].data_ptr()
    kinds = {
        "half": torch.ones(3, dtype=torch.half),
        "flag": torch.tensor([True]),
        "byte": torch.arange(5, dtype=torch.uint8),
        "empty": torch.zeros(0, 4),
        "scalar": torch.tensor(2.5, dtype=torch.float64),
        "bf16": torch.ones(1, dtype=torch.bfloat16),
        "f8": torch.ones(3).to(torch.float8_e4m3fn),
        "turned": torch.arange(6.0).view(2, 3).t(),
    }
    save_file({k: v.contiguous() for k, v in kinds.items()}, tmp_path / "theirs.safetensors")
    torchport.save(kinds, tmp_path / "kinds.safetensors")
    for name in ("theirs.safetensors", "kinds.safetensors"):
        for key, value in torchport.load(tmp_path / name, device="cpu").items():
            assert value.dtype == kinds[key].dtype and value.shape == kinds[key].shape
            assert torch.equal(value.float(), kinds[key].float()), key
    assert load_file(tmp_path / "kinds.safetensors")["turned"].tolist() == kinds["turned"].tolist()


def test_wrappers_leave_no_trace(tmp_path):
    for wrapped in (torch.nn.DataParallel(NET), torch.compile(NET)):
        torchport.save(wrapped, tmp_path / "wrapped.pt")
        same(torchport.load(tmp_path / "wrapped.pt", into=Net))


def test_tied_weights_are_saved_once_and_need_one_name(tmp_path):
    torchport.save(Net().to(ONE), tmp_path / "tied.pt")
    loaded = torch.load(tmp_path / "tied.pt", weights_only=True)
    assert loaded["head.weight"].data_ptr() == loaded["embed.weight"].data_ptr()
    for left in ("head.weight", "embed.weight"):
        state = {k: v for k, v in NET.state_dict().items() if k != left}
        save_file(state, tmp_path / "one_name.safetensors")
        same(torchport.load(tmp_path / "one_name.safetensors", into=Net))
        assert torchport.load_report(tmp_path / "one_name.safetensors", Net()).complete
    torch.save({"module." + k: v for k, v in state.items()}, tmp_path / "one_name.pt")
    same(torchport.load(tmp_path / "one_name.pt", into=Net, remap_prefixes=True))


def test_prefixes_are_healed_on_request_alone(tmp_path):
    for prefix in ("module.", "_orig_mod.", "module._orig_mod.", "backbone.", "model.net."):
        torch.save({prefix + k: v for k, v in NET.state_dict().items()}, tmp_path / "prefixed.pt")
        with pytest.raises(torchport.CheckpointError) as caught:
            torchport.load(tmp_path / "prefixed.pt", into=Net)
        words = str(caught.value)
        assert "7 missing from the file" in words and "with remap_prefixes:" in words, words
        same(torchport.load(tmp_path / "prefixed.pt", into=Net, remap_prefixes=True))
    torch.save(NET.state_dict(), tmp_path / "plain.pt")
    outer = torch.nn.ModuleDict({"backbone": Net()})
    torchport.load(tmp_path / "plain.pt", into=outer, remap_prefixes=True)
    assert torch.equal(outer["backbone"].norm.running_mean, NET.norm.running_mean)


def test_what_does_not_fit_is_named_and_changes_nothing(tmp_path):
    state = dict(NET.state_dict())
    del state["norm.bias"]
    state["extra"] = torch.ones(1)
    state["norm.running_mean"] = torch.zeros(3)
    state["norm.weight"] = state["norm.weight"].double()
    torch.save(state, tmp_path / "other.pt")
    module = Net()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    with pytest.raises(torchport.CheckpointError) as caught:
        torchport.load(tmp_path / "other.pt", into=module)
    found = caught.value.report
    assert found.missing == ["norm.bias"] and found.unexpected == ["extra"]
    assert [(m.name, m.wanted, m.given) for m in found.shapes] == [
        ("norm.running_mean", "[10]", "[3]")
    ]
    assert [(m.name, m.wanted, m.given) for m in found.dtypes] == [
        ("norm.weight", "Float", "Double")
    ]
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    assert str(torchport.load_report(tmp_path / "other.pt", module)) == str(found)
    torchport.load(tmp_path / "other.pt", into=module, strict=False)
    assert torch.equal(module.embed.weight, NET.embed.weight)
    assert module.norm.weight.dtype == torch.float32
    assert torch.equal(module.norm.running_mean, before["norm.running_mean"])


def test_dtypes_are_the_modules_or_as_asked(tmp_path):
    torchport.save(
        torchport.to(NET.state_dict(), "cpu", dtype=torch.half), tmp_path / "half.safetensors"
    )
    assert (
        torchport.load(tmp_path / "half.safetensors", into=Net).embed.weight.dtype == torch.float32
    )
    made = torchport.load(tmp_path / "half.safetensors", into=Net, dtype=torch.bfloat16)
    assert made.embed.weight.dtype == torch.bfloat16
    assert made.norm.num_batches_tracked.dtype == torch.long


def test_a_mapped_file_is_never_changed(tmp_path):
    for name in ("net.pt", "net.safetensors"):
        torchport.save(NET, tmp_path / name)
        before = (tmp_path / name).read_bytes()
        module = torchport.load(tmp_path / name, into=Net)
        with torch.no_grad():
            module.embed.weight.zero_()
        assert (tmp_path / name).read_bytes() == before and module.embed.weight.sum() == 0
        again = torchport.load(tmp_path / name, into=Net, mmap=False)
        (tmp_path / name).unlink()
        same(again)


def test_archives_that_a_zip_tool_packed_again(tmp_path):
    torchport.save(NET, tmp_path / "stored.pt")
    with (
        zipfile.ZipFile(tmp_path / "stored.pt") as stored,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
    same(torchport.load(tmp_path / "packed.pt", into=Net))


def test_weights_of_exported_programs(tmp_path):
    linear = torch.nn.Linear(3, 2)
    torch.jit.script(linear).save(tmp_path / "script.pt")
    torch.export.save(torch.export.export(linear, (torch.ones(3),)), tmp_path / "export.pt2")
    for name in ("script.pt", "export.pt2"):
        loaded = torchport.load(tmp_path / name, into=lambda: torch.nn.Linear(3, 2), device=ONE)
        assert torch.equal(loaded.weight.cpu(), linear.weight), name


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


def test_code_in_files_is_named_and_not_run(tmp_path):
    torch.save({"w": torch.ones(1), "evil": Evil()}, tmp_path / "evil.pt")
    torch.save({"evil": Evil()}, tmp_path / "evil_old.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(Evil()))
    for name in ("evil.pt", "evil_old.pt", "evil.pkl"):
        with pytest.raises(torchport.CheckpointError) as caught:
            torchport.load(tmp_path / name)
        words = str(caught.value)
        assert f"{os.name}.system" in words and "nothing in it was run" in words, words
        with pytest.raises(torchport.CheckpointError):
            torchport.load(tmp_path / name, into=Net)
    torchport.save({"w": torch.ones(2)}, tmp_path / "bad_dcp", distributed=True)
    real = (tmp_path / "bad_dcp" / ".metadata").read_bytes()
    (tmp_path / "bad_dcp" / ".metadata").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(torchport.CheckpointError, match=re.escape("posix.system")):
        torchport.load(tmp_path / "bad_dcp")
    (tmp_path / "bad_dcp" / ".metadata").write_bytes(real.replace(b"__0_0.distcp", b"../../../abc"))
    with pytest.raises(torchport.CheckpointError, match="outside"):
        torchport.load(tmp_path / "bad_dcp")
    module = torch.nn.Linear(1, 1)
    torch.save(module, tmp_path / "module.pt")
    with pytest.raises(torchport.CheckpointError, match=re.escape("state_dict()")):
        torchport.load(tmp_path / "module.pt")
    assert not Path("pwned").exists()


def test_an_object_in_a_distributed_checkpoint_is_not_run_either(tmp_path):
    import torch.distributed.checkpoint as dcp

    dcp.save(
        {"w": torch.ones(1), "evil": Evil()}, checkpoint_id=tmp_path / "evil_dcp", no_dist=True
    )
    with pytest.raises(torchport.CheckpointError) as caught:
        torchport.load(tmp_path / "evil_dcp")
    words = str(caught.value)
    assert "nothing in it was run" in words and "system" in words, words
    assert not Path("pwned").exists()


def test_damaged_files_are_told(tmp_path):
    torchport.save(NET, tmp_path / "whole.pt")
    torchport.save(NET, tmp_path / "whole.safetensors")
    for name in ("whole.pt", "whole.safetensors"):
        whole = (tmp_path / name).read_bytes()
        for size in (0, 1, 8, 9, 100, len(whole) // 2, len(whole) - 1):
            (tmp_path / "cut").write_bytes(whole[:size])
            with pytest.raises(torchport.CheckpointError) as caught:
                torchport.load(tmp_path / "cut")
            words = str(caught.value)
            assert str(tmp_path / "cut") in words, words
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}})
    (tmp_path / "huge").write_bytes(struct.pack("<Q", len(header)) + header.encode() + b"\0" * 8)
    with pytest.raises(torchport.CheckpointError):
        torchport.load(tmp_path / "huge")
    index = {"weight_map": {"w": "../../etc/passwd"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(torchport.CheckpointError, match="not in the folder of the index"):
        torchport.load(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(torchport.CheckpointError, match="weight_map"):
        torchport.load(tmp_path)
    (tmp_path / "nothing").mkdir()
    with pytest.raises(torchport.CheckpointError, match="without an index"):
        torchport.load(tmp_path / "nothing")
    with pytest.raises(torchport.CheckpointError, match="No such file"):
        torchport.load(tmp_path / "absent.pt")


def test_saving_is_whole_or_not_at_all(tmp_path):
    torchport.save({"w": torch.ones(1)}, tmp_path / "kept.pt")
    torchport.save({"w": torch.ones(1)}, tmp_path / "kept.safetensors")
    sparse = {"w": torch.eye(2).to_sparse()}
    with pytest.raises(ValueError, match="sparse"):
        torchport.save(sparse, tmp_path / "kept.safetensors")
    with pytest.raises(ValueError, match="tensors by name"):
        torchport.save({"n": 1}, tmp_path / "x.safetensors")
    with pytest.raises((AttributeError, pickle.PicklingError)):
        torchport.save({"f": lambda: 1}, tmp_path / "kept.pt")
    with pytest.raises(RuntimeError):
        torchport.save({"w": torch.ones(1)}, tmp_path / "no" / "x.safetensors")
    assert torchport.load(tmp_path / "kept.pt")["w"].item() == 1
    assert torchport.load(tmp_path / "kept.safetensors")["w"].item() == 1
    assert not list(tmp_path.glob("*.partial")) and not (tmp_path / "x.safetensors").exists()
    with pytest.raises(ValueError, match="`lots` is not a size"):
        torchport.save({}, tmp_path / "s", shards="lots")
    with pytest.raises(ValueError, match="too small"):
        torchport.save({}, tmp_path / "s", shards=0)

"""torchport.save and load: formats, devices, reports, refusals."""

import json
import os
import pickle
import struct
import tempfile
import zipfile
from pathlib import Path

import torch
import torchport
from checks import check, error_of, run_checks
from safetensors.torch import load_file, save_file

ONE = torch.device("cuda:1")
HERE = Path(tempfile.mkdtemp(dir="."))


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


def saved_in_every_format(state):
    """Files of one state dict: (path, key)."""
    torchport.save(state, HERE / "net.pt")
    torchport.save(state, HERE / "net.safetensors")
    torchport.save(state, HERE / "shards", shards=150)
    torchport.save(state, HERE / "dcp", distributed=True)
    torchport.save({"model": state, "epoch": 3, "lr": 0.1}, HERE / "training.pt")
    torch.save(state, HERE / "legacy.pt", _use_new_zipfile_serialization=False)
    torchport.save({"model": state, "epoch": 3}, HERE / "dcp_training", distributed=True)
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


@check
def every_format_loads_onto_every_device():
    for saved_on in ("cpu", ONE):
        state = torchport.to(NET.state_dict(), saved_on)
        for name, key in saved_in_every_format(state):
            for device in ("cpu", ONE):
                made = torchport.load(HERE / name, into=Net, device=device, key=key)
                same(made)
                assert {t.device for t in made.state_dict().values()} == {torch.device(device)}, (
                    name
                )
                filled = torchport.load(HERE / name, into=Net().to(device), key=key)
                same(filled)
                assert filled.embed.weight.device == torch.device(device), name
                made(torch.tensor([1, 2], device=device)).sum().backward()
                assert made.embed.weight.grad.device == torch.device(device)


@check
def objects_come_back_as_they_were():
    saved_in_every_format(NET.state_dict())
    found = torchport.load(HERE / "training.pt", device=ONE)
    assert found["epoch"] == 3 and found["lr"] == 0.1
    assert found["model"]["embed.weight"].device == ONE
    assert torchport.load(HERE / "training.pt", key="epoch") == 3
    assert torchport.load(HERE / "dcp_training")["epoch"] == 3
    assert "it has model, epoch, lr" in error_of(
        torchport.CheckpointError, torchport.load, HERE / "training.pt", key="ema"
    )


@check
def files_are_others_files_too():
    torchport.save(NET, HERE / "ours.safetensors", metadata={"note": "ours"})
    theirs = load_file(HERE / "ours.safetensors")
    assert torch.equal(theirs["embed.weight"], NET.embed.weight)
    assert "head.weight" not in theirs  # the format knows no sharing
    loaded = torchport.load(HERE / "ours.safetensors")
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
    save_file({k: v.contiguous() for k, v in kinds.items()}, HERE / "theirs.safetensors")
    torchport.save(kinds, HERE / "kinds.safetensors")
    for name in ("theirs.safetensors", "kinds.safetensors"):
        for key, value in torchport.load(HERE / name, device="cpu").items():
            assert value.dtype == kinds[key].dtype and value.shape == kinds[key].shape
            assert torch.equal(value.float(), kinds[key].float()), key
    assert load_file(HERE / "kinds.safetensors")["turned"].tolist() == kinds["turned"].tolist()


@check
def wrappers_leave_no_trace():
    for wrapped in (torch.nn.DataParallel(NET), torch.compile(NET)):
        torchport.save(wrapped, HERE / "wrapped.pt")
        same(torchport.load(HERE / "wrapped.pt", into=Net))


@check
def tied_weights_are_saved_once_and_need_one_name():
    torchport.save(Net().to(ONE), HERE / "tied.pt")
    loaded = torch.load(HERE / "tied.pt", weights_only=True)
    assert loaded["head.weight"].data_ptr() == loaded["embed.weight"].data_ptr()
    for left in ("head.weight", "embed.weight"):
        state = {k: v for k, v in NET.state_dict().items() if k != left}
        save_file(state, HERE / "one_name.safetensors")
        same(torchport.load(HERE / "one_name.safetensors", into=Net))
        assert torchport.load_report(HERE / "one_name.safetensors", Net()).complete
    torch.save({"module." + k: v for k, v in state.items()}, HERE / "one_name.pt")
    same(torchport.load(HERE / "one_name.pt", into=Net, remap_prefixes=True))


@check
def prefixes_are_healed_on_request_alone():
    for prefix in ("module.", "_orig_mod.", "module._orig_mod.", "backbone.", "model.net."):
        torch.save({prefix + k: v for k, v in NET.state_dict().items()}, HERE / "prefixed.pt")
        words = error_of(torchport.CheckpointError, torchport.load, HERE / "prefixed.pt", into=Net)
        assert "7 missing from the file" in words and "with remap_prefixes:" in words, words
        same(torchport.load(HERE / "prefixed.pt", into=Net, remap_prefixes=True))
    torch.save(NET.state_dict(), HERE / "plain.pt")
    outer = torch.nn.ModuleDict({"backbone": Net()})
    torchport.load(HERE / "plain.pt", into=outer, remap_prefixes=True)
    assert torch.equal(outer["backbone"].norm.running_mean, NET.norm.running_mean)


@check
def what_does_not_fit_is_named_and_changes_nothing():
    state = dict(NET.state_dict())
    del state["norm.bias"]
    state["extra"] = torch.ones(1)
    state["norm.running_mean"] = torch.zeros(3)
    state["norm.weight"] = state["norm.weight"].double()
    torch.save(state, HERE / "other.pt")
    module = Net()
    before = {k: v.clone() for k, v in module.state_dict().items()}
    try:
        torchport.load(HERE / "other.pt", into=module)
    except torchport.CheckpointError as error:
        found = error.report
    assert found.missing == ["norm.bias"] and found.unexpected == ["extra"]
    assert [(m.name, m.wanted, m.given) for m in found.shapes] == [
        ("norm.running_mean", "[10]", "[3]")
    ]
    assert [(m.name, m.wanted, m.given) for m in found.dtypes] == [
        ("norm.weight", "Float", "Double")
    ]
    assert all(torch.equal(v, before[k]) for k, v in module.state_dict().items())
    assert str(torchport.load_report(HERE / "other.pt", module)) == str(found)
    torchport.load(HERE / "other.pt", into=module, strict=False)
    assert torch.equal(module.embed.weight, NET.embed.weight)
    assert module.norm.weight.dtype == torch.float32
    assert torch.equal(module.norm.running_mean, before["norm.running_mean"])


@check
def dtypes_are_the_modules_or_as_asked():
    torchport.save(
        torchport.to(NET.state_dict(), "cpu", dtype=torch.half), HERE / "half.safetensors"
    )
    assert torchport.load(HERE / "half.safetensors", into=Net).embed.weight.dtype == torch.float32
    made = torchport.load(HERE / "half.safetensors", into=Net, dtype=torch.bfloat16)
    assert made.embed.weight.dtype == torch.bfloat16
    assert made.norm.num_batches_tracked.dtype == torch.long


@check
def a_mapped_file_is_never_changed():
    for name in ("net.pt", "net.safetensors"):
        torchport.save(NET, HERE / name)
        before = (HERE / name).read_bytes()
        module = torchport.load(HERE / name, into=Net)
        with torch.no_grad():
            module.embed.weight.zero_()
        assert (HERE / name).read_bytes() == before and module.embed.weight.sum() == 0
        again = torchport.load(HERE / name, into=Net, mmap=False)
        (HERE / name).unlink()
        same(again)


@check
def archives_that_a_zip_tool_packed_again():
    torchport.save(NET, HERE / "stored.pt")
    with (
        zipfile.ZipFile(HERE / "stored.pt") as stored,
        zipfile.ZipFile(HERE / "packed.pt", "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for name in stored.namelist():
            packed.writestr(name, stored.read(name))
    same(torchport.load(HERE / "packed.pt", into=Net))


@check
def weights_of_exported_programs():
    linear = torch.nn.Linear(3, 2)
    torch.jit.script(linear).save(HERE / "script.pt")
    torch.export.save(torch.export.export(linear, (torch.ones(3),)), HERE / "export.pt2")
    for name in ("script.pt", "export.pt2"):
        loaded = torchport.load(HERE / name, into=lambda: torch.nn.Linear(3, 2), device=ONE)
        assert torch.equal(loaded.weight.cpu(), linear.weight), name


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


@check
def code_in_files_is_named_and_not_run():
    torch.save({"w": torch.ones(1), "evil": Evil()}, HERE / "evil.pt")
    torch.save({"evil": Evil()}, HERE / "evil_old.pt", _use_new_zipfile_serialization=False)
    (HERE / "evil.pkl").write_bytes(pickle.dumps(Evil()))
    for name in ("evil.pt", "evil_old.pt", "evil.pkl"):
        words = error_of(torchport.CheckpointError, torchport.load, HERE / name)
        assert f"{os.name}.system" in words and "nothing in it was run" in words, words
        error_of(torchport.CheckpointError, torchport.load, HERE / name, into=Net)
    torchport.save({"w": torch.ones(2)}, HERE / "bad_dcp", distributed=True)
    real = (HERE / "bad_dcp" / ".metadata").read_bytes()
    (HERE / "bad_dcp" / ".metadata").write_bytes(pickle.dumps(Evil()))
    assert "posix.system" in error_of(torchport.CheckpointError, torchport.load, HERE / "bad_dcp")
    (HERE / "bad_dcp" / ".metadata").write_bytes(real.replace(b"__0_0.distcp", b"../../../abc"))
    assert "outside" in error_of(torchport.CheckpointError, torchport.load, HERE / "bad_dcp")
    module = torch.nn.Linear(1, 1)
    torch.save(module, HERE / "module.pt")
    assert "state_dict()" in error_of(torchport.CheckpointError, torchport.load, HERE / "module.pt")
    assert not Path("pwned").exists()


@check
def an_object_in_a_distributed_checkpoint_is_not_run_either():
    import torch.distributed.checkpoint as dcp

    dcp.save({"w": torch.ones(1), "evil": Evil()}, checkpoint_id=HERE / "evil_dcp", no_dist=True)
    words = error_of(torchport.CheckpointError, torchport.load, HERE / "evil_dcp")
    assert "nothing in it was run" in words and "system" in words, words
    assert not Path("pwned").exists()


@check
def damaged_files_are_told():
    torchport.save(NET, HERE / "whole.pt")
    torchport.save(NET, HERE / "whole.safetensors")
    for name in ("whole.pt", "whole.safetensors"):
        whole = (HERE / name).read_bytes()
        for size in (0, 1, 8, 9, 100, len(whole) // 2, len(whole) - 1):
            (HERE / "cut").write_bytes(whole[:size])
            words = error_of(torchport.CheckpointError, torchport.load, HERE / "cut")
            assert str(HERE / "cut") in words, words
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}})
    (HERE / "huge").write_bytes(struct.pack("<Q", len(header)) + header.encode() + b"\0" * 8)
    error_of(torchport.CheckpointError, torchport.load, HERE / "huge")
    index = {"weight_map": {"w": "../../etc/passwd"}}
    (HERE / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "not in the folder of the index" in error_of(
        torchport.CheckpointError, torchport.load, HERE
    )
    (HERE / "model.safetensors.index.json").write_text("[]")
    assert "weight_map" in error_of(torchport.CheckpointError, torchport.load, HERE)
    (HERE / "nothing").mkdir()
    assert "without an index" in error_of(
        torchport.CheckpointError, torchport.load, HERE / "nothing"
    )
    assert "No such file" in error_of(torchport.CheckpointError, torchport.load, HERE / "absent.pt")


@check
def saving_is_whole_or_not_at_all():
    torchport.save({"w": torch.ones(1)}, HERE / "kept.pt")
    torchport.save({"w": torch.ones(1)}, HERE / "kept.safetensors")
    sparse = {"w": torch.eye(2).to_sparse()}
    assert "sparse" in error_of(ValueError, torchport.save, sparse, HERE / "kept.safetensors")
    assert "tensors by name" in error_of(
        ValueError, torchport.save, {"n": 1}, HERE / "x.safetensors"
    )
    error_of(Exception, torchport.save, {"f": lambda: 1}, HERE / "kept.pt")
    error_of(RuntimeError, torchport.save, {"w": torch.ones(1)}, HERE / "no" / "x.safetensors")
    assert torchport.load(HERE / "kept.pt")["w"].item() == 1
    assert torchport.load(HERE / "kept.safetensors")["w"].item() == 1
    assert not list(HERE.glob("*.partial")) and not (HERE / "x.safetensors").exists()
    assert "is not a size" in error_of(ValueError, torchport.save, {}, HERE / "s", shards="lots")


run_checks()

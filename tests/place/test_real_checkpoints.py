"""Checkpoints as programs really write them: objects beside the weights, whole models, several state
dicts in a file, quantized modules, constructors that read tensors, damaged bytes."""

from __future__ import annotations

import argparse
import datetime
import decimal
import enum
import fractions
import logging
import pathlib
import struct
import subprocess
import sys
import uuid
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
import torchport
from safetensors.torch import load_file
from torch import nn
from torchport import CheckpointError

pytestmark = [pytest.mark.devices(None, timeout=300), pytest.mark.usefixtures("own_folder")]

TORCHPORT = Path(sys.executable).with_name("torchport")


class Config:
    def __init__(self):
        self.width = 4


class Color(enum.Enum):
    RED = 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.body(x))


def net() -> Net:
    torch.manual_seed(0)
    return Net()


def same(module: nn.Module, other: nn.Module) -> bool:
    ours, theirs = module.state_dict(), other.state_dict()
    return list(ours) == list(theirs) and all(torch.equal(ours[n], theirs[n]) for n in ours)


def run(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TORCHPORT, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


PLAIN = {
    "namespace": argparse.Namespace(lr=0.1, out=pathlib.PosixPath("/runs")),
    "numpy_scalars": [np.float64(0.5), np.int64(3), np.bool_(True), np.float32(1)],
    "numpy_arrays": {"history": np.arange(5), "names": np.array(["a", "b"])},
    "dates": [datetime.datetime(2024, 1, 2), datetime.date(2024, 1, 2), datetime.timedelta(1)],
    "numbers": [decimal.Decimal("1.5"), fractions.Fraction(1, 2), complex(1, 2)],
    "sets": [{1, 2}, frozenset([3]), range(4), slice(1, 2)],
    "identity": uuid.UUID(int=7),
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_values_beside_the_weights_are_loaded(name):
    torch.save({"state_dict": net().state_dict(), "beside": PLAIN[name]}, "trained.pt")
    loaded = torchport.load("trained.pt", device="cpu")
    if name == "namespace":
        assert loaded["beside"].lr == 0.1 and str(loaded["beside"].out) == "/runs"
    elif name == "numpy_arrays":
        assert loaded["beside"]["history"].tolist() == [0, 1, 2, 3, 4]
    else:
        assert loaded["beside"] == PLAIN[name]
    assert same(torchport.load("trained.pt", into=Net, device="cpu"), net())


def test_other_objects_beside_the_weights_are_left_out_with_a_word(caplog):
    beside = {"config": Config(), "color": Color.RED, "epoch": 3}
    torch.save({"model": net().state_dict(), **beside}, "trained.pt")
    with caplog.at_level(logging.WARNING, "torchport"):
        assert same(torchport.load("trained.pt", into=Net, device="cpu"), net())
    assert "only its tensors are read, and no objects of" in caplog.text
    assert "Config" in caplog.text
    assert same(torchport.load("trained.pt", into=Net, device="cpu", key="model"), net())
    with pytest.raises(CheckpointError, match="no tensors under"):
        torchport.load("trained.pt", into=Net, device="cpu", key="ema")
    with pytest.raises(CheckpointError, match=r"Config, .*add_safe_globals"):
        torchport.load("trained.pt", device="cpu")


def test_classes_that_the_program_allows_are_loaded():
    torch.save({"model": net().state_dict(), "config": Config()}, "trained.pt")
    with torch.serialization.safe_globals([Config]):
        assert torchport.load("trained.pt", device="cpu")["config"].width == 4
    with pytest.raises(CheckpointError, match="Config"):
        torchport.load("trained.pt", device="cpu")


def test_a_whole_model_gives_its_tensors_and_runs_nothing(tmp_path):
    torch.save(net(), "whole.pt")
    assert same(torchport.load("whole.pt", into=Net, device="cpu"), net())
    done = run("inspect", "whole.pt", "--extract", "weights.safetensors")
    assert done.returncode == 0, done.stderr
    assert "weights.safetensors: 4 tensors" in done.stdout
    state = load_file("weights.safetensors")
    assert set(state) == set(net().state_dict())
    assert all(torch.equal(state[name], value) for name, value in net().state_dict().items())

    class Touch:
        def __reduce__(self):
            return Path.touch, (tmp_path / "ran",)

    model = net()
    model.hook = Touch()
    torch.save(model, "hooked.pt")
    assert run("inspect", "hooked.pt", "--extract", "hooked.safetensors").returncode == 0
    assert same(torchport.load("hooked.safetensors", into=Net, device="cpu"), net())
    with pytest.raises(CheckpointError, match=r"--extract .* do not load it"):
        torchport.load("hooked.pt", into=Net, device="cpu")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("new", [True, False], ids=["archive", "legacy"])
def test_extraction_keeps_views_sharing_and_dtypes(new):
    base = torch.arange(24.0).reshape(4, 6)
    tensors = {
        "base": base, "again": base, "columns": base.t()[1:4], "row": base[2, ::2],
        "half": torch.randn(3).half(), "brain": torch.randn(3).bfloat16(),
        "none": torch.zeros(0, 3), "scalar": torch.tensor(7), "flags": torch.tensor([True, False]),
        "wide": torch.tensor(1.5).expand(3, 2),
    }  # fmt: skip
    torch.save({"model": tensors, "step": 3}, "t.pt", _use_new_zipfile_serialization=new)
    done = run("inspect", "t.pt", "--extract", "t.safetensors", "--key", "model")
    assert done.returncode == 0, done.stderr
    for name, value in torchport.load("t.safetensors", device="cpu").items():
        assert torch.equal(value, tensors.pop(name)), name
    assert not tensors
    assert run("inspect", "t.pt", "--extract", "u.safetensors", "--key", "ema").returncode == 1
    assert not Path("u.safetensors").exists()


def test_what_cannot_be_extracted_is_named():
    quantized = torch.quantize_per_tensor(torch.randn(3, 3), 0.1, 0, torch.qint8)
    torch.save({"q": quantized, "s": torch.eye(3).to_sparse(), "w": torch.ones(2)}, "odd.pt")
    done = run("inspect", "odd.pt", "--extract", "odd.safetensors")
    assert done.returncode == 1 and list(load_file("odd.safetensors")) == ["w"]
    assert "left out: q, because it is a quantized tensor" in done.stdout
    assert "left out: s, because it is a sparse tensor" in done.stdout
    assert run("inspect", "odd.pt", "odd.pt", "--extract", "x").returncode == 2
    assert run("inspect", "absent.pt", "--extract", "x").returncode == 1
    assert run("inspect", "odd.pt", "--key", "model").returncode == 2


def test_the_only_state_dict_that_fits_is_taken_with_a_word(caplog):
    optimizer = torch.optim.Adam(net().parameters())
    net()(torch.ones(1, 4)).sum().backward()
    other = nn.Linear(3, 3).state_dict()
    torch.save(
        {"model": net().state_dict(), "discriminator": other, "optimizer": optimizer.state_dict(),
         "step": torch.tensor(5)}, "gan.pt",
    )  # fmt: skip
    with caplog.at_level(logging.WARNING, "torchport"):
        assert same(torchport.load("gan.pt", into=Net, device="cpu"), net())
    assert 'took "model", which fits; it also has tensors in discriminator' in caplog.text
    torch.save({"state": {"model": net().state_dict(), "ema": other}}, "nested.pt")
    assert same(torchport.load("nested.pt", into=Net, device="cpu"), net())
    assert torchport.load_report("nested.pt", Net()).complete


def test_several_that_fit_are_proposed():
    torch.save({"model": net().state_dict(), "ema": Net().state_dict()}, "two.pt")
    with pytest.raises(
        CheckpointError, match=r"'model', 'ema': choose one, for example key='model'"
    ):
        torchport.load("two.pt", into=Net, device="cpu")
    assert same(torchport.load("two.pt", into=Net, device="cpu", key="model"), net())


def test_a_state_dict_that_nearly_fits_is_reported_and_not_others():
    state = net().state_dict()
    del state["head.bias"]
    torch.save({"model": state, "ema": {"x": torch.ones(1)}}, "near.pt")
    with pytest.raises(CheckpointError, match=r'"model", does not fit Net') as caught:
        torchport.load("near.pt", into=Net, device="cpu")
    assert caught.value.report.missing == ["head.bias"]


class Rates(nn.Module):
    """As Swin and ConvNeXt: the constructor reads the values of a tensor."""

    def __init__(self):
        super().__init__()
        rates = [rate.item() for rate in torch.linspace(0, 0.2, 3)]
        self.blocks = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Dropout(r)) for r in rates])


def test_a_constructor_that_reads_tensors_is_called_without_meta(caplog):
    model = Rates()
    torchport.save(model, "rates.safetensors")
    with caplog.at_level(logging.WARNING, "torchport"):
        loaded = torchport.load("rates.safetensors", into=Rates, device="cpu")
    assert same(loaded, model) and loaded.blocks[2][1].p == pytest.approx(0.2)
    assert "Rates reads values of tensors while it is made" in caplog.text

    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            raise RuntimeError("no weights here")

    with pytest.raises(RuntimeError, match="no weights here"):
        torchport.load("rates.safetensors", into=Broken, device="cpu")


def quantized(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    return torch.ao.quantization.quantize_dynamic(layers, {nn.Linear})


@pytest.mark.filterwarnings("ignore")
def test_quantized_modules_get_their_weights():
    x = torch.randn(3, 4)
    torch.save(quantized(1).state_dict(), "int8.pt")
    loaded = torchport.load("int8.pt", into=quantized(2), device="cpu")
    assert torch.equal(loaded(x), quantized(1)(x))
    state = quantized(1).state_dict()
    del state["0._packed_params._packed_params"]
    torch.save(state, "part.pt")
    with pytest.raises(CheckpointError, match=r"0\._packed_params\._packed_params"):
        torchport.load("part.pt", into=quantized(2), device="cpu")
    weights = {
        "tensor": torch.quantize_per_tensor(torch.randn(3, 3), 0.1, 0, torch.quint8),
        "channel": torch.quantize_per_channel(
            torch.randn(3, 3), torch.full((3,), 0.1), torch.zeros(3), 0, torch.qint8
        ),
    }
    torch.save(weights, "tensors.pt")
    loaded = torchport.load("tensors.pt", device="cpu")
    assert all(torch.equal(loaded[n].int_repr(), weights[n].int_repr()) for n in weights)


class Counted(nn.Linear):
    def get_extra_state(self):
        return {"calls": 7}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def test_extra_state_is_loaded():
    torch.save(Counted(2, 1).state_dict(), "extra.pt")
    assert torchport.load("extra.pt", into=lambda: Counted(2, 1), device="cpu").calls == 7


def test_a_flipped_bit_is_told_with_its_tensor():
    torch.save(net().state_dict(), "good.pt")
    done = run("inspect", "good.pt", "--verify")
    assert done.returncode == 0 and "parts agree" in done.stdout
    bytes_ = bytearray(Path("good.pt").read_bytes())
    at = bytes_.find(net().head.weight.detach().numpy().tobytes())
    assert at > 0
    bytes_[at + 2] ^= 4
    Path("flipped.pt").write_bytes(bytes_)
    assert run("inspect", "flipped.pt").returncode == 0  # it reads no tensor
    done = run("inspect", "flipped.pt", "--verify")
    assert done.returncode == 1, done.stdout
    assert "does not have the bytes that were saved: head.weight" in done.stdout
    torchport.save(net(), "net.safetensors")
    done = run("inspect", "net.safetensors", "--verify")
    assert done.returncode == 0 and "checksums: safetensors has none" in done.stdout
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(net().state_dict(), "without.pt")
    finally:
        torch.serialization.set_crc32_options(True)
    done = run("inspect", "without.pt", "--verify")
    assert done.returncode == 0 and "checksums: torch.save has none" in done.stdout
    assert same(torchport.load("without.pt", into=Net, device="cpu"), net())


def zip64(path: Path, entries: dict[str, bytes]) -> Path:
    """An archive whose sizes and offsets are all in the fields for entries above 4 GiB."""
    body, directory = b"", b""
    for name, data in entries.items():
        crc, size, at = zlib.crc32(data), len(data), len(body)
        head = struct.pack("<HHHHHIIIHH", 45, 0, 0, 0, 33, crc, 2**32 - 1, 2**32 - 1, len(name), 20)
        extra = struct.pack("<HHQQ", 1, 16, size, size)
        body += b"PK\x03\x04" + head + name.encode() + extra + data
        head = struct.pack("<HHHHHHIIIHHHHHII", 45, 45, 0, 0, 0, 33, crc, 2**32 - 1, 2**32 - 1,
                           len(name), 28, 0, 0, 0, 0, 2**32 - 1)  # fmt: skip
        extra = struct.pack("<HHQQQ", 1, 24, size, size, at)
        directory += b"PK\x01\x02" + head + name.encode() + extra
    count, start = len(entries), len(body)
    end = struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(directory), start)
    locator = struct.pack("<IQI", 0, start + len(directory), 1)
    last = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), start, 0)
    path.write_bytes(
        body + directory + b"PK\x06\x06" + end + b"PK\x06\x07" + locator + b"PK\x05\x06" + last
    )
    return path


def test_archives_with_entries_above_4_gib_are_read():
    """As torch writes them for tensors above 4 GiB, here with small ones."""
    torch.save(net().state_dict(), "net.pt")
    with zipfile.ZipFile("net.pt") as file:
        entries = {entry.filename: file.read(entry) for entry in file.infolist()}
    zip64(Path("large.pt"), entries)
    assert list(torch.load("large.pt", weights_only=True)) == list(net().state_dict())
    assert same(torchport.load("large.pt", into=Net, device="cpu"), net())
    done = run("inspect", "large.pt", "--verify")
    assert done.returncode == 0 and f"{len(entries)} of {len(entries)} parts agree" in done.stdout
    assert run("inspect", "large.pt", "--extract", "large.safetensors").returncode == 0
    assert same(torchport.load("large.safetensors", into=Net, device="cpu"), net())


class Pair(torch.Tensor):
    """A subclass of two tensors, as quantized weights of torchao are."""

    @staticmethod
    def __new__(cls, values, scale):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)

    def __init__(self, values, scale):
        self.values, self.scale = values, scale

    def __tensor_flatten__(self):
        return ["values", "scale"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return Pair(inner["values"], inner["scale"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        plain = torch.utils._pytree.tree_map_only(Pair, lambda p: p.values * p.scale, args)
        if function in (torch.ops.aten.detach.default, torch.ops.aten._to_copy.default):
            return Pair(args[0].values, args[0].scale)
        return function(*plain, **(kwargs or {}))


def test_subclasses_are_saved_as_what_they_are_or_refused():
    pair = Pair(torch.ones(3), torch.full((3,), 2.0))
    torchport.save({"w": pair}, "pair.pt")
    with torch.serialization.safe_globals([Pair]):
        loaded = torchport.load("pair.pt", device="cpu")["w"]
    assert type(loaded) is Pair and loaded.scale.tolist() == [2, 2, 2]
    with pytest.raises((ValueError, RuntimeError), match="w: it is a tensor subclass"):
        torchport.save({"w": pair}, "pair.safetensors")
    with pytest.raises((ValueError, RuntimeError), match="w: it is nested"):
        torchport.save({"w": torch.nested.nested_tensor([torch.ones(1)])}, "n.safetensors")
    with pytest.raises(ValueError, match=r"\['w'\] is on the meta device"):
        torchport.save({"w": torch.ones(1, device="meta")}, "meta.pt")
    assert not any(Path(name).exists() for name in ("pair.safetensors", "n.safetensors", "meta.pt"))
    torchport.save({"w": torch.nested.nested_tensor([torch.ones(1), torch.ones(2)])}, "n.pt")
    assert torchport.load("n.pt", device="cpu")["w"].is_nested

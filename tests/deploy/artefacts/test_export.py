"""torchport.export: what it makes of models, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import models
import pytest
import torch
import torchport
from torch import nn
from torchport import ExportError, NotVerified
from torchport.deploy.artefact import formats

pytestmark = [pytest.mark.devices(None, timeout=600), pytest.mark.usefixtures("own_folder")]


ALL = ("onnx", "pt2", "torchscript")  # AOTInductor: see make_artefacts.py


def contract_in(path: Path, to: str) -> dict:
    return json.loads(formats.get(to).contract(path))


def nothing_left(folder: str) -> None:
    assert os.listdir(folder) == [], os.listdir(folder)


def fresh(name: str) -> Path:
    Path(name).mkdir()
    return Path(name, "out")


def test_each_format_agrees_with_eager_and_carries_its_contract():
    model = models.net()
    sample = {"x": models.picture(), "scale": torch.rand(2, 1)}
    for to in ALL:
        done = torchport.export(model, sample, to=to, path=f"net.{to}", dynamic="batch")
        contract = contract_in(Path(f"net.{to}"), to)
        assert contract == json.loads(json.dumps(done.contract))
        assert contract["inputs"] == [
            {"name": "x", "dtype": "float32", "shape": ["batch", 3, 16, 16]},
            {"name": "scale", "dtype": "float32", "shape": ["batch", 1]},
        ]
        assert contract["outputs"] == [
            {"name": "logits", "dtype": "float32", "shape": ["batch", 10]},
            {"name": "parts_0", "dtype": "float32", "shape": ["batch", 8]},
        ]
        seen = {batch["x"][0] for batch in contract["parity"]["batches"]}
        assert 1 in seen and len(seen) >= 3, seen
        assert contract["parity"]["seen"]["relative"] < 1e-5
        assert contract["versions"]["torch"] == torch.__version__


def test_the_callers_model_stays_as_it_is():
    model = models.net().train()
    before = {
        name: (id(value), value.clone()) for name, value in model.state_dict(keep_vars=True).items()
    }
    torchport.export(
        nn.DataParallel(model), models.picture(), to="pt2", path="same.pt2", dtype=torch.float16
    )
    assert all(module.training for module in model.modules())
    assert "shift" in vars(model) and not model.shift.dtype.is_complex
    for name, value in model.state_dict(keep_vars=True).items():
        assert id(value) == before[name][0] and torch.equal(value, before[name][1]), name


def test_the_same_export_gives_the_same_contract():
    texts = []
    for name in ("one.pt2", "two.pt2"):
        torchport.export(models.plain(), models.rows(), to="pt2", path=name)
        texts.append(contract_in(Path(name), "pt2"))
    assert texts[0] == texts[1]


def test_wrappers_come_off_models_and_checkpoints():
    trained = models.plain()
    wrapped = torch.compile(nn.DataParallel(trained))
    torch.save({"epoch": 3, "state_dict": wrapped.state_dict()}, "ddp.pth")
    assert any(key.startswith("_orig_mod.module.") for key in wrapped.state_dict())
    other = models.Plain()
    before = {name: value.clone() for name, value in other.state_dict().items()}
    done = torchport.export(
        torch.compile(other), models.rows(), to="pt2", path="w.pt2", weights="ddp.pth"
    )
    assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())
    assert (
        done.contract["weights"]["sha256"]
        == torchport.export(trained, models.rows(), to="pt2", path="t.pt2").contract["weights"][
            "sha256"
        ]
    )
    assert any("unwrapped" in note for note in done.notes), done.notes
    got = torch.export.load("w.pt2").module()(models.rows())
    assert torch.equal(got, trained(models.rows()))


def test_leftovers_of_apex_and_accelerate_come_off():
    model = models.plain()
    code = compile(
        "def forward(x): return x.half().sum()", "/site-packages/apex/amp/_initialize.py", "exec"
    )
    exec(code, space := {})
    model.forward = space["forward"]
    done = torchport.export(model, models.rows(), to="pt2", path="apex.pt2")
    assert done.contract["outputs"][0]["shape"] == ["batch", 4]
    assert any("apex" in note for note in done.notes)
    model = models.plain()
    model._original_forward = model.forward
    model.forward = torch.autocast("cpu", dtype=torch.bfloat16)(model.forward)
    done = torchport.export(model, models.rows(), to="pt2", path="accelerate.pt2")
    assert done.contract["outputs"][0]["dtype"] == "float32", done.contract["outputs"]


def test_the_callers_autocast_is_not_exported():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        done = torchport.export(models.plain(), models.rows(), to="onnx", path="cast.onnx")
    assert done.parity.relative < 1e-6


def test_half_bfloat16_and_mixed_models_are_handled():
    half = torchport.export(models.plain().half(), models.rows(), to="onnx", path="h.onnx")
    assert half.contract["dtype"] == "float16" and half.contract["inputs"][0]["dtype"] == "float16"
    wide = torchport.export(models.plain().bfloat16(), models.rows(), to="onnx", path="b.onnx")
    assert wide.contract["dtype"] == "float32" and any("bfloat16" in note for note in wide.notes)
    kept = torchport.export(models.plain().bfloat16(), models.rows(), to="pt2", path="b.pt2")
    assert kept.contract["dtype"] == "bfloat16"
    mixed = models.plain().half()
    mixed.layers[2].float()  # as apex's O2 leaves normalisation
    done = torchport.export(mixed, models.rows(), to="pt2", path="m.pt2")
    assert done.contract["dtype"] == "float32" and any(
        "converted all to float32" in n for n in done.notes
    )


def test_axes_are_bounded_by_the_model_and_named_where_it_fixes_them():
    done = torchport.export(
        models.table(), models.ids(), to="onnx", path="table.onnx",
        dynamic={"ids": {0: "batch", 1: "tokens"}},
    )  # fmt: skip
    assert done.contract["axes"]["tokens"]["maximum"] == 16, done.contract["axes"]
    assert done.contract["outputs"][0]["shape"] == ["batch", "tokens", 8]
    with pytest.raises(ExportError, match="batch"):
        torchport.export(
            models.flat(), models.rows(), to="onnx", path=fresh("fixed"), dynamic="batch"
        )
    nothing_left("fixed")


def test_results_of_their_own_number_are_exported():
    for to in ALL:
        done = torchport.export(models.keeping(), models.picture()[:1], to=to, path=f"keep.{to}")
        first = done.contract["outputs"][0]["shape"]
        assert isinstance(first[0], str) and first[1] == 4, first


def the_node_that_differs_is_named(to):
    """The format's runtime draws other numbers than torch."""
    path = fresh(f"differs-{to}")
    with pytest.raises(NotVerified, match="the first wrong node is dropout") as caught:
        torchport.export(models.dropping(), models.rows(), to=to, path=path)
    assert "models.py" in caught.value.first_wrong_node and caught.value.findings
    nothing_left(path.parent)


def test_the_node_that_differs_is_named():
    the_node_that_differs_is_named("onnx")


@pytest.mark.long
def test_the_node_that_differs_is_named_for_aoti():
    the_node_that_differs_is_named("aoti")


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_recurrent_layers_need_no_python_at_any_size(kind):
    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.of = kind(4, 5, 2, bidirectional=True, batch_first=True)

        def forward(self, x):
            return self.of(x)[0]

    torch.manual_seed(0)
    done = torchport.export(First().eval(), torch.randn(3, 6, 4), to="pt2", path=fresh("rnn"))
    assert done.contract["host"] == {"device": "cpu"} and done.contract["axes"]


def test_random_numbers_of_torch_itself_are_those_of_eager():
    for to in ("pt2", "torchscript"):
        done = torchport.export(models.dropping(), models.rows(), to=to, path=fresh(f"random.{to}"))
        assert done.parity.absolute == 0
        assert any("draws random numbers" in text for text in done.contract["assumes"])


@pytest.mark.parametrize(("script", "gone"), [(False, "trace"), (True, "script")])
def test_a_torch_without_torchscript_names_the_other_formats(monkeypatch, script, gone):
    monkeypatch.delattr(torch.jit, gone)
    path = fresh(f"without-{gone}")
    with pytest.raises(ExportError, match="no longer has TorchScript; use --to onnx, aoti or pt2"):
        torchport.export(models.plain(), models.rows(), to="torchscript", path=path, script=script)
    nothing_left(path.parent)
    assert torchport.export(models.plain(), models.rows(), to="pt2", path=path).parity


@pytest.mark.parametrize(("to", "option"), [("pt2", {"opset": 18}), ("onnx", {"script": True})])
def test_an_option_of_another_format_is_refused(to, option):
    with pytest.raises(ExportError, match=f"{next(iter(option))} does not apply to {to}"):
        torchport.export(models.plain(), models.rows(), to=to, path=fresh("option"), **option)


def test_an_opset_is_kept_or_refused():
    done = torchport.export(models.plain(), models.rows(), to="onnx", path="o.onnx", opset=18)
    assert done.contract["versions"]["opset"] == 18
    with pytest.raises(ExportError, match="opset 9"):
        torchport.export(models.net(), models.picture(), to="onnx", path=fresh("opset"), opset=9)
    nothing_left("opset")


def test_an_opset_before_torchs_own_is_written():
    """torch's exporter begins with 18; what comes out of the conversion is compared as any other."""
    done = torchport.export(models.plain(), models.rows(), to="onnx", path="o13.onnx", opset=13)
    assert done.contract["versions"]["opset"] == 13
    assert done.parity.relative < 1e-5


def test_what_cannot_be_exported_is_told_in_the_models_terms():
    path = fresh("refused")
    for arguments, fragments in (
        (dict(model=models.failing()), ["models.py:", "shape"]),
        (dict(model=models.nan()), ["NaN or Inf", "--allow-nan"]),
        (dict(inputs=models.nothing()), ["input x has no elements", "[0, 6]"]),
        (dict(inputs={"y": models.rows()}), ["not parameters of", "forward(x)"]),
        (dict(inputs=(models.rows(), models.rows())), ["forward"]),
        (dict(inputs=(3,)), ["no input is a tensor"]),
        (dict(dynamic="x:0"), ["NAME:AXIS=LABEL"]),
        (dict(dynamic="y:0=batch"), ["no input is named 'y'", "x"]),
        (dict(dynamic="x:7=batch"), ["2 dimensions"]),
        (dict(to="tflite"), ["no format 'tflite'", "onnx"]),
        (dict(path="nowhere/out.pt2"), ["no folder", "nowhere"]),
        (dict(path="."), ["is a folder"]),
    ):  # fmt: skip
        settings = dict(model=models.plain(), inputs=models.rows(), to="pt2", path=path) | arguments
        with pytest.raises(ExportError) as caught:
            torchport.export(settings.pop("model"), settings.pop("inputs"), **settings)
        for fragment in fragments:
            assert fragment in str(caught.value)
    nothing_left("refused")
    done = torchport.export(models.nan(), models.rows(), to="pt2", path="nan.pt2", allow_nan=True)
    assert done.parity.absolute == 0


def test_what_the_model_merely_holds_is_exported_with_it():
    for to in ALL:
        done = torchport.export(
            models.Keeper(),
            models.rows(),
            to=to,
            path=f"keeper.{to}",
            device="cpu",
            dtype=torch.float64,
        )
        assert done.contract["outputs"][0]["dtype"] == "float64", done.contract
        assert {"registered the attribute tables[0] as the buffer tables_0"} <= set(done.notes), (
            done.notes
        )


def test_averaged_weights_are_those_that_are_exported():
    averaged = torch.optim.swa_utils.AveragedModel(models.plain())
    with torch.no_grad():
        for parameter in averaged.parameters():
            parameter.mul_(3)
    done = torchport.export(averaged, models.rows(), to="pt2", path="averaged.pt2")
    assert "unwrapped AveragedModel" in done.notes and done.parity.relative < 1e-5


def test_a_sharded_model_is_refused():
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    sharded = models.plain()
    fully_shard(sharded, mesh=dist.init_device_mesh("cpu", (1,)))
    with pytest.raises(ExportError, match="sharded") as caught:
        torchport.export(sharded, models.rows(), to="pt2", path=fresh("sharded"))
    assert "torchport.full_state_dict" in str(caught.value)
    nothing_left("sharded")
    dist.destroy_process_group()


def test_hostile_and_broken_weights_are_refused():
    def export(weights):
        torchport.export(
            models.plain(), models.rows(), to="pt2", path=fresh(f"from-{weights}"), weights=weights
        )

    class Hostile:
        def __reduce__(self):
            return os.system, ("touch pwned",)

    torch.save({"state_dict": Hostile()}, "hostile.pth")
    with pytest.raises(ExportError, match=re.escape("posix.system")):
        export("hostile.pth")
    assert not Path("pwned").exists()
    state = models.plain().state_dict()
    torch.save(state, "good.pth")
    Path("cut.pth").write_bytes(Path("good.pth").read_bytes()[:700])
    Path("text.pth").write_text("no weights")
    for name in ("cut.pth", "text.pth", "absent.pth"):
        with pytest.raises(ExportError, match=re.escape(name)):
            export(name)
    wrong = dict(state)
    wrong["layers.0.weight"] = torch.ones(3, 3)
    wrong["more"] = wrong.pop("layers.2.bias")
    torch.save(wrong, "wrong.pth")
    with pytest.raises(ExportError, match=re.escape("layers.2.bias")) as caught:
        export("wrong.pth")
    assert "more" in str(caught.value)
    assert "layers.0.weight" in str(caught.value)
    from safetensors.torch import save_file

    save_file({f"module.{key}": value for key, value in state.items()}, "good.safetensors")
    export("good.safetensors")
    Path("cut.safetensors").write_bytes(Path("good.safetensors").read_bytes()[:-40])
    with pytest.raises(ExportError, match=re.escape("cut.safetensors")):
        export("cut.safetensors")


def test_a_disk_without_room_is_told_before_any_work(monkeypatch):
    real = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: real(path)._replace(free=10))
    with pytest.raises(ExportError, match="the disk has only 10 B left"):
        torchport.export(models.plain(), models.rows(), to="pt2", path=fresh("full"))
    nothing_left("full")

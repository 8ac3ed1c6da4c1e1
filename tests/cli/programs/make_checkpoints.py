"""make_checkpoints.py FOLDER: one checkpoint of each sort, and expected.json: what torch itself says
of them."""

import json
import os
import sys
import warnings
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
from torch import nn
from torch._weights_only_unpickler import _get_allowed_globals

warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
expected = {}


def describe(tensor: torch.Tensor) -> dict:
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "device": str(tensor.device),
    }


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Embedding(5, 3))


def expect(name: str, state: dict) -> None:
    expected[name] = {path: describe(tensor) for path, tensor in state.items()}


class Evil:
    def __reduce__(self):
        return os.system, ("touch pwned",)


for new in (True, False):
    sort = "zip" if new else "legacy"
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
        state["f8"] = torch.zeros(2).to(torch.float8_e4m3fn)
        state["u32"] = torch.zeros(2).to(torch.uint32)
    torch.save(state, folder / f"state_{sort}.pt", _use_new_zipfile_serialization=new)
    expect(f"state_{sort}.pt", state)
    torch.save(
        [torch.ones(3), torch.arange(7, dtype=torch.int32)],
        folder / f"list_{sort}.pt",
        _use_new_zipfile_serialization=new,
    )
    torch.save(
        {"w": torch.ones(1000), "b": [1, 2]},
        folder / f"plain_{sort}.pt",
        _use_new_zipfile_serialization=new,
    )

net = model()
optimizer = torch.optim.Adam(net[:2].parameters())
net[:2](torch.randn(4, 2)).sum().backward()
optimizer.step()
torch.save(
    {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3},
    folder / "training.pt",
)
torch.save(net, folder / "module.pt")
expect("module.pt", net.state_dict())

x = torch.randn(4, 4)
torch.save(
    {
        "p": nn.Parameter(x.clone()),
        "sparse": x.to_sparse(),
        "csr": x.to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        "ragged": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "meta": torch.empty(3, device="meta"),
        "at": torch.device("cuda", 1),
    },
    folder / "kinds.pt",
)

part = model()[:2].eval()
torch.jit.script(part).save(folder / "script.pt")
torch.export.save(torch.export.export(part, (torch.randn(2, 2),)), folder / "export.pt2")
expect("script.pt", part.state_dict())
expect("export.pt2", part.state_dict())

torch.save(nn.DataParallel(model()).state_dict(), folder / "parallel.pt")
torch.save({"_orig_mod.weight": torch.ones(2)}, folder / "compiled.pt")
weight = torch.ones(3, 3)
torch.save({"embed": weight, "head": weight}, folder / "tied.pt")
torch.save({"w": torch.ones(2), "e": Evil()}, folder / "evil.pt")

state = model().state_dict()
dcp.save(state, checkpoint_id=folder / "dcp", no_dist=True)
dcp.save({"model": state, "epoch": 3}, checkpoint_id=folder / "dcp_training", no_dist=True)
expect("dcp", {name: tensor.contiguous() for name, tensor in state.items()})
(folder / "shards").mkdir()
halves = {"a.safetensors": list(state)[:3], "b.safetensors": list(state)[3:]}
for file, names in halves.items():
    save_file({name: state[name] for name in names}, folder / "shards" / file)
index = {"weight_map": {name: file for file, names in halves.items() for name in names}}
(folder / "shards" / "model.safetensors.index.json").write_text(json.dumps(index))
expect("shards", state)

expected["allowed"] = sorted(_get_allowed_globals())
(folder / "expected.json").write_text(json.dumps(expected))

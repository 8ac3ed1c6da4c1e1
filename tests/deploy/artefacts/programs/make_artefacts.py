"""FOLDER: models.plain and models.net in every format that runs without Python, data for them in
every kind of file, and what eager gives.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import models
import numpy as np
import torch
import torchport
from safetensors.torch import save_file


class Hostile:
    """What unpickles it runs a program."""

    def __reduce__(self):
        return os.system, ("true",)


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    net = models.net()
    for to, name in (("onnx", "net.onnx"), ("torchscript", "net.pt"), ("aoti", "net.pt2")):
        done = torchport.export(
            net, models.picture(), to=to, path=folder / name, dynamic="batch[1..8]"
        )
        assert done.parity.relative < 1e-5
    plain, rows = models.plain(), models.rows()
    torchport.export(plain, rows, to="onnx", path=folder / "fixed.onnx", dynamic=())
    torchport.export(
        net, models.picture(), to="pt2", path=folder / "program.pt2", dynamic="batch[1..8]"
    )
    torchport.export(models.twice(), models.rows(), to="pt2", path=folder / "python.pt2")
    one = models.picture()[:1]
    torchport.export(models.keeping(), one, to="onnx", path=folder / "keep.onnx", dynamic=())
    x = torch.randn(10, 3, 16, 16, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        wanted = net.eval()(x)
    save_file(
        {"logits": wanted["logits"], "parts_0": wanted["parts"][0]}, folder / "wanted.safetensors"
    )
    save_file({"other": torch.ones(3), "x": x}, folder / "x.safetensors")
    torch.save({"x": x.transpose(2, 3).contiguous().transpose(2, 3)}, folder / "x.pth")
    np.save(folder / "x.npy", x.numpy())
    np.save(folder / "fortran.npy", np.asfortranarray(x.numpy()))
    np.savez(folder / "x.npz", x=x.numpy())
    np.savez_compressed(folder / "packed.npz", x=x.numpy())
    np.save(folder / "double.npy", x.double().numpy())
    np.save(folder / "empty.npy", x[:0].numpy())
    np.save(folder / "big_endian.npy", x.numpy().astype(">f4"))
    np.save(folder / "small.npy", x[..., :8].numpy())
    broken = x.clone()
    broken[3, 0, 0, 0] = float("nan")
    np.save(folder / "nan.npy", broken.numpy())
    save_file({"y": x}, folder / "y.safetensors")
    torch.save({"x": x, "more": Hostile()}, folder / "hostile.pth")
    torch.save({"x": x.to_sparse()}, folder / "sparse.pth")


main(Path(sys.argv[1]))

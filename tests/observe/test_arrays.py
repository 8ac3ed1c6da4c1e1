"""NumPy arrays of tensors on a device, in words."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:1")

SOURCE = Path(__file__).read_text().splitlines()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)


class Method(Net):
    def forward(self, x):
        y = self.linear(x)
        return torch.from_numpy(y.detach().numpy())  # here


class Function(Net):
    def forward(self, x):
        y = self.linear(x).detach()
        return np.asarray(y)  # here


class Detached(Net):
    def forward(self, x):
        y = self.linear(x)
        return np.asarray(y.detach())  # here


class Computed(Net):
    def forward(self, x):
        with torch.no_grad():
            return np.array(self.linear(x))  # here


class Several(Net):
    def forward(self, x):
        y = self.linear(x).detach()
        return np.array([y, y])  # here


class Inside(Net):
    def forward(self, x):
        y = self.linear(x).detach()
        return np.stack(y)  # here


class Reraised(Net):
    def forward(self, x):
        try:
            return x.numpy()  # here
        except TypeError as error:
            raise ValueError("a bad batch") from error


@pytest.mark.parametrize(
    ("kind", "words", "fix"),
    [
        (Method, "y.detach().numpy() makes a NumPy array of y on cuda:0", "torchport.numpy(y), or y.detach().cpu().numpy()"),
        (Function, "np.asarray(y) makes a NumPy array of y on cuda:0", "write torchport.numpy(y)"),
        (Detached, "np.asarray(y.detach()) makes a NumPy array of y on", "write torchport.numpy(y)"),
        (Computed, "NumPy array of self.linear(x) on cuda:0", "write torchport.numpy(self.linear(x))"),
        (Several, "np.array([y, y]) makes a NumPy array of a tensor on", "write torchport.numpy(tensor)"),
        (Inside, "np.stack(y) makes a NumPy array of y on cuda:0", "pass torchport.numpy(y) instead"),
        (Reraised, "x.numpy() makes a NumPy array of x on cuda:0", "torchport.numpy(x)"),
    ],
)  # fmt: skip
def test_what_fails_and_what_to_write(kind, words, fix) -> None:
    result = torchport.verify(kind(), torch.ones(2, 4), device="cuda", evaluate=True)
    assert not result.ok
    found = result.findings[0]
    assert (found.severity, found.code) == ("error", "array-of-device-tensor")
    assert SOURCE[found.line.line - 1].endswith("# here")
    assert words in found.message and fix in found.fix
    assert torchport.verify(kind(), torch.ones(2, 4), evaluate=True).ok, "on the CPU it runs"


def test_other_type_errors_pass_through() -> None:
    class Wrong(Net):
        def forward(self, x):
            return x + "a"

    with pytest.raises(TypeError, match=r"unsupported operand|must be Tensor"):
        torchport.verify(Wrong(), torch.ones(2, 4), device="cuda")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": torch.ones(1)}, "got a dict; convert each: {key: torchport.numpy(value)"),
        ([torch.ones(1)], "got a list; convert each: [torchport.numpy"),
        ((torch.ones(1),), "got a tuple; convert each"),
        (nn.Linear(1, 1), "got a Linear; pass one tensor of the Linear"),
        (np.ones(1), "got a ndarray; it is one of NumPy already"),
        (3.0, "got a float; numpy.asarray"),
        (None, "got a NoneType; pass one tensor"),
    ],
)
def test_numpy_of_what_is_no_tensor(value, words) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        torchport.numpy(value)

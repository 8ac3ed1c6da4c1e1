"""A proposed change uses only names that are bound at its line, and makes the model run."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import torch
import torchport
from torch import nn

pytestmark = pytest.mark.devices("cuda:2")

D = "cuda:0"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)


class Returned(Net):
    """The function that makes the mask has returned, and has no tensor."""

    def forward(self, values):
        return self.linear(values) * self.mask(4)

    def mask(self, n):
        return torch.ones(n)


def make_mask(n):
    return torch.ones(n)


class Helper(Net):
    """The function has neither a tensor nor a module."""

    def forward(self, values):
        return self.linear(values) * make_mask(4)


class Inner(nn.Module):
    def forward(self, x, mask):
        return x * mask


class OtherForward(Net):
    """The error is in another function of the same name, whose variables are not bound here."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, batch):
        mask = torch.ones(4)
        return self.inner(self.linear(batch["ids"]), mask)


class MovedLater(Net):
    """The parameter was on the host where the mask is made."""

    def forward(self, x):
        mask = torch.ones(4)
        x = x.to(self.linear.weight.device)
        return self.linear(x) * mask


class BoundLater(Net):
    """A variable on the device is assigned after the line."""

    def forward(self, size):
        mask = torch.ones(size)
        hidden = self.linear(torch.ones(size, device=D))
        return hidden * mask


class Caught(Net):
    """The frames have gone, because the program caught the error."""

    def forward(self, values):
        try:
            return self.linear(values) * torch.ones(4)
        except RuntimeError:
            return values


class InComprehension(Net):
    def forward(self, rows):
        return torch.stack([self.linear(row) * torch.ones(4) for row in rows])


class Globals(Net):
    """Nothing in the function is on the device but the module."""

    def forward(self, numbers):
        made = torch.tensor(numbers)
        return self.linear(made)


class MovedElsewhere(Net):
    """The line moves what it makes to a device that was noted when the model was made."""

    def __init__(self):
        super().__init__()
        self.device = "cpu"

    def forward(self, x):
        start = torch.zeros(x.size(0), 4).to(self.device)
        return self.linear(x) + start


class MovedAndConverted(MovedElsewhere):
    def forward(self, x):
        start = torch.zeros(4).to(self.device, non_blocking=True).cpu().to(torch.float64)
        return self.linear(x) + start


class Drawn(Net):
    """A generator draws only on its own device."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x):
        noise = torch.randn(4, generator=self.generator)
        return self.linear(x) + noise


class DrawnThere(Drawn):
    def forward(self, x):
        noise = torch.rand(4, device="cpu", generator=self.generator).to("cpu")
        return self.linear(x) + noise


class DrawnByNone(Drawn):
    def forward(self, x):
        noise = torch.rand(4, generator=None)
        return self.linear(x) + noise


CASES = {
    Drawn: (
        torch.ones(2, 4),
        "noise = torch.randn(4, generator=self.generator).to(x.device)",
    ),
    DrawnThere: (
        torch.ones(2, 4),
        'noise = torch.rand(4, device="cpu", generator=self.generator).to(x.device)',
    ),
    DrawnByNone: (torch.ones(2, 4), "torch.rand(4, generator=None, device=x.device)"),
    MovedElsewhere: (
        torch.ones(2, 4),
        "start = torch.zeros(x.size(0), 4, device=x.device)",
    ),
    MovedAndConverted: (
        torch.ones(2, 4),
        "start = torch.zeros(4, device=x.device).to(torch.float64)",
    ),
    Returned: (torch.ones(2, 4), "return torch.ones(n, device=self.linear.weight.device)"),
    Helper: (torch.ones(2, 4), ""),
    OtherForward: ({"batch": {"ids": torch.ones(2, 4)}}, "batch['ids'].device"),
    MovedLater: (None, "mask = torch.ones(4, device=self.linear.weight.device)"),
    BoundLater: ((4,), "mask = torch.ones(size, device=self.linear.weight.device)"),
    Caught: (torch.ones(2, 4), "torch.ones(4, device=values.device)"),
    InComprehension: (torch.ones(2, 4), "torch.ones(4, device=rows.device)"),
    Globals: (([1.0, 2.0, 3.0, 4.0],), "torch.tensor(numbers, device=self.linear.weight.device)"),
}


@pytest.mark.parametrize("kind", CASES, ids=lambda kind: kind.__name__)
def test_a_change_uses_what_is_bound(kind) -> None:
    inputs, change = CASES[kind]
    if kind is MovedLater:  # its input stays on the host
        result = torchport.verify(kind().to(D), torch.ones(2, 4), evaluate=True)
    else:
        result = torchport.verify(kind(), inputs, device=D, evaluate=True)
    assert result.mixed is not None
    assert change in result.mixed.fixed_line and bool(change) == bool(result.mixed.fixed_line)
    if not change:
        assert "make_mask() has" in result.mixed.fix and "cuda:0" in result.mixed.fix
        assert "device=" not in result.mixed.fix
        return
    if kind in (Drawn, DrawnThere):
        assert "its generator draws on cpu" in result.mixed.fix
        assert "device=" not in result.mixed.fix
    assert changed_model_runs(kind, result.mixed, inputs)


def changed_model_runs(kind, mixed, inputs) -> bool:
    """Puts the change into the class and runs it."""
    lines, first = inspect.getsourcelines(kind)
    index = mixed.fix_at.line - first
    indent = re.match(" *", lines[index]).group()
    lines[index] = f"{indent}{mixed.fixed_line}\n"
    names = dict(globals())
    exec("".join(lines).replace("except RuntimeError", "except KeyError"), names)
    model = names[kind.__name__]().to(D)
    if isinstance(inputs, dict):
        inputs = (torchport.to(inputs["batch"], D),)
    elif not isinstance(inputs, tuple):
        inputs = (torch.ones(2, 4) if inputs is None else inputs.to(D),)
    return model(*inputs).device == torch.device(D)


class Chained(Net):
    def __init__(self):
        super().__init__()
        self.scale = first = torch.ones(4)
        self.first = first.sum().item()

    def forward(self, x):
        return self.linear(x) * self.scale


class OnSeveralLines(Net):
    def __init__(self):
        super().__init__()
        self.scale = torch.full(
            (4,),
            2.0,
        )

    forward = Chained.forward


class NoneFirst(Net):
    def __init__(self):
        super().__init__()
        self.scale = None

    def forward(self, x):
        if self.scale is None:
            self.scale = torch.ones(4)
        return self.linear(x) * self.scale


class Annotated(Net):
    def __init__(self):
        super().__init__()
        self.scale: torch.Tensor = torch.ones(4)

    forward = Chained.forward


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (Chained, ""),
        (OnSeveralLines, ""),
        (Annotated, 'self.register_buffer("scale", torch.ones(4), persistent=False)'),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_assignment_is_only_replaced_as_a_whole(kind, change) -> None:
    mixed = torchport.verify(kind(), torch.ones(2, 4), device=D, evaluate=True).mixed
    assert mixed.fixed_line == change
    assert "register it as a buffer" in mixed.fix


def test_a_buffer_is_not_registered_in_forward() -> None:
    mixed = torchport.verify(NoneFirst(), torch.ones(2, 4), device=D, evaluate=True).mixed
    assert "register_buffer(" not in mixed.fixed_line


def test_a_line_of_a_library_is_not_changed(tmp_path: Path, monkeypatch) -> None:
    package = tmp_path / "site-packages" / "fancy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "import torch\ndef masked(x):\n    return x * torch.ones(4)\n"
    )
    monkeypatch.syspath_prepend(str(package.parent))
    import fancy

    class Uses(Net):
        def forward(self, x):
            return fancy.masked(self.linear(x))

    mixed = torchport.verify(Uses(), torch.ones(2, 4), device=D, evaluate=True).mixed
    assert mixed.fixed_line == "" and "the library fancy" in mixed.fix

"""A changed line is run before it is shown: one that does not pass is no remedy."""

from __future__ import annotations

import copy
from types import FunctionType

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
        self.device = torch.device("cpu")  # where the model was made


class MovedAfterwards(Net):
    def forward(self, x):
        mask = torch.ones(4, device=x.device).to(self.device)
        return self.linear(x) * mask


class MovedToTheHost(Net):
    def forward(self, x):
        mask = torch.ones(4, device=x.device).cpu()
        return self.linear(x) * mask


class MovedByAHelper(Net):
    def place(self, tensor):
        return tensor.to(self.device)

    def forward(self, x):
        mask = self.place(torch.ones(4))
        return self.linear(x) * mask


class PlacedLater(Net):
    def forward(self, x):
        mask = torch.ones(4)
        mask = mask.to(self.device)
        return self.linear(x) * mask


class Needed(Net):
    """On the device of x the same tensor does not fit another one."""

    def forward(self, x):
        mask = torch.ones(4)
        other = mask + torch.zeros(4)
        return self.linear(x) * mask + other.to(x.device)


class Global(Net):
    """What moves the tensor is not what the line asks for."""

    def place(self, tensor, **_):
        return [tensor.cpu()]

    def forward(self, x):
        mask = self.place(torch.ones(4))
        return self.linear(x) * mask[0]


class Twice(Net):
    def forward(self, x):
        a = torch.ones(4)
        b = torch.ones(4)
        return self.linear(x) * a + b


class Counts(Net):
    """The call changes the model, and a copy of it is tried."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.linear(x) * torch.ones(4)


class Uncopied(Net):
    def __deepcopy__(self, memo):
        raise TypeError("a handle")

    def forward(self, x):
        return self.linear(x) * torch.ones(4)


class Decorated(Net):
    @torch.no_grad()
    def forward(self, x):
        y = self.linear(x)
        return next(y * torch.ones(n) for n in (4,))


class Buffer(Net):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(4)

    def forward(self, x):
        return self.linear(x) * self.scale


def mixed_of(kind: type[nn.Module]):
    result = torchport.verify(kind(), torch.ones(2, 4), device=D, evaluate=True)
    assert result.mixed is not None and not result.ok
    return result


PASS = {
    MovedAfterwards: "mask = torch.ones(4, device=x.device).to(x.device)",
    MovedToTheHost: "mask = torch.ones(4, device=x.device).to(x.device)",
    MovedByAHelper: "mask = self.place(torch.ones(4)).to(x.device)",
    Counts: "return self.linear(x) * torch.ones(4, device=x.device)",
    Decorated: "return next(y * torch.ones(n, device=x.device) for n in (4,))",
    Buffer: 'self.register_buffer("scale", torch.ones(4), persistent=False)',
}


@pytest.mark.parametrize("kind", PASS)
def test_a_line_that_is_shown_passes(kind) -> None:
    result = mixed_of(kind)
    assert (result.mixed.fixed_line, result.mixed.tried) == (PASS[kind], "passes")
    assert "    tried: passes" in str(result) and "tried: passes" in result.html()


def test_a_line_that_does_not_pass_is_not_shown() -> None:
    for kind in (PlacedLater, Needed, Global):
        result = mixed_of(kind)
        assert not result.mixed.fixed_line, kind
        assert result.mixed.tried.startswith("no rewrite was found that passes; at ")
        assert "mask = " in result.mixed.tried
        assert "(the same error)" in result.mixed.tried or "AttributeError" in result.mixed.tried
        assert f"    tried: {result.mixed.tried}" in str(result)


def test_what_is_mixed_next_is_told() -> None:
    mixed = mixed_of(Twice).mixed
    assert mixed.fixed_line == "a = torch.ones(4, device=x.device)"
    assert mixed.tried.startswith("passes here; what is mixed next is at ")


def test_the_model_and_its_code_stay_as_they_are() -> None:
    model = Counts()
    code = Counts.forward.__code__
    torchport.verify(model, torch.ones(2, 4), device=D, evaluate=True)
    assert model.calls == 1
    assert Counts.forward.__code__ is code
    assert isinstance(Counts.forward, FunctionType)
    with pytest.raises(RuntimeError):
        model(torch.ones(2, 4, device=D))


class Draws(Net):
    def forward(self, x):
        return self.linear(torch.dropout(x, 0.5, True)) * torch.rand(4)


def test_a_trial_draws_no_random_numbers_of_the_program() -> None:
    drawn = []
    for model in (Draws(), Uncopied()):
        torch.manual_seed(3)
        if isinstance(model, Uncopied):  # what one call draws
            torch.dropout(torch.ones(2, 4, device=D), 0.5, True), torch.rand(4)
        else:
            assert torchport.verify(model, torch.ones(2, 4), device=D).mixed.tried == "passes"
        drawn.append((torch.rand(2).tolist(), torch.rand(2, device=D).tolist()))
    assert drawn[0] == drawn[1]


def test_a_model_that_cannot_be_copied_has_no_remedy() -> None:
    mixed = mixed_of(Uncopied).mixed
    assert not mixed.fixed_line
    assert "not tried: the model cannot be copied, TypeError" in mixed.tried
    with pytest.raises(TypeError):
        copy.deepcopy(Uncopied())


def test_export_tries_it_too(tmp_path) -> None:
    for kind, words in ((Counts, "tried: passes"), (Needed, "no rewrite was found that passes")):
        with pytest.raises(torchport.ExportError) as refused:
            torchport.export(
                kind().to(D), torch.ones(2, 4, device=D), to="torchscript", path=tmp_path / "x.pt"
            )
        assert words in str(refused.value), str(refused.value)
        assert ("+ " in str(refused.value)) == (kind is Counts)

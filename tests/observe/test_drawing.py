"""The boxes of verify's page: which modules, in which box, open or folded, and what moved in them."""

from __future__ import annotations

import re

import pytest
import torch
import torchport
from torch import nn
from torchport.observe import graph
from torchport.observe.graph import Box, Drawing

pytestmark = pytest.mark.devices("cuda:2")


def boxes(box: Box) -> list[Box]:
    return [box, *(inner for one in box.boxes for inner in boxes(one))]


class Reading(nn.Module):
    """Reads a value, and copies to the host and back."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        for _ in range(3):
            y.sum().item()
        return y.cpu().to(x.device)


def layers(count: int, at: int) -> nn.Module:
    return nn.Sequential(
        *(nn.Sequential(Reading() if n == at else nn.Linear(4, 4), nn.ReLU()) for n in range(count))
    )


def drawing_of(model: nn.Module, *inputs: torch.Tensor) -> tuple[Drawing, torchport.Verification]:
    result = torchport.verify(model, inputs or torch.ones(2, 4), device="cuda", evaluate=True)
    return Drawing(result), result


def test_a_small_model_is_open_and_nested() -> None:
    drawing, _ = drawing_of(layers(3, 1))
    assert all(box.open for box in boxes(drawing.model))
    assert [box.name for box in drawing.model.boxes] == ["0", "1", "2"]
    reading = drawing.model.boxes[1].boxes[0]
    assert [box.label for box in reading.boxes] == ["linear"] and reading.type == "Reading"
    assert [(m.kind, m.source, m.target, m.count, m.bytes) for m in reading.moves] == [
        ("read", "cuda:0", "cpu", 3, 0),
        ("to host", "cuda:0", "cpu", 1, 32),
        ("to device", "cpu", "cuda:0", 1, 32),
    ]
    assert drawing.model.moves == [] and drawing.model.inside == "2 moves, 3 reads"
    assert drawing.outside is None


def test_a_large_model_is_folded_where_nothing_moves() -> None:
    drawing, _ = drawing_of(layers(40, 33))
    every = boxes(drawing.model)
    assert len(every) == 1 + 3 * 40 + 1, "and each module is drawn"
    assert [box.name for box in every if box.open] == ["", "33", "33.0"]
    page = drawing.model
    assert sum(box.inside != "" for box in page.boxes) == 1


def test_modules_beyond_the_limit_are_counted_and_what_moves_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(graph, "_MOST_BOXES", 12)
    drawing, _ = drawing_of(layers(10, 7))
    first, seventh = drawing.model.boxes[0], drawing.model.boxes[7]
    assert first.boxes == [] and first.detail == "2 ops, 80 B, and 2 modules within"
    assert [box.name for box in seventh.boxes] == ["7.0"] and len(seventh.boxes[0].moves) == 3
    assert seventh.boxes[0].detail.endswith("and 1 module within"), seventh.boxes[0].detail


def test_a_model_as_deep_as_it_is_long() -> None:
    model: nn.Module = nn.Linear(4, 4)
    for _ in range(100):
        model = nn.Sequential(model)
    drawing, result = drawing_of(model)
    assert len(boxes(drawing.model)) == 41
    assert boxes(drawing.model)[-1].detail == "1 op, 80 B, and 60 modules within"
    assert result.html().count("<details") == 41, "40 boxes, and the table of modules"


def test_devices_of_a_split_model_and_the_wrong_box() -> None:
    class Split(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 4).to("cuda:0"), nn.Linear(4, 4).to("cuda:1")

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.two(self.one(x.to("cuda:0")))

    drawing = Drawing(torchport.verify(Split(), torch.ones(2, 4), evaluate=True))
    one, two = drawing.model.boxes
    assert (one.device, two.device) == ("cuda:0", "cuda:1")
    assert drawing.color("cuda:0") != drawing.color("cuda:1") != drawing.color("cpu")
    assert two.wrong and not one.wrong and not drawing.model.wrong
    assert drawing.model.inside == "mixed devices" and drawing.model.moves[0].kind == "to device"


def test_what_moves_outside_of_the_model_has_a_box_of_its_own() -> None:
    def call(model: nn.Module, x: torch.Tensor) -> None:
        model(x).sum().item()

    result = torchport.verify(
        nn.Linear(4, 4), torch.ones(2, 4), device="cuda", call=call, evaluate=True
    )
    drawing = Drawing(result)
    assert drawing.outside is not None and drawing.model.moves == []
    assert [move.kind for move in drawing.outside.moves] == ["read"]
    assert re.search(
        r'data-module="\(outside the model\)".*<b>outside the model</b>', result.html()
    )

"""The first operator with tensors on several devices: whose they are, and what mends it."""

from __future__ import annotations

import functools
import inspect
import json
import re
from pathlib import Path

import mixing
import pytest

pytestmark = pytest.mark.devices("cuda:2")

PROGRAM = Path(mixing.__file__)
CASES = {n for n, f in vars(mixing).items() if inspect.isfunction(f) and not n.startswith("_")}
SOURCE = PROGRAM.read_text().splitlines()


def line_with(text: str) -> int:
    (number,) = [n for n, line in enumerate(SOURCE, 1) if text in line]
    return number


@functools.cache
def verified(name: str) -> dict:
    """The report of a case, as JSON has it."""
    return json.loads(json.dumps(getattr(mixing, name)().to_dict()))


def mixed_in(name: str) -> dict:
    """What is told of a case's mixed call."""
    return verified(name)["mixed"]


# case: operator, module, (culprit, its kind, its device), the other one, pattern
EXPECTED = {
    "mask_in_forward": ("mul.Tensor", "block.1", ("mask", "local", "cpu"), "x", "intermediate"),
    "unregistered_tensor": (
        "mul.Tensor",
        "",
        ("scale", "unregistered tensor", "cpu"),
        "self.linear(x)",
        "parameter/buffer",
    ),
    "unregistered_in_containers": (
        "add.Tensor",
        "",
        ("cache['bias'][0]", "unregistered tensor", "cpu"),
        "x",
        "parameter/buffer",
    ),
    "modules_in_a_list": (
        "linear",
        "(Linear)",
        ("layers[0].weight", "unregistered tensor", "cpu"),
        "x",
        "parameter/buffer",
    ),
    "input_on_the_host": ("linear", "", ("input", "input", "cpu"), "weight", "model/input"),
    "model_on_the_host": ("linear", "", ("input", "input", "cuda:0"), "weight", "model/input"),
    "other_device": ("linear", "", ("input", "input", "cuda:0"), "weight", "model/input"),
    "input_within_a_mapping": (
        "add.Tensor",
        "",
        ("batch['bias']['late']", "input", "cpu"),
        "self.linear(x)",
        "model/input",
    ),
    "convolution": ("conv2d", "", ("input", "input", "cpu"), "weight", "model/input"),
    "loader": ("linear", "", ("input", "input", "cpu"), "weight", "data loader"),
    "half_moved": (
        "linear",
        "head",
        ("head.weight", "parameter", "cpu"),
        "self.body(x)",
        "parameter/buffer",
    ),
    "buffer_replaced": (
        "sub.Tensor",
        "",
        ("mean", "buffer", "cpu"),
        "self.linear(x)",
        "parameter/buffer",
    ),
    "tie_untied": (
        "linear",
        "head",
        ("head.weight", "parameter", "cpu"),
        "self.embedding(tokens)",
        "parameter/buffer",
    ),
    "moved_in_forward": (
        "linear",
        "linear",
        ("y", "local", "cpu"),
        "linear.weight",
        "intermediate",
    ),
    "through_numpy": ("add.Tensor", "", ("z", "local", "cpu"), "y", "intermediate"),
    "state_of_an_lstm": ("lstm.input", "lstm", ("state[0]", "local", "cpu"), "x", "intermediate"),
    "within_a_list": ("cat", "", ("torch.zeros(1, 4)", "temporary", "cpu"), "x", "intermediate"),
    "mask_of_attention": (
        "scaled_dot_product_attention",
        "",
        ("causal", "local", "cpu"),
        "x",
        "intermediate",
    ),
    "global_tensor": ("sub.Tensor", "", ("MEAN", "global", "cpu"), "x", None),
    "in_the_backward_pass": (
        "mul.Tensor",
        "(outside the model)",
        ("torch.full((4,), 2.0)", "temporary", "cpu"),
        "gradient",
        "intermediate",
    ),
    "caught_by_the_program": (
        "add.Tensor",
        "",
        ("torch.ones(4)", "temporary", "cpu"),
        "x",
        "intermediate",
    ),
    "wrapped_by_the_program": (
        "add.Tensor",
        "",
        ("torch.ones(4)", "temporary", "cpu"),
        "x",
        "intermediate",
    ),
    "in_a_branch": ("mul.Tensor", "", ("torch.arange(4)", "temporary", "cpu"), "x", "intermediate"),
    "replicas": (
        "mul.Tensor",
        "(Unregistered)",
        ("module.scale", "unregistered tensor", "cpu"),
        "self.linear(x)",
        "parameter/buffer",
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_who_and_where(name) -> None:
    op, module, (culprit, kind, device), other, pattern = EXPECTED[name]
    result = verified(name)
    mixed = result["mixed"]
    assert mixed["op"] == "aten::" + op
    assert mixed["module"] == module
    assert (mixed["culprit"]["name"], mixed["culprit"]["kind"], mixed["culprit"]["device"]) == (
        culprit,
        kind,
        device,
    )
    assert mixed["other"]["name"] == other
    assert mixed["pattern"] == pattern
    assert not result["ok"]
    assert "device" in mixed["message"] or "type" in mixed["message"]
    assert mixed["fix"]
    (finding,) = [f for f in result["findings"] if f["code"] == "mixed-devices"]
    assert finding["severity"] == "error" and result["findings"][0] == finding


def test_every_case_is_expected() -> None:
    assert EXPECTED.keys() == CASES


def test_lines_of_making_and_mixing() -> None:
    mixed = mixed_in("mask_in_forward")
    assert mixed["line"]["line"] == line_with("# mixed")
    assert mixed["line"]["file"] == str(PROGRAM)
    made = mixed["culprit"]["made"]
    assert (made["op"], made["module"]) == ("aten::ones", "block.1")
    assert made["line"]["line"] == line_with("# made")
    assert made["line"]["expression"] == "torch.ones(x.shape[1], 1)"
    assert mixed["culprit"]["moved"] is None
    assert [step["op"] for step in mixed["culprit"]["story"]] == ["aten::unsqueeze", "aten::ones"]
    assert mixed["other"]["made"]["module"] == "block.0"


def test_the_last_move_is_told() -> None:
    mixed = mixed_in("moved_in_forward")
    moved = mixed["culprit"]["moved"]
    assert moved["line"]["line"] == line_with("# moved")
    assert (moved["source"], moved["target"], moved["kind"]) == ("cuda:0", "cpu", "moved")
    assert str(line_with("# moved")) in mixed["fix"]


FIXED = {
    "mask_in_forward": "mask = torch.ones(x.shape[1], 1, device=x.device)  # made",
    "unregistered_tensor": 'self.register_buffer("scale", torch.full((8,), 0.5), persistent=False)',
    "state_of_an_lstm": "state = (torch.zeros(1, 2, 4, device=x.device), "
    "torch.zeros(1, 2, 4, device=x.device))",
    "within_a_list": "return torch.cat([x, torch.zeros(1, 4, device=x.device)])",
    "in_the_backward_pass": "return gradient * torch.full((4,), 2.0, device=gradient.device)",
    "in_a_branch": "x = x * torch.arange(4, device=x.device)",
}


@pytest.mark.parametrize("name", FIXED)
def test_the_change_that_mends_it(name) -> None:
    mixed = mixed_in(name)
    assert mixed["fixed_line"] == FIXED[name]
    assert mixed["tried"] == "passes"
    assert SOURCE[mixed["fix_at"]["line"] - 1].strip() == mixed["fix_at"]["text"]


def test_the_changed_program_is_verified(tmp_path, python) -> None:
    """Every rewritten line put into the program: those cases then pass."""
    lines = list(SOURCE)
    for name in FIXED:
        mixed = mixed_in(name)
        number = mixed["fix_at"]["line"] - 1
        indent = re.match(" *", lines[number]).group()
        lines[number] = indent + mixed["fixed_line"]
    (tmp_path / "mixing.py").write_text("\n".join(lines) + "\n")
    code = "import json, mixing\n"
    code += f"told = {{name: getattr(mixing, name)().to_dict() for name in {list(FIXED)}}}\n"
    done = python(
        "-W", "ignore", "-c", code + "print(json.dumps(told))", cwd=tmp_path, devices="cuda:2"
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    for name in FIXED:
        assert results[name]["mixed"] is None, name


def test_words_of_fixes() -> None:
    fixes = {name: mixed_in(name)["fix"] for name in CASES}
    assert "move the argument input to 'cuda:0'" in fixes["input_on_the_host"]
    assert "model.to('cuda:0')" in fixes["model_on_the_host"]
    assert "move the argument input to 'cuda:1'" in fixes["other_device"]
    assert "torchport.loader(loader, 'cuda:0')" in fixes["loader"]
    assert "nn.ModuleList" in fixes["modules_in_a_list"]
    assert "torchport.adopt(model)" in fixes["unregistered_tensor"]
    assert "head.weight" in fixes["half_moved"] and "model.to('cuda:0')" in fixes["half_moved"]


def test_the_backward_pass_is_traced_to_the_forward_one() -> None:
    mixed = mixed_in("in_the_backward_pass")
    assert mixed["backward"]
    assert mixed["line"]["line"] == line_with("return gradient * torch.full")
    assert mixed["forward"]["module"] == "after"
    assert not mixed_in("mask_in_forward")["backward"]


def test_errors_that_the_program_handles() -> None:
    assert mixed_in("caught_by_the_program")["caught"]
    assert not mixed_in("wrapped_by_the_program")["caught"]

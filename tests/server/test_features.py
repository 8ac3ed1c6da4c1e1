"""Quick fixes, fix all, ignore comments, hover and inlay hints."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
from editor import TORCHPORT, apply
from lsprotocol import types

pytestmark = pytest.mark.asyncio

LEGACY = Path(__file__).resolve().parents[2] / "examples/legacy"
CUDA = "import torch\n\ns = '😀'; x = torch.zeros(3).cuda()\n"


def titled(actions, word: str):
    found = [action for action in actions if word in action.title]
    assert found, [action.title for action in actions]
    return found[0]


async def test_a_quick_fix_is_that_of_the_rule_and_leaves_nothing(start):
    editor = await start()
    uri = editor.open("a.py", CUDA)
    (diagnostic,) = await editor.diagnostics(uri)
    actions = await editor.actions(uri, diagnostic.range, ["quickfix"])
    fix = titled(actions, "device=DEVICE")
    assert fix.kind == "quickfix"
    assert fix.is_preferred
    assert [d.code for d in fix.diagnostics] == ["TP101"]
    after = apply(CUDA, fix.edit, uri)
    assert "x = torch.zeros(3, device=DEVICE)" in after
    assert "'😀'" in after
    editor.change(uri, 2, after)
    assert await editor.diagnostics(uri) == []


async def test_an_unsafe_fix_says_so_and_a_setting_hides_it(start):
    source = (LEGACY / "models/layers.py").read_text()
    for hidden in (False, True):
        editor = await start(options={"unsafeFixes": not hidden})
        uri = editor.open("layers.py", source)
        unsafe = [a for a in await editor.actions(uri, only=["quickfix"]) if "unsafe" in a.title]
        assert bool(unsafe) != hidden
        assert not any(action.is_preferred for action in unsafe)


@pytest.mark.parametrize("client", ["neovim@0.9", "visual-studio-code"])
async def test_fix_all_does_what_fix_does(start, tmp_path: Path, client: str):
    shutil.copytree(LEGACY, tmp_path / "project")
    editor = await start(client)
    for target in sorted(editor.folder.rglob("*.py")):
        source = target.read_text()
        name = str(target.relative_to(editor.folder))
        uri = editor.open(name, source)
        subprocess.run(
            [TORCHPORT, "fix", "-q", "--allow-dirty", target], check=False, capture_output=True
        )
        fixed = target.read_text()
        target.write_text(source)
        # The server reads the callers in other files while it is idle.
        for _ in range(100):
            actions = await editor.actions(uri, only=["source.fixAll"])
            after = apply(source, actions[0].edit, uri) if actions else source
            if after == fixed:
                break
            await asyncio.sleep(0.1)
        assert after == fixed, name
    # Without a wish for certain kinds, a client that resolves edits gets it only when it asks.
    action = titled(await editor.actions(uri), "all safe fixes") if fixed != source else None
    if action and action.edit is None:
        action = await editor.client.code_action_resolve_async(action)
        assert apply(source, action.edit, uri) == fixed


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "import torch\nx = y.cuda()\n",
            "import torch\nx = y.cuda()  # torchport: ignore[TP101]\n",
        ),
        (
            "import torch\nx = y.cuda()  # noqa\n",
            "import torch\nx = y.cuda()  # noqa  # torchport: ignore[TP101]\n",
        ),
        (
            "import torch\r\nx = y.cuda()\r\n",
            "import torch\r\nx = y.cuda()  # torchport: ignore[TP101]\r\n",
        ),
        (
            "import torch\nx = y.cuda()  # torchport: ignore[TP301]\n",
            "import torch\nx = y.cuda()  # torchport: ignore[TP301, TP101]\n",
        ),
        ("import torch\nx = f(y.cuda(), '''\n''')\n", None),
        ("import torch\nx = y.cuda() + \\\n    1\n", None),
    ],
)
async def test_the_comment_that_ignores_a_finding(start, source: str, expected: str | None):
    editor = await start()
    uri = editor.open("a.py", source)
    assert [d.code for d in await editor.diagnostics(uri)] == ["TP101"]
    actions = [a for a in await editor.actions(uri, only=["quickfix"]) if "ignore TP101" in a.title]
    if expected is None:
        assert actions == []
        return
    after = apply(source, actions[0].edit, uri)
    assert after == expected
    editor.change(uri, 2, after)
    assert await editor.diagnostics(uri) == []


async def test_text_that_is_not_python_is_not_edited(start):
    editor = await start()
    uri = editor.open("a.py", CUDA + "def (:\n")
    assert [d.code for d in await editor.diagnostics(uri)] == ["TP101"]
    assert await editor.actions(uri) == []


async def test_hover_shows_the_page_of_the_rule(start):
    editor = await start()
    uri = editor.open("a.py", CUDA)
    (diagnostic,) = await editor.diagnostics(uri)
    place = diagnostic.range.start
    page = await editor.hover(uri, place.line, place.character + 2)
    explained = subprocess.run([TORCHPORT, "explain", "TP101"], capture_output=True, text=True)
    assert explained.stdout in page


DEVICES = """\
import torch

def run(net, rank, flag: torch.Tensor):
    model = torch.nn.Linear(2, 2).cuda()
    batch = torch.zeros(2, 2)
    other = batch.cpu()
    moved = batch.to(flag.device)
    doubled = moved * 2
    output = model(batch)
    alias = model
    number = 3
    return doubled, alias, other, output, number
"""


@pytest.mark.parametrize(
    ("word", "line", "expected"),
    [
        ("model", 3, ["an nn.Module on **cuda**", "from line 4"]),
        ("alias", 11, ["an nn.Module on **cuda**", "from line 4", "torch.nn.Linear(2, 2).cuda()"]),
        ("batch", 5, ["a tensor on **cpu**", "from line 5"]),
        ("doubled", 11, ["the device that `flag.device` says", "from line 7"]),
        ("other", 11, ["a tensor on **cpu**", "from line 6"]),
        ("number", 11, []),
        ("return", 11, []),
    ],
)
async def test_hover_says_where_a_variable_lives(start, word: str, line: int, expected: list[str]):
    editor = await start()
    uri = editor.open("a.py", DEVICES)
    column = DEVICES.splitlines()[line].index(word)
    for offset in (0, len(word) - 1):
        shown = await editor.hover(uri, line, column + offset)
        if not expected:
            assert shown == ""
        for part in expected:
            assert part in shown


async def test_hover_in_a_class(start):
    source = """\
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(3).cuda()

    def forward(self, x: torch.Tensor):
        return x * self.scale
"""
    editor = await start()
    uri = editor.open("a.py", source)
    assert await editor.hover(uri, 8, source.splitlines()[8].index("self")) == ""
    scale = await editor.hover(uri, 8, source.splitlines()[8].index("scale"))
    assert "`self.scale`: a tensor on **cuda**" in scale
    assert "from line 6: `torch.ones(3).cuda()`" in scale
    parameter = await editor.hover(uri, 8, source.splitlines()[8].index("x *"))
    assert "a tensor on the device that the caller or the machine decides" in parameter


async def test_inlay_hints_are_off_unless_a_setting_wants_them(start):
    shown = {}
    for wanted in (None, "cuda", "all"):
        editor = await start(options={"inlayHints": wanted} if wanted else None)
        uri = editor.open("a.py", DEVICES)
        answer = await editor.client.text_document_inlay_hint_async(
            types.InlayHintParams(
                types.TextDocumentIdentifier(uri),
                types.Range(types.Position(0, 0), types.Position(99, 0)),
            )
        )
        shown[wanted] = [(hint.position.line, hint.label) for hint in answer]
    assert shown[None] == []
    assert shown["cuda"] == [(3, ": cuda"), (9, ": cuda | from line 4")]
    assert shown["all"] == [
        (3, ": cuda"),
        (6, ": flag.device"),
        (7, ": flag.device | from line 7"),
        (9, ": cuda | from line 4"),
    ]

"""Python files with deep, long or broken syntax."""

from __future__ import annotations

import pytest
from hostile_file import DEEP, HEAD, Cases, check_and_fix

pytestmark = [pytest.mark.alone("hostile"), pytest.mark.split]


def nested(opening: str, middle: str, closing: str, count: int = DEEP) -> str:
    return HEAD + "y = " + opening * count + middle + closing * count + "\n"


def nested_blocks(header: str, count: int) -> str:
    return HEAD + "".join(" " * i + header + "\n" for i in range(count)) + " " * count + "pass\n"


CASES: Cases = {
    "parentheses": ("a.py", lambda: nested("(", "1", ")"), ""),
    "open_parentheses": ("a.py", lambda: HEAD + "y = " + "(" * 1_000_000, "a.py"),
    "open_brackets": ("a.py", lambda: HEAD + "y = " + "[" * 1_000_000, "a.py"),
    "open_braces": ("a.py", lambda: HEAD + "y = " + "{" * 1_000_000, "a.py"),
    "close_parentheses": ("a.py", lambda: HEAD + ")" * 1_000_000, "a.py"),
    "lists": ("a.py", lambda: nested("[", "", "]"), ""),
    "dictionaries": ("a.py", lambda: nested("{1:", "1", "}"), ""),
    "calls_in_calls": ("a.py", lambda: nested("f(", "x.cuda()", ")"), ""),
    "calls_of_calls": ("a.py", lambda: HEAD + "y = f" + "()" * DEEP + ".cuda()\n", ""),
    "subscripts": ("a.py", lambda: HEAD + "y = x" + "[0]" * DEEP + ".cuda()\n", ""),
    "attributes": ("a.py", lambda: HEAD + "y = x" + ".a" * DEEP + ".cuda()\n", ""),
    "methods": ("a.py", lambda: HEAD + "y = x" + ".cuda()" * DEEP + "\n", ""),
    "methods_of_tensors": (
        "a.py",
        lambda: HEAD + "y = torch.ones(1)" + ".view(1)" * DEEP + ".cuda()\n",
        "",
    ),
    "torch_attributes": ("a.py", lambda: HEAD + "y = torch" + ".cuda" * DEEP + "()\n", ""),
    "minuses": ("a.py", lambda: nested("-", "x.cuda()", ""), ""),
    "nots": ("a.py", lambda: nested("not ", "torch.cuda.is_available()", ""), ""),
    "sums": ("a.py", lambda: HEAD + "y = x" + " + x.cuda()" * DEEP + "\n", ""),
    "powers": ("a.py", lambda: HEAD + "y = x" + " ** x" * DEEP + "\n", ""),
    "ands": (
        "a.py",
        lambda: HEAD + "if x" + " and torch.cuda.is_available()" * DEEP + ":\n    x.cuda()\n",
        "",
    ),
    "comparisons": ("a.py", lambda: HEAD + "y = x" + " == 'cuda'" * DEEP + "\n", ""),
    "lambdas": ("a.py", lambda: nested("lambda a: ", "a.cuda()", ""), ""),
    "conditionals": (
        "a.py",
        lambda: nested("x if torch.cuda.is_available() else ", "'cuda'", ""),
        "",
    ),
    "comprehensions": ("a.py", lambda: nested("[x for x in ", "x.cuda()", "]", 20_000), ""),
    "comprehension_clauses": ("a.py", lambda: HEAD + "y = [x" + " for x in x" * DEEP + "]\n", ""),
    "f_strings": ("a.py", lambda: nested("f'{", "1", "}'", 20_000), "a.py"),
    "f_string_fields": ("a.py", lambda: HEAD + "y = f'" + "{x.cuda()}" * DEEP + "'\n", ""),
    "joined_strings": ("a.py", lambda: HEAD + "y = " + "'cuda' " * DEEP + "\n", ""),
    "format_specs": ("a.py", lambda: HEAD + "y = f'" + "{x:" * 20_000 + "}" * 20_000 + "'\n", ""),
    "stars": ("a.py", lambda: HEAD + "f(" + "*" * 1_000_000 + "x)\n", "a.py"),
    "decorators": ("a.py", lambda: HEAD + "@f('cuda')\n" * DEEP + "def g(): pass\n", ""),
    "arguments": ("a.py", lambda: HEAD + "f(" + "x.cuda()," * DEEP + ")\n", ""),
    "keywords": ("a.py", lambda: HEAD + "f(" + "device='cuda'," * DEEP + ")\n", ""),
    "parameters": (
        "a.py",
        lambda: (
            HEAD
            + "def f("
            + ",".join(f"a{i}='cuda'" for i in range(DEEP))
            + "):\n    return a1.cuda()\n"
        ),
        "",
    ),
    "chain_of_calls": (
        "a.py",
        lambda: (
            HEAD
            + "".join(f"def f{i}(x):\n    return f{i - 1}(x)\n" for i in range(1, 20_000))
            + "def f0(x):\n    return x.cuda()\nif torch.cuda.is_available():\n    f19999(1)\n"
        ),
        "",
    ),
    "circle_of_names": (
        "a.py",
        lambda: (
            HEAD
            + "def g():\n"
            + "".join(f"    x{i} = x{(i + 1) % 3000} + x{i * 7 % 3000}\n" for i in range(3000))
            + "".join(f"    f(x{i}, x{i * 3 % 3000})\n" for i in range(3000))
            + "def f(x, y):\n    return x.cuda()\n"
        ),
        "",
    ),
    "imports": (
        "a.py",
        lambda: "import torch\n" + "import torch.cuda as c\n" * DEEP + "c.synchronize()\n",
        "",
    ),
    "import_names": (
        "a.py",
        lambda: (
            "from torch import (" + ",".join(f"a{i}" for i in range(DEEP)) + ")\nx = a1(1).cuda()\n"
        ),
        "",
    ),
    "assignments": ("a.py", lambda: HEAD + "y = " * DEEP + "x.cuda()\n", ""),
    "tuple_targets": (
        "a.py",
        lambda: HEAD + ",".join(["y"] * DEEP) + " = " + ",".join(["x.cuda()"] * DEEP) + "\n",
        "",
    ),
    "nested_targets": ("a.py", lambda: HEAD + "(" * DEEP + "y" + ",)" * DEEP + " = x\n", ""),
    "rebindings": ("a.py", lambda: HEAD + "x = x.to('cuda')\n" * DEEP, ""),
    "chained_names": (
        "a.py",
        lambda: (
            HEAD + "".join(f"x{i + 1} = x{i}.view(1)\n" for i in range(DEEP)) + f"x{DEEP}.cuda()\n"
        ),
        "",
    ),
    "elifs": ("a.py", lambda: HEAD + "if x: pass\n" + "elif x == 'cuda': x.cuda()\n" * DEEP, ""),
    "ifs": ("a.py", lambda: nested_blocks("if torch.cuda.is_available():", 4_000), ""),
    "functions": ("a.py", lambda: nested_blocks("def f(device='cuda'):", 4_000), ""),
    "classes": ("a.py", lambda: nested_blocks("class A(torch.nn.Module):", 4_000), ""),
    "tries": (
        "a.py",
        lambda: (
            HEAD + "".join(" " * i + "try:\n" for i in range(3_000)) + " " * 3_000 + "x.cuda()\n"
        ),
        "a.py",
    ),
    "withs": ("a.py", lambda: nested_blocks("with torch.no_grad():", 4_000), ""),
    "withs_on_one_line": (
        "a.py",
        lambda: HEAD + "with " + ",".join(["torch.no_grad() as x"] * DEEP) + ":\n    x.cuda()\n",
        "",
    ),
    "matches": ("a.py", lambda: HEAD + "match x:\n" + "    case 'cuda': x.cuda()\n" * DEEP, ""),
    "class_bases": (
        "a.py",
        lambda: HEAD + "".join(f"class A{i + 1}(A{i}): pass\n" for i in range(30_000)),
        "",
    ),
    "class_cycle": (
        "a.py",
        lambda: HEAD + "class A(B): pass\nclass B(A): pass\nx = A().cuda()\n",
        "",
    ),
    "many_classes": (
        "a.py",
        lambda: (
            HEAD
            + "".join(
                f"class A{i}(torch.nn.Module):\n  def __init__(self):\n    self.x = torch.ones(1)\n  def forward(self, x):\n    return x + torch.zeros(1)\n"
                for i in range(15_000)
            )
        ),
        "",
    ),
    "methods_of_one_class": (
        "a.py",
        lambda: (
            HEAD
            + "class A(torch.nn.Module):\n"
            + "".join(
                f"  def f{i}(self, x):\n    self.y = torch.ones(1)\n    return self.y.cuda()\n"
                for i in range(20_000)
            )
        ),
        "",
    ),
    "many_functions": (
        "a.py",
        lambda: (
            HEAD
            + "".join(
                f"def f{i}(x, device='cuda'):\n  y = torch.zeros(1)\n  return g(y).cuda() + y\n"
                for i in range(30_000)
            )
        ),
        "",
    ),
    "many_findings": ("a.py", lambda: "import torch\n" + "x = torch.ones(1).cuda()\n" * DEEP, ""),
    "many_loads": (
        "a.py",
        lambda: "import torch\n" + "x = torch.load('a')\nx.eval()\nx.cuda()\n" * 30_000,
        "",
    ),
    "many_guards": (
        "a.py",
        lambda: HEAD + "if torch.cuda.is_available():\n    x = x.cuda()\n" * 30_000,
        "",
    ),
    "early_exits": (
        "a.py",
        lambda: (
            HEAD
            + "def f(x):\n"
            + "  if not torch.cuda.is_available(): return\n" * 30_000
            + "  x.cuda()\n" * 30_000
        ),
        "",
    ),
    "ignore_comments": (
        "a.py",
        lambda: HEAD + "x.cuda()  # torchport: ignore[" + "TP101," * DEEP + "]\n",
        "",
    ),
    "only_ignores": ("a.py", lambda: HEAD + "x.cuda()  # torchport: ignore[TP101]\n" * 50_000, ""),
    "broken_everywhere": ("a.py", lambda: HEAD + "x.cuda(\ndef f(:\n" * 50_000, "a.py"),
    "dedents": ("a.py", lambda: HEAD + "if x:\n    if x:\n  x.cuda()\n" * 30_000, "a.py"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_hostile_file(torchport, name: str) -> None:
    check_and_fix(torchport, name, CASES)

"""What a plan says of programs that take another way with values than without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planning_programs import torchport

HEAD = "import math\nimport torch\nx = torch.randn(512, 512, device='cuda')\nkept = []\n"  # 4 lines
ENDLESS = "while x.abs().mean() < 30:\n    x = x * 1.5\n    kept.append(torch.cat([x] * 40))\n"
HANGS = {
    "while of a tensor": "while x.norm() > 1e-3:\n    kept.append(x * 2)\n    x = x * 0.5\n",
    "while of a number": "r = x.norm().item()\nwhile r > 1e-3:\n    r = (x * 0.5).norm().item()\n",
    "root of a number": "while math.sqrt(x.norm().item() + 2) > 100:\n    kept.append(x * 2)\n",
    "float": "r = float(x.norm())\nwhile r > 1e-3:\n    kept.append(x * 2)\n",
    "branch": "if x.mean().item() > 1.0:\n    kept.append(x * 2)\n",
    "one of two": "y = torch.cat([x, x]) if x.mean().item() > 1.0 else x\n",
    "int as a size": "n = int(x.max()) + 3\ny = torch.zeros(n, 4, device='cuda')\n",
    "item as a size": "n = x.argmax().item() + 3\ny = torch.zeros(n, 4, device='cuda')\n",
    "range": "for _ in range(x.argmax().item()):\n    kept.append(x * 2)\n",
    "slice": "y = x[: int(x.argmax())].clone()\n",
    "index": "y = x[: x.argmax()].clone()\n",
    "all close": "if torch.allclose(x, x * 2):\n    kept.append(x * 2)\n",
    "equal": "if not torch.equal(x, x * 2):\n    kept.append(x * 2)\n",
    "early stop": "bad = 0\nfor _ in range(9):\n    v = x.mean().item()\n    if v < 1:\n        bad += 1\n"
    "    if bad > 3:\n        break\n    kept.append(x * 2)\n",
    "kept": "best = None\nif x.mean() < 1:\n    best = x\n",
    "in a function": "def stops(y):\n    return y.norm() < 3\nwhile not stops(x):\n    x = x * 0.5\n",
    "lbfgs": "p = torch.nn.Parameter(x)\no = torch.optim.LBFGS([p])\ndef close():\n"
    "    o.zero_grad()\n    l = (p * p).sum()\n    l.backward()\n    return l\no.step(close)\n",
    "repeats": "y = x.repeat_interleave(x.argmax(1), 0)\n",
    "runs out": ENDLESS,
}
TELLS = {
    "print": "print(x.mean().item(), float(x.mean()), int(x.argmax()), x)\n",
    "list of losses": "kept.append(x.mean().item())\nprint(sum(kept) / len(kept))\n",
    "running mean": "total = 0.0\ntotal += x.mean().item() * 4\nprint(f'{total / 2:.3f}')\n",
    "accuracy": "good = 0\ngood += (x > 0).sum().item()\nprint(100.0 * good / 7)\n",
    "int of accuracy": "good = 0\ngood += int((x > 0).sum())\nprint('%d' % good, good / 7)\n",
    "check": "assert torch.isfinite(x).all()\nif x.isnan().any():\n    raise ValueError(x)\n",
    "check of a number": "if x.mean().item() > 3:\n    print('large')\n",
    "best model": "best = math.inf\nfor _ in range(2):\n    v = x.mean().item()\n    if v < best:\n"
    "        best = v\n        torch.save(x, 'best.pt')\n",
    "best": "best = 0.0\nbest = max(best, x.mean().item())\nprint(best)\n",
    "in json": "import json\nprint(json.dumps({'loss': x.mean().item(), 'n': x.argmax().item()}))\n",
    "in torch": "y = torch.tensor([x.mean().item()]).cuda() * x.mean().item()\n",
    "scaler": "p = torch.nn.Parameter(x)\no = torch.optim.Adam([p])\ns = torch.amp.GradScaler()\n"
    "s.scale((p * p).sum()).backward()\ns.step(o)\ns.update()\n",
}


def planned(folder: Path, text: str, *words: str) -> tuple[int, dict]:
    (folder / "program.py").write_text(HEAD + text)
    run = torchport("plan", *words, "--format", "json", "program.py", folder=folder)
    assert "{\n" in run.stdout, run.stdout + run.stderr
    return run.returncode, json.loads(run.stdout[run.stdout.index("{\n") :])


@pytest.mark.parametrize("name", HANGS)
def test_no_verdict_hangs_on_values(tmp_path: Path, name: str) -> None:
    code, plan = planned(tmp_path, HANGS[name], "--memory", "2GiB")
    assert (code, plan["verdict"]) == (4, "not known")
    assert plan["hangs_on"] and all(one.startswith("program.py:") for one in plan["hangs_on"])


@pytest.mark.parametrize("name", TELLS)
def test_numbers_that_are_told_change_no_verdict(tmp_path: Path, name: str) -> None:
    code, plan = planned(tmp_path, TELLS[name], "--memory", "2GiB")
    assert (code, plan["verdict"], plan["hangs_on"]) == (0, "fits", [])
    assert plan["missing_values"] or name == "scaler"  # whose values are there


def test_a_mask_is_an_upper_bound(tmp_path: Path) -> None:
    text = "for _ in range(40):\n    kept.append(x[x > 0])\n    kept.append((x > 0).nonzero())\n"
    assert planned(tmp_path, text, "--memory", "2GiB")[0] == 0
    code, plan = planned(tmp_path, text, "--memory", "600MiB")
    assert (code, plan["verdict"], plan["hangs_on"]) == (4, "not known", [])
    assert plan["at_most"] == ["program.py:6", "program.py:7"]


def test_a_small_mask_chooses_all_too(tmp_path: Path) -> None:
    text = "e = x.argmax(1)\nprint('chosen', *[(e == i).nonzero().shape[0] for i in range(3)])\n"
    (tmp_path / "program.py").write_text(HEAD + text)
    assert "chosen 512 512 512\n" in torchport("plan", "program.py", folder=tmp_path).stdout


def test_the_reports_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + HANGS["branch"])
    run = torchport("plan", "--html", "plan.html", "program.py", folder=tmp_path)
    assert run.returncode == 4
    assert "torchport: not known: hangs on values at program.py:5; an estimate" in run.stdout
    page = (tmp_path / "plan.html").read_text()
    assert "Not known: hangs on values at program.py:5" in page
    assert "<li class=path>program.py:5</li>" in page
    run = torchport("plan", "--profile", "t4,h100-80g", "program.py", folder=tmp_path)
    assert run.returncode == 4
    run = torchport("plan", "--search", "n=1..4", "program.py", folder=tmp_path)
    assert run.returncode == 4 and "n=2: not known" in run.stderr

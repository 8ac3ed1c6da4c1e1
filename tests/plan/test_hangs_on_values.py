"""What a plan says of programs that take another way with values than without."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planning_programs import torchport

HEAD = "import math\nimport torch\nx = torch.randn(512, 512, device='cuda')\nkept = []\n"  # 4 lines
ENDLESS = "while x.abs().mean() < 30:\n    x = x * 1.5\n    kept.append(torch.cat([x] * 40))\n"
BRANCHES = (
    "class S:\n    def branch0(self, x):\n        return x\n    def branch1(self, x):\n"
    "        return x.repeat(9, 1)\ns = S()\ng = int(x.sum() > 0)\n"
)
METER = (
    "class Meter:\n    def __init__(self):\n        self.v = self.sum = self.n = 0\n"
    "    def update(self, v, n=1):\n        self.v = v\n        self.sum += v * n\n        self.n += n\n"
    "    @property\n    def avg(self):\n        return self.sum / self.n\nm = Meter()\n"
)
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
    "copy": "if x.cpu().max() > 1:\n    kept.append(x * 2)\n",
    "number of a copy": "h = x.mean().cpu()\nwhile h.item() > 1e-3:\n    kept.append(x * 2)\n",
    "size of a copy": "n = int(x.cpu().argmax()) + 3\ny = torch.zeros(n, 4, device='cuda')\n",
    "what a copy became": "h = (x.sum(1).cpu() * 2).abs()\nif (h > 1).any():\n    kept.append(x * 2)\n",
    "copied into": "h = torch.empty(512)\nh.copy_(x[0])\nif h.sum() > 1:\n    kept.append(x * 2)\n",
    "array": "a = x.cpu().numpy()\nif (a > 0).any():\n    kept.append(x * 2)\n",
    "size of an array": "a = x.argmax(1).cpu().numpy()\ny = torch.zeros(int(a.max()), 4, device='cuda')\n",
    "array by itself": "import numpy as np\na = np.asarray(x.cpu())\nwhile a.mean() > 1:\n    kept.append(x)\n",
    "array in a function": "def many(a):\n    return a.max() + 1\nn = many(x.cpu().numpy())\n"
    "for _ in range(int(n)):\n    kept.append(x * 2)\n",
    "list of a copy": "for n in x[0].cpu().tolist():\n    if n > 1:\n        kept.append(x * 2)\n",
    "cut array": "a = x.cpu().numpy()\ny = torch.from_numpy(a[a > 0]).cuda()\n",
    "counts": "c = torch.bincount(x.argmax(1))\ny = torch.zeros(c.shape[0], 4, device='cuda')\n",
    "experts by counts": "s = 0\nfor c in torch.bincount(x.argmax(1), minlength=8).tolist():\n"
    "    kept.append(x[s:s + c] * 2)\n    s += c\n",
    "one hot": "y = torch.nn.functional.one_hot(x.argmax(1))\n",
    "arange": "y = torch.arange(x.max() + 1, device='cuda')\n",
    "best tensors": "best = 1.0\nstate = None\nfor _ in range(5):\n    v = x.mean().item()\n"
    "    if v < best:\n        best = v\n        state = x.clone()\n",
    "unknown function": "from planned import use\nuse(int(x.argmax()))\n",
    **{
        f"chosen by {kind}": f"l = x.mean(1)\nkeep = {some}\nn = len(keep)\nkept.append(x[:n * 3] * 2)\n"
        for kind, some in {
            "a list": "[i for i, v in enumerate(l.tolist()) if v > 0.2]",
            "values": "[v for v in l.tolist() if v > 0.2]",
            "a set": "{i for i, v in enumerate(l.tolist()) if v > 0.2}",
            "a dict": "{i: v for i, v in enumerate(l.tolist()) if v > 0.2}",
            "an array": "[i for i, v in enumerate(l.detach().cpu().numpy()) if v > 0.2]",
            "different values": "{round(v, 1) for v in l.tolist()}",
            "different integers": "set(x.argmax(1).tolist())",
            "tensors": "[i for i in range(8) if l[i] > 0.2]",
            "items": "[i for i in range(8) if l[i].item() > 0.2]",
        }.items()
    },
    "one for each chosen": "keep = [v for v in x.mean(1).tolist() if v > 0.2]\nfor _ in keep:\n"
    "    kept.append(x.mul(2))\n",
    "a list of chosen": "keep = [v for v in x.mean(1).tolist() if v > 0.2]\nmany = [x.mul(2) for _ in keep]\n",
    "chosen of an array": "a = x.mean(1).cpu().numpy()\nkeep = [i for i, v in enumerate(a) if v > 0.2]\n"
    "kept.append(x[keep] * 2)\n",
    "named": BRANCHES + "name = f'branch{g}'\ny = getattr(s, name)(x)\n",
    "named at once": BRANCHES + "y = getattr(s, 'branch%d' % g)(x)\n",
    "named in a function": BRANCHES + "def run(name):\n    return getattr(s, name)(x)\n"
    "def named(k):\n    return 'branch' + str(k)\ny = run(named(g))\n",
    "text as a key": BRANCHES + "t = {'0': s.branch0, '1': s.branch1}\ny = t[str(g)](x)\n",
    "text that is compared": BRANCHES
    + "name = f'b{g}'\nif name == 'b1':\n    kept.append(s.branch1(x))\n",
    "code": BRANCHES + "exec('y = s.branch{}(x)'.format(g))\n",
    "json that is read": BRANCHES + "import json\nd = json.loads(json.dumps({'g': g}))\n"
    "y = [s.branch0, s.branch1][d['g']](x)\n",
    **{
        f"meter by {kind}": METER
        + BRANCHES.replace("int(x.sum() > 0)", "0")
        + f"m.update((x.mean() > 0).float().item())\n{use}"
        for kind, use in {
            "a dict": "y = {0: s.branch0, 1: s.branch1}[round(m.v)](x)\n",
            "an integer": "y = {0: s.branch0, 1: s.branch1}[int(m.v)](x)\n",
            "a list": "y = [s.branch0, s.branch1][round(m.v)](x)\n",
            "a comparison": "if m.avg > 0.5:\n    kept.append(s.branch1(x))\n",
            "a function": "def pick():\n    return round(m.v)\ny = [s.branch0, s.branch1][pick()](x)\n",
            "the first": "y = {0: s.branch0}.get(round(m.v), s.branch1)(x)\n",
            "a choice": "f = {0: s.branch0}.get(round(m.v), s.branch1)\ny = f(x)\n",
            "a text": "y = getattr(s, f'branch{round(m.v)}')(x)\n",
            "no update": "{0: s.branch0, 1: s.branch1}[round(m.v)](x)\n",
        }.items()
    },
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
    "logger": "class Any:\n    def log(self, *a): pass\n    def track(self, *a, **b): pass\nlogger = Any()\n"
    "logger.log(x.mean().item())\nlogger.track(n=int(x.argmax()))\n",
    "progress": "class Bar:\n    def set_postfix(self, **b): pass\n    def update(self, n): pass\n"
    "pbar = Bar()\ncorrect = total = 0\ncorrect += (x > 0).sum().item()\ntotal += 512\n"
    "pbar.set_postfix(acc=correct / total)\npbar.update(correct)\n",
    "history": "history = {'loss': []}\nhistory['loss'].append(int(x.argmax()))\n"
    "print(history['loss'][-1], len(history['loss']))\n",
    "schedule": "class S:\n    def step(self, v): pass\nscheduler = S()\nscheduler.step(float(x.mean()))\n",
    "meter": "class Meter:\n    def __init__(self):\n        self.sum = self.n = 0\n"
    "    def update(self, v, n=1):\n        self.sum += v * n\n        self.n += n\n"
    "    @property\n    def avg(self):\n        return self.sum / self.n\n"
    "m = Meter()\nm.update(int(x.argmax()), 4)\nprint(f'{m.avg:.2f}')\n",
    "best epoch": "best, best_epoch, where = 1.0, -1, ''\nfor epoch in range(3):\n    v = x.mean().item()\n"
    "    if v < best:\n        best, best_epoch = v, epoch\n        where = f'best{epoch}.pt'\n"
    "        save_it = torch.save(x, 'best.pt')\n".replace("save_it = ", ""),
    "early stop of steady memory": "best, bad = 1.0, 0\nfor epoch in range(20):\n    v = float((x * 2).mean())\n"
    "    if v < best:\n        best, bad = v, 0\n    else:\n        bad += 1\n"
    "    if bad >= 5:\n        print('stopped')\n        break\n",
    "early stop in an object": "class Stopping:\n    def __init__(self):\n        self.best, self.n, self.stop = 1.0, 0, False\n"
    "    def __call__(self, v):\n        if v < self.best:\n            self.best = v\n            self.n = 0\n"
    "        else:\n            self.n += 1\n            if self.n >= 5:\n                self.stop = True\n"
    "stopping = Stopping()\nfor epoch in range(20):\n    stopping(float((x * 2).mean()))\n"
    "    if stopping.stop:\n        break\n",
    "metrics of copies": "from sklearn_like import f1_score\np, t = [], []\n"
    "p.extend(x.argmax(1).cpu().tolist())\nt.extend(x.argmax(1).cpu().tolist())\nprint(f1_score(p, t))\n",
    "pictures": "from sklearn_like import draw\na = x.cpu().numpy()\ndraw(a)\nprint(a.shape, a.mean())\n"
    "for row in a[:3]:\n    draw(row)\n",
    "accuracy of an array": "import numpy as np\na = x.argmax(1).cpu().numpy()\n"
    "good = np.mean(a == np.zeros(512))\nbest = max(0.0, good)\nprint(f'{100 * best:.1f}')\n",
    "rounded": "print(round(x.mean().item()), round(x.mean().item(), 3))\n"
    "kept.append(round(x.mean().item()))\nprint(sum(kept))\n",
    "chosen and told": "keep = [v for v in x.mean(1).tolist() if v > 0.2]\nprint(len(keep) / 512)\n"
    "for v in keep:\n    print(v)\nprint(sum(keep), sorted(set(keep)))\n",
    "named file": "g = int(x.argmax())\nname = f'best{g}.pt'\ntorch.save(x, name)\nprint('to', name)\n",
    "text of losses": "text = f'{x.mean().item():.2f}'\nlines = []\nlines.append(text)\n"
    "print(' '.join(lines).strip())\n",
    "json that is told": "import json\ntext = json.dumps({'n': int(x.argmax())})\nopen('n.json', 'w').write(text)\n",
    "stored copies": "outputs = []\nfor _ in range(3):\n    outputs.append(x.cpu())\nall = torch.cat(outputs)\nprint(all.mean())\n",
}


def planned(folder: Path, text: str, *words: str) -> tuple[int, dict]:
    (folder / "program.py").write_text(HEAD + text)
    (folder / "planned.py").write_text("def use(n):\n    return n\n")
    (folder / "sklearn_like.py").write_text(
        "def f1_score(a, b):\n    return 0.5\ndef draw(a):\n    pass\n"
    )
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
    # The values of "scaler" are there, and no operator reads an array.
    assert plan["missing_values"] or name in (
        "scaler",
        "pictures",
        "accuracy of an array",
        "stored copies",
        "metrics of copies",
        "chosen and told",
    )


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


def test_what_was_allocated_before_is_the_least(tmp_path: Path) -> None:
    text = "kept.append(torch.empty(64, 1024, 1024, device='cuda'))\n" + HANGS["branch"]
    text += "kept.append(torch.empty(256, 1024, 1024, device='cuda'))\n"
    code, plan = planned(tmp_path, text, "--memory", "2GiB")
    assert (code, plan["verdict"]) == (4, "not known")
    (device,) = plan["devices"]
    assert 257 << 20 <= device["at_least"] <= 260 << 20 < device["allocated"]
    (tmp_path / "program.py").write_text(HEAD + text)
    run = torchport("plan", "program.py", folder=tmp_path)
    assert "hangs on values at program.py:6; allocates at least 257.00 MiB before" in run.stdout


EXPERTS = """k = torch.nn.functional.softmax(x[:, :4], 1).argmax(1)
for e in range(4):
    CHOICE
    kept.append(x[chosen] * 2)
"""
CHOICES = {
    "nonzero": "chosen = (k == e).nonzero().squeeze(1)",
    "where": "(chosen,) = torch.where(k == e)",
    "mask": "chosen = k == e",
    "unique": "chosen = k.unique()",
    "masked_select": "chosen = k.masked_select(k == e)",
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_mixture_of_experts_is_at_most_what_all_would_take(tmp_path: Path, name: str) -> None:
    text = EXPERTS.replace("CHOICE", CHOICES[name])
    code, plan = planned(tmp_path, text, "--memory", "2GiB")
    assert (code, plan["verdict"], plan["hangs_on"]) == (0, "fits", [])
    assert "program.py:7" in plan["at_most"] or "program.py:8" in plan["at_most"]
    assert plan["devices"][0]["allocated"] >= 5 << 20  # x, and each expert has all of it
    (tmp_path / "program.py").write_text(HEAD + text)
    run = torchport("plan", "program.py", folder=tmp_path)
    assert "sizes that depend on values were planned as large as they can be, at:" in run.stdout


def test_the_reports_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD + HANGS["branch"])
    run = torchport("plan", "--html", "plan.html", "program.py", folder=tmp_path)
    assert run.returncode == 4
    assert (
        "torchport: not known: hangs on values at program.py:5; allocates at least 1.00 MiB"
        in run.stdout
    )
    assert "before; an estimate without them: " in run.stdout
    page = (tmp_path / "plan.html").read_text()
    assert "Not known: hangs on values at program.py:5" in page
    assert "<li class=path>program.py:5</li>" in page
    run = torchport("plan", "--profile", "t4,h100-80g", "program.py", folder=tmp_path)
    assert run.returncode == 4
    run = torchport("plan", "--search", "n=1..4", "program.py", folder=tmp_path)
    assert run.returncode == 4 and "n=2: not known" in run.stderr

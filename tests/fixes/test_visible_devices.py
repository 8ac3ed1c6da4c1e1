"""Programs that choose their GPU by CUDA_VISIBLE_DEVICES still have that GPU after fixes: each is run on two
virtual devices, before and after, with `--gpu 1`."""

from __future__ import annotations

from pathlib import Path

import pytest

TAIL = "print(torch.cuda.device_count(), torch.cuda.get_device_properties(0).uuid, float(y))\n"
USE = "y = torch.nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()).sum() * 0 + 1\n"
PARSE = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gpu', default='0')\nargs = p.parse_args()\n"
SET = "os.environ['CUDA_VISIBLE_DEVICES'] = args.gpu\n"


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


MAIN = "\n\nif __name__ == '__main__':\n"
# The files of a program; `safe` says whether safe fixes are applied.
PROGRAMS: dict[str, tuple[dict[str, str], bool]] = {
    "at the top": ({"main.py": "import os\n" + PARSE + SET + "import torch\n" + USE + TAIL}, True),
    "after torch": ({"main.py": "import os\nimport torch\n" + PARSE + SET + USE + TAIL}, True),
    "by setdefault": (
        {"main.py": "import os\nimport torch\n" + PARSE + "os.environ.setdefault('CUDA_VISIBLE_DEVICES', args.gpu)\n" + USE + TAIL},
        True,
    ),
    "in a branch": (
        {"main.py": "import os\nimport torch\n" + PARSE + "if args.gpu:\n    " + SET + USE + TAIL},
        True,
    ),
    "in a function": (
        {"main.py": "import os\nimport torch\n\n\ndef main():\n" + indented(PARSE + SET + USE + TAIL) + MAIN + "    main()\n"},
        False,
    ),
    "in a function, and the use in another": (
        {"main.py": "import os\nimport torch\n\n\ndef main():\n" + indented(PARSE + SET + "run()") + "\n\ndef run():\n"
         + indented(USE + TAIL) + MAIN + "    main()\n"},
        False,
    ),
    "in the main block": (
        {"main.py": "import os\nimport torch\n\n\ndef run():\n" + indented(USE + TAIL) + MAIN + indented(PARSE + SET + "run()")},
        False,
    ),
    "by an imported function": (
        {"main.py": "import torch\nfrom gpus import choose\nfrom net import run\n" + PARSE + "choose(args.gpu)\nrun()\n",
         "gpus.py": "import os\n\n\ndef choose(n):\n    os.environ['CUDA_VISIBLE_DEVICES'] = n\n",
         "net.py": "import torch\n\n\ndef run():\n" + indented(USE + TAIL)},
        False,
    ),
    "behind an import of the project": (
        {"main.py": "import os\nfrom net import run\n" + PARSE + SET + "run()\n",
         "net.py": "import torch\n\n\ndef run():\n" + indented(USE + TAIL)},
        False,
    ),
    "before an import of the project": (
        {"main.py": "import os\n" + PARSE + SET + "from net import run\nrun()\n",
         "net.py": "import torch\n\n\ndef run():\n" + indented(USE + TAIL)},
        True,
    ),
}  # fmt: skip


def write(torchport, name: str) -> Path:
    for path, text in PROGRAMS[name][0].items():
        torchport.write(path, text)
    return torchport.folder / "main.py"


def answer(torchport) -> str:
    run = torchport("run", "-q", "--devices", "cuda:2", "main.py", "--gpu", "1")
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_safe_fixes_keep_the_choice(torchport, name: str) -> None:
    write(torchport, name)
    before = answer(torchport)
    assert before.startswith("1 "), before
    fix = torchport("fix", "-q")
    changed = any(
        (torchport.folder / path).read_text() != text for path, text in PROGRAMS[name][0].items()
    )
    assert changed == PROGRAMS[name][1], fix.stdout
    assert answer(torchport) == before
    found = torchport("check", "-q", "--select", "TP108", ".")
    assert "1 finding" not in found.stdout or name in ("behind an import of the project",), (
        found.stdout
    )


@pytest.mark.parametrize("oldest", ["1.12", "2.6"])  # 2.6 brings torch.accelerator
@pytest.mark.parametrize(
    "name", ["in a function", *(name for name, (_, safe) in PROGRAMS.items() if safe)]
)
def test_all_fixes_keep_the_choice_in_one_function(torchport, name: str, oldest: str) -> None:
    path = write(torchport, name)
    before = answer(torchport)
    torchport("fix", "-q", "--unsafe-fixes", "--min-torch", oldest)
    assert ".cuda()" not in path.read_text()
    assert answer(torchport) == before


def test_a_device_that_is_asked_for_before_is_seen(torchport) -> None:
    """Virtual devices read the variable once, as CUDA does: what damages a choice differs in the run."""
    text = "import os\nimport torch\ntorch.cuda.is_available()\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
    torchport.write("main.py", text + "print(torch._C._cuda_getDeviceCount())\n" + USE + TAIL)
    torchport.write(
        "right.py",
        text.replace("torch.cuda.is_available()\n", "")
        + "print(torch._C._cuda_getDeviceCount())\n"
        + USE
        + TAIL,
    )
    late, right = (
        torchport("run", "-q", "--devices", "cuda:2", name).stdout.split()
        for name in ("main.py", "right.py")
    )
    assert (late[0], right[0]) == ("2", "1")
    assert late[2] != right[2]

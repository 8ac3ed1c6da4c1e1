"""CPython decides what is Python: torchport may refuse only what CPython refuses too, and what
CPython compiles still compiles after `fix`."""

from __future__ import annotations

import json
import sys
import sysconfig
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STDLIB = Path(sysconfig.get_path("stdlib"))
ECOSYSTEM = ROOT / "build" / "ecosystem"
MOST_BYTES = 400_000  # of one file: compile() is what takes the time
SAMPLE = 800

# Files that CPython compiles and torchport refuses, with the reason.
KNOWN = {
    "test_print.py": "`print >> file, x` is Python 3 by accident: it prints nothing and fails when run",
    "test_compile.py": "the grammar loses a call whose brackets close left of the block they stand in",
}


def compiles(source: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<sample>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def standard_library() -> list[Path]:
    files = sorted(p for p in STDLIB.rglob("*.py") if "site-packages" not in p.parts)
    return files[:: max(1, -(-len(files) // SAMPLE))]


def real_packages() -> list[Path]:
    names = (
        "lpips",
        "facexlib",
        "gfpgan",
        "basicsr",
        "realesrgan",
        "openai-whisper",
        "pytorch-fid",
    )
    folders = [d for d in sorted(ECOSYSTEM.glob("*")) if d.name.startswith(names)]
    return [p for d in folders for p in sorted(d.rglob("*.py"))]


def copy_all(files: list[Path], folder: Path) -> dict[str, bytes]:
    """Copies under plain names, each with a word that makes torchport read it."""
    copies = {}
    for i, path in enumerate(files):
        source = path.read_bytes()
        if len(source) > MOST_BYTES:
            continue
        name = f"f{i:05}.py"
        ending = b"" if not source or source.endswith((b"\n", b"\r")) else b"\n"
        copies[name] = source + ending + b"# torch\n"
        (folder / name).write_bytes(copies[name])
    return copies


@pytest.mark.parametrize(
    "files", [standard_library, real_packages], ids=["standard_library", "real_packages"]
)
def test_what_is_refused_is_refused_by_cpython_too(torchport, files) -> None:
    sample = files()
    if len(sample) < 50:
        pytest.skip("the sample is not here")
    copies = copy_all(sample, torchport.folder)
    run = torchport("check", "--no-cache", "--format", "json", "--select", "TP101", text=False)
    problems = {p["path"]: p["message"] for p in json.loads(run.stdout)["problems"]}
    good = {name for name, source in copies.items() if compiles(source)}

    wrongly_refused = {name: message for name, message in problems.items() if name in good}
    origin = {f"f{i:05}.py": path for i, path in enumerate(sample)}
    assert not {
        str(origin[n]): m for n, m in wrongly_refused.items() if origin[n].name not in KNOWN
    }

    # The grammar is wider than Python (it accepts `return` at module level, repeated parameters, some
    # Python 2): such a file is no program, and is told here only to be counted.
    wrongly_accepted = [name for name in copies if name not in good and name not in problems]
    print(
        f"{len(copies)} files, {len(copies) - len(good)} not Python {sys.version_info.minor}, {len(wrongly_accepted)} of them accepted"
    )
    assert len(wrongly_accepted) <= max(5, len(copies) // 50)


def test_what_compiles_still_compiles_after_fix(torchport) -> None:
    sample = real_packages()
    if len(sample) < 50:
        pytest.skip("the sample is not here")
    copies = copy_all(sample, torchport.folder)
    before = {name: compiles(source) for name, source in copies.items()}
    torchport("fix", "--unsafe-fixes", "--allow-dirty", text=False)
    changed = 0
    for name, source in copies.items():
        after = (torchport.folder / name).read_bytes()
        changed += after != source
        assert compiles(after) == before[name], name
    assert changed > 20


# What the grammar accepts and CPython does not: no fix may do anything but leave it as good as it was.
NOT_PYTHON = [
    "return torch.ones(1).cuda()",
    "def f(a, a): return torch.ones(1).cuda()",
    "f(x=1, x=torch.ones(1).cuda())",
    "x = torch.ones(1).cuda() = 3",
    "async = torch.ones(1).cuda()",
    "None = torch.ones(1).cuda()",
    "def f():\n    global x\n    x = torch.ones(1).cuda()\n    global x",
    "yield torch.ones(1).cuda()",
    "break; torch.ones(1).cuda()",
    "x = 08; torch.ones(1).cuda()",
    "def f(a=1, b): return torch.ones(1).cuda()",
    "f(**a, *b, torch.ones(1).cuda())",
    "del torch.ones(1).cuda()",
    "x: int = y = torch.ones(1).cuda()",
    "import a.b as c.d; torch.ones(1).cuda()",
    "class A:\n\tx = 1\n        y = torch.ones(1).cuda()",
    "if x:\ny = torch.ones(1).cuda()",
    "exec 'x' in torch.ones(1).cuda()",
    "print torch.ones(1).cuda()",
    "raise E, torch.ones(1).cuda()",
    "`torch.ones(1).cuda()`",
    "x <> torch.ones(1).cuda()",
    "try: pass\nexcept E, e: torch.ones(1).cuda()",
    "0777; ur'x'; torch.ones(1).cuda()",
    "lambda (a, b): torch.ones(1).cuda()",
]


@pytest.mark.parametrize("text", NOT_PYTHON)
def test_what_is_not_python_stays_as_good_as_it_was(torchport, text) -> None:
    source = f"import torch\n{text}\n"
    path = torchport.write("a.py", source)
    assert not compiles(source.encode()), "this case is Python now"
    run = torchport("fix", "--unsafe-fixes")
    assert run.returncode in (0, 1)
    assert not compiles(path.read_bytes())

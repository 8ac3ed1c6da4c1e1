"""`torchport build-plan`: the decision as a user asks for it, on this machine and on recorded ones."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest

RULES = json.loads((Path(__file__).parent / "setup_rules.json").read_text())
# What a build says is no matter of this machine's own settings.
CLEAN = dict.fromkeys(
    (
        "CC",
        "CUDAHOSTCXX",
        "CUDA_HOME",
        "CUDA_PATH",
        "FORCE_CUDA",
        "MAX_JOBS",
        "NVCC_CCBIN",
        "TORCHPORT_BUILD",
        "TORCH_CUDA_ARCH_LIST",
    ),
    "",
)
# What torch's own headers include.
HEADERS = (
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cublas_v2.h",
    "cublasLt.h",
    "cusparse.h",
    "cusolverDn.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "thrust/complex.h",
)


def inputs_of(host: dict) -> dict:
    cuda = host["torch"]
    toolkit = {"path": "/usr/local/cuda", "from": "PATH", "nvcc": host["nvcc"], "headers": True}
    if host["environment"].get("CUDA_HOME"):
        toolkit["from"] = "CUDA_HOME"
    return {
        "torch": {
            "root": "/site-packages/torch",
            "version": "2.13.0+cu" + cuda.replace(".", "") if cuda else "2.13.0+cpu",
            "cuda": cuda,
            "archs": ["sm_80", "sm_90"] if cuda else [],
        },
        "toolkits": [toolkit] if host["nvcc"] else [],
        "environment": host["environment"],
    }


def outcome_of(rule: dict, host: dict) -> str:
    """What a project's rule makes of a host, by what torch.utils.cpp_extension does next."""
    environment = host["environment"]
    listed = environment.get("TORCH_CUDA_ARCH_LIST", "")
    # cpp_extension has no CUDA_HOME where torch is not built for CUDA.
    holds = {
        "available": bool(host["torch"]) and host["gpu"],
        "CUDA_HOME": bool(host["torch"] and host["nvcc"]),
        "version.cuda": bool(host["torch"]),
        "FORCE_CUDA=1": environment.get("FORCE_CUDA") == "1",
        "arch list": listed != "",
    }
    fits = holds["CUDA_HOME"] and host["torch"].split(".")[0] == host["nvcc"].split(".")[0]
    if not any(all(holds[name] for name in group) for group in rule["cuda"]):
        return "hollow" if fits else "cpu"
    if not fits:
        return "broken"
    if rule.get("own archs"):
        return "cuda"
    if not listed:  # IndexError: list index out of range
        return "cuda" if host["gpu"] else "broken"
    known = all(
        word.split("+")[0] in ("8.0", "9.0") for word in listed.replace(" ", ";").split(";")
    )
    return "cuda" if known else "broken"


@pytest.mark.parametrize("name", RULES["hosts"])
def test_where_public_rules_build_hollow_or_broken_packages(torchport, name: str) -> None:
    host = RULES["hosts"][name]
    theirs = {project: outcome_of(rule, host) for project, rule in RULES["rules"].items()}
    assert theirs == host["theirs"]
    torchport.write("inputs.json", json.dumps({"inputs": inputs_of(host)}))
    run = torchport("build-plan", "--json", "--from", "inputs.json")
    plan = json.loads(run.stdout)
    assert (plan["outcome"], plan["code"]) == (host["ours"], host["code"])
    assert run.returncode == (1 if host["ours"] == "refuse" else 0)
    assert plan["reason"] and (plan["remedy"] or plan["outcome"] == "cuda")
    # Built or not, what comes out is no accident: where kernels can be had they are built, and
    # where they are demanded and cannot be had nothing is.
    assert plan["outcome"] == "cuda" or "hollow" not in theirs.values()
    # Who has taken over the plan's environment comes to the plan's end.
    after = host | {"environment": host["environment"] | plan["environment"], "gpu": False}
    if plan["outcome"] == "cuda":
        forced = ("torchvision", "pytorch3d", "xformers", "torchao, after")
        assert {outcome_of(RULES["rules"][project], after) for project in forced} == {"cuda"}


def test_this_machine(torchport) -> None:
    run = torchport("build-plan", env=CLEAN)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("  torch        2.") and "builds " in run.stdout
    plan = json.loads(torchport("build-plan", "--json", env=CLEAN).stdout)
    again = torchport.write("again.json", json.dumps(plan))
    assert json.loads(torchport("build-plan", "--json", "--from", again).stdout) == plan


def test_a_demand_that_cannot_be_met_is_refused(torchport, tmp_path: Path) -> None:
    torch = environment(tmp_path, cuda="")
    for demand in ({"FORCE_CUDA": "1"}, {"TORCHPORT_BUILD": "cuda"}):
        run = torchport("build-plan", "--torch", torch, env=CLEAN | demand)
        assert run.returncode == 1 and "refuses to build [torch-for-cpu]" in run.stdout
        name, value = next(iter(demand.items()))
        assert f"{name}={value} demands CUDA" in run.stdout


def environment(folder: Path, cuda: str) -> Path:
    torch = folder / "lib" / "python3.11" / "site-packages" / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "version.py").write_text(f"__version__ = '2.13.0'\ncuda = {cuda or None!r}\n")
    (torch / "lib" / "libtorch_python.so").write_bytes(b"\0sm_80 sm_90\0")
    return torch


def toolkit(folder: Path, words: str) -> dict:
    nvcc = folder / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text(f"#!/bin/sh\n{words}\n")
    nvcc.chmod(nvcc.stat().st_mode | stat.S_IXUSR)
    (folder / "cuda" / "include").mkdir()
    for header in HEADERS:
        (folder / "cuda" / "include" / header).parent.mkdir(exist_ok=True)
        (folder / "cuda" / "include" / header).touch()
    return CLEAN | {"CUDA_HOME": str(folder / "cuda")}


def test_devices_seen_hidden_or_virtual_do_not_change_it(torchport, tmp_path: Path) -> None:
    torch = environment(tmp_path, cuda="12.6")
    settings = toolkit(tmp_path, "echo release 12.4, V12.4.1")
    plans = {
        torchport("build-plan", "--json", "--torch", torch, env=settings | devices).stdout
        for devices in (
            {},
            {"CUDA_VISIBLE_DEVICES": ""},
            {"CUDA_VISIBLE_DEVICES": "0,1"},
            {"TORCHPORT_VIRTUAL": "cuda:1"},
            {"NVIDIA_VISIBLE_DEVICES": "void"},
        )
    }
    assert len(plans) == 1
    plan = json.loads(plans.pop())
    assert (plan["outcome"], plan["archs"]) == ("cuda", "8.0;9.0+PTX")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("sleep 60", "nvcc-broken"),
        ("exit 1", "nvcc-broken"),
        ("echo nothing of a release", "nvcc-broken"),
        ("head -c 1000000 /dev/zero", "nvcc-broken"),
        ("echo release 11.8, V11.8", "nvcc-differs"),
        ("echo release 999999999999999999999.0", "nvcc-"),
    ],
)
def test_an_nvcc_that_is_none(torchport, tmp_path: Path, words: str, code: str) -> None:
    torch = environment(tmp_path, cuda="12.6")
    settings = toolkit(tmp_path, words)
    run = torchport("build-plan", "--json", "--torch", torch, env=settings)
    plan = json.loads(run.stdout)
    assert (plan["outcome"], run.returncode) == ("cpu", 0)
    assert plan["code"].startswith(code)


def test_shell_commands_are_quoted(torchport, tmp_path: Path) -> None:
    torch = environment(tmp_path, cuda="12.6")
    hostile = tmp_path / "it's $(touch gone); a toolkit"
    hostile.mkdir()
    settings = toolkit(hostile, "echo release 12.6, V12.6.1")
    run = torchport("build-plan", "--export", "--torch", torch, env=settings)
    assert run.returncode == 0, run.stderr
    shown = subprocess.run(
        ["sh", "-c", 'eval "$1"; printf %s "$CUDA_HOME|$FORCE_CUDA"', "sh", run.stdout],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == f"{hostile}/cuda|1" and not (tmp_path / "gone").exists()
    refused = torchport("build-plan", "--export", env=CLEAN | {"TORCHPORT_BUILD": "gpu"})
    assert (
        refused.returncode == 1
        and refused.stdout == ""
        and "is not a known value" in refused.stderr
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a JSON object"),
        ("[]", "not a JSON object"),
        (
            '{"inputs": {"toolkits": [{"headers": "yes"}]}}',
            '"toolkits[0].headers" has the wrong type',
        ),
        ('{"torch": []}', '"torch" has the wrong type'),
        ('{"environment": {"FORCE_CUDA": 1}}', '"environment.FORCE_CUDA" has the wrong type'),
    ],
)
def test_hostile_inputs(torchport, text: str, words: str) -> None:
    torchport.write("bad.json", text)
    run = torchport("build-plan", "--from", "bad.json")
    assert run.returncode == 2 and words in run.stderr


def test_wrong_use(torchport, tmp_path: Path) -> None:
    for words in (
        ("--from", "absent.json"),
        ("--torch", tmp_path),
        ("--python", tmp_path / "absent"),
        ("--python", tmp_path),
        ("--python", tmp_path, "--torch", tmp_path),
        ("--json", "--export"),
        ("surplus",),
    ):
        run = torchport("build-plan", *words)
        assert run.returncode == 2 and run.stdout == "" and run.stderr, words


def test_files_that_tell_nothing_of_their_build(torchport, tmp_path: Path) -> None:
    program = Path(torchport("--version").args[0]).read_bytes()
    for name, content, code, words in (
        ("text.so", b"import torch\n", 2, "text.so: is not an ELF file"),
        ("empty.so", b"", 2, "empty.so: is not an ELF file"),
        ("cut.so", program[: len(program) // 2], 2, "cut.so: is cut off"),
        ("header.so", program[:40], 2, "is cut off: it ends within the ELF header"),
        ("other.so", program[:4] + b"\x01" + program[5:], 2, "is not a 64-bit"),
        ("whole.so", program, 1, "nothing in it says how it was built"),
    ):
        torchport.write(name, content)
        run = torchport("build-plan", "--of", name)
        assert run.returncode == code and words in run.stdout + run.stderr, name
        assert (run.stdout == "") == (code == 2)
    told = json.loads(torchport("build-plan", "--json", "--of", "whole.so").stdout)
    assert told["provenance"] == [] and "libc.so.6" in told["needed"] and not told["kernels"]
    for absent in ("absent.so", tmp_path):
        run = torchport("build-plan", "--of", absent)
        assert run.returncode == 2 and str(absent) in run.stderr
    assert torchport("build-plan", "--of", "whole.so", "--from", "x").returncode == 2


def test_wheels_tell_by_their_libraries(torchport) -> None:
    program = Path(torchport("--version").args[0]).read_bytes()
    for name, files, code, words in (
        ("pure.whl", {"pkg/__init__.py": b""}, 1, "pure.whl contains no library"),
        ("other.whl", {"pkg.libs/libx.so.2": program}, 1, "nothing in it says how it was built"),
        ("bad.whl", {"pkg/_C.so": b"text"}, 2, "bad.whl: pkg/_C.so: is not an ELF file"),
    ):
        with zipfile.ZipFile(torchport.folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
            for path, content in files.items():
                wheel.writestr(path, content)
        run = torchport("build-plan", "--of", name)
        assert run.returncode == code and words in run.stdout + run.stderr, name
    whole = (torchport.folder / "other.whl").read_bytes()
    torchport.write("cut.whl", whole[: len(whole) // 2])
    run = torchport("build-plan", "--of", "cut.whl")
    assert run.returncode == 2 and "cut.whl" in run.stderr
    told = json.loads(torchport("build-plan", "--json", "--of", "other.whl").stdout)
    assert list(told["libraries"]) == ["pkg.libs/libx.so.2"]


def test_the_extension_stub_of_a_build_is_written_once(torchport) -> None:
    host = next(iter(RULES["hosts"].values()))
    torchport.write("plan.json", json.dumps({"inputs": inputs_of(host)}))
    words = ("--from", "plan.json", "--extension-stub", "out.cpp", "--extension", "p._C")
    path = torchport.folder / "out.cpp"
    assert torchport("build-plan", *words).returncode == 0
    assert ".note.torchport" in path.read_text() and "p._C" in path.read_text()
    os.utime(path, (1, 1))
    assert torchport("build-plan", *words).returncode == 0 and path.stat().st_mtime == 1
    refused = inputs_of(host) | {"environment": {"TORCHPORT_BUILD": "gpu"}}
    torchport.write("plan.json", json.dumps({"inputs": refused}))
    assert torchport("build-plan", *words).returncode == 1
    torchport.write("plan.json", json.dumps({"inputs": inputs_of(host | {"nvcc": ""})}))
    for more in (("--object", "plan.json"), ("--object", "absent.o"), ("--cuda-source", "absent")):
        run = torchport("build-plan", *words, *more)
        assert run.returncode == 2 and run.stderr, more
    run = torchport("build-plan", *words[:3], "/absent/out.cpp", "--extension", "p")
    assert run.returncode == 2 and "/absent/out.cpp" in run.stderr


CUDA_IN_ANY_CASE = """
import os
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
SKIP = os.getenv("OPS_SKIP_CUDA", "0") == "1"
flags = ["-gencode", "arch=compute_80,code=sm_80"]
modules = []
if not SKIP:
    modules.append(CUDAExtension("ops", ["a.cu"], extra_compile_args={"nvcc": flags}))
setup(name="ops", ext_modules=modules, cmdclass={"build_ext": BuildExtension})
"""
CUDA_IF_THERE_IS_A_TOOLKIT = """
import torch
from setuptools import setup
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension
kind = CUDAExtension if torch.version.cuda and CUDA_HOME else CppExtension
setup(name="ops", ext_modules=[kind("ops", ["a.cpp"])], cmdclass={"build_ext": BuildExtension})
"""


def plan_with_setup(torchport, text: str, inputs: dict) -> dict:
    torchport.write("setup.py", text)
    torchport.write("inputs.json", json.dumps({"inputs": inputs}))
    arguments = ("build-plan", "--json", "--from", "inputs.json", "--setup", "setup.py")
    run = torchport(*arguments, env=CLEAN)
    plan = json.loads(run.stdout)
    assert run.returncode == (1 if plan["outcome"] == "refuse" else 0)
    return plan


CUDA_FOR_EVERY_TORCH_WITH_IT = CUDA_IF_THERE_IS_A_TOOLKIT.replace(" and CUDA_HOME", "")

CPU = {"torch": "", "nvcc": "", "environment": {}}
GPU = {"torch": "13.0", "nvcc": "13.0", "environment": {}}


def test_a_setup_without_a_part_for_the_cpu_is_no_build_for_it(torchport) -> None:
    plan = plan_with_setup(torchport, CUDA_IN_ANY_CASE, inputs_of(CPU))
    assert (plan["outcome"], plan["code"]) == ("refuse", "no-cpu-part")
    assert "setup.py:9 makes a CUDAExtension" in plan["reason"]
    # A torch with CUDA and no nvcc: a script that asks for torch alone fails, too.
    plan = plan_with_setup(torchport, CUDA_FOR_EVERY_TORCH_WITH_IT, inputs_of(GPU | {"nvcc": ""}))
    assert (plan["outcome"], plan["code"]) == ("refuse", "no-cpu-part")
    plan = plan_with_setup(torchport, CUDA_FOR_EVERY_TORCH_WITH_IT, inputs_of(CPU))
    assert plan["outcome"] == "cpu"
    # Where the script asks, the plan for the CPU holds.
    plan = plan_with_setup(torchport, CUDA_IF_THERE_IS_A_TOOLKIT, inputs_of(CPU))
    assert plan["outcome"] == "cpu"


def test_architectures_of_a_setup_void_those_of_the_plan(torchport) -> None:
    plan = plan_with_setup(torchport, CUDA_IN_ANY_CASE, inputs_of(GPU))
    assert plan["outcome"] == "cuda"
    assert "TORCH_CUDA_ARCH_LIST" not in plan["environment"]
    assert any("setup.py:6 gives nvcc architectures" in note for note in plan["notes"])
    plan = plan_with_setup(torchport, CUDA_IF_THERE_IS_A_TOOLKIT, inputs_of(GPU))
    assert plan["environment"]["TORCH_CUDA_ARCH_LIST"] and not any(
        "setup.py" in note for note in plan["notes"]
    )


def test_the_setup_of_the_current_folder_is_heeded_in_text(torchport) -> None:
    torchport.write("setup.py", CUDA_IN_ANY_CASE)
    run = torchport("build-plan", env=CLEAN)
    assert run.returncode == 1 and "setup.py:9 makes a CUDAExtension" in run.stdout
    assert torchport("build-plan", "--export", env=CLEAN).returncode == 0
    run = torchport("build-plan", "--setup", "nowhere.py", env=CLEAN)
    assert run.returncode == 2 and "nowhere.py" in run.stderr

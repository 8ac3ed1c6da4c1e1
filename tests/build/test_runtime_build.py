"""`torchport runtime`: the libraries for a torch that the table does not have.

The torch here is the checkout's own, which says that it is another one. Compiling takes minutes, so that
what compiles everything runs only with TORCHPORT_RUNTIME_BUILD=1 (`make test-runtime-build`).
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from torchport import _releases, _runtimes

VERSION = "2.99.0a0+mine"
GIT = "0123456789abcdef0123456789abcdef01234567"
ADVICE = "torchport runtime build"
TOOLS = ("c++", "cmake", "ninja")

compiles = pytest.mark.skipif(
    not os.environ.get("TORCHPORT_RUNTIME_BUILD"), reason="TORCHPORT_RUNTIME_BUILD is not set"
)


def pretend(site: Path, torch_folder: Path, version: str, git: str) -> Path:
    torch = site / "torch"
    torch.mkdir(parents=True)
    for path in torch_folder.iterdir():
        if path.name not in ("version.py", "__pycache__"):
            (torch / path.name).symlink_to(path)
    (site / "torchgen").symlink_to(torch_folder.parent / "torchgen")
    text = (torch_folder / "version.py").read_text()
    text = re.sub(r"(?<=^__version__ = ').*(?=')", version, text, flags=re.MULTILINE)
    text = re.sub(r"(?<=^git_version = ').*(?=')", git, text, flags=re.MULTILINE)
    (torch / "version.py").write_text(text)
    return torch


@pytest.fixture
def torch(tmp_path: Path, torch_folder: Path) -> Path:
    """A torch that no table has."""
    return pretend(tmp_path / "site", torch_folder, VERSION, GIT)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The empty folder runtimes/ of a cache of its own, also for this process."""
    monkeypatch.setenv("TORCHPORT_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "runtimes"


@pytest.fixture
def runtime(torchport, torch: Path, cache: Path):
    def ask(command: str, *words: object, code: int = 0, **env: str):
        torchport.env["TORCHPORT_CACHE_DIR"] = str(cache.parent)
        options = ("--torch", torch) if command != "clean" else ()
        done = torchport("runtime", command, *options, *words, env=env)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return ask


@pytest.fixture
def built(runtime, torch: Path, cache: Path, runtime_folder: Path) -> Path:
    """The checkout's own libraries in the place of those that were built for this torch."""
    key = (runtime_folder.parent / "source/KEY").read_text().strip()
    size = (torch / "lib/libtorch_cpu.so").stat().st_size
    folder = cache / key / f"torch-{VERSION}-{GIT[:12]}-{size}"
    shutil.copytree(runtime_folder, folder)
    return folder


def left(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if not path.is_dir() or "torch-" in path.name]


def tools(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


def test_the_list_says_which_libraries_the_active_torch_gets(torchport, runtime_folder) -> None:
    done = torchport("runtime", "list")
    assert done.returncode == 0 and f"it gets {runtime_folder}" in done.stdout
    answer = json.loads(torchport("runtime", "list", "--json").stdout)
    assert answer["chosen"] == str(runtime_folder) and answer["why_not"] == ""
    own = next(row for row in answer["runtimes"] if row["folder"] == str(runtime_folder))
    served = [one.version for one in _releases.served_torches() if one.built_for == own["torch"]]
    assert own["serves"] == served and not own["built_here"]


def test_the_list_says_why_not(runtime) -> None:
    answer = json.loads(runtime("list", "--json", code=1).stdout)
    assert answer["chosen"] is None and answer["torch"]["version"] == VERSION
    assert f"is torch {VERSION}" in answer["why_not"] and ADVICE in answer["why_not"]
    assert ADVICE in runtime("list", code=1).stdout


def test_a_supported_torch_needs_no_build(torchport, torch_folder: Path) -> None:
    done = torchport("runtime", "build", "--torch", torch_folder)
    assert done.returncode == 0 and "there is nothing to build" in done.stdout


@pytest.mark.parametrize("words", [["verify", "model.py:make"], ["infer", "a.pt2", "a.npy"]])
def test_an_unknown_torch_is_refused_with_the_advice(torchport, torch: Path, words) -> None:
    torchport.write("model.py", "make = None\n")
    done = torchport(*words, env={"PYTHONPATH": str(torch.parent)})
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"torch {VERSION}" in done.stderr and ADVICE in done.stderr


def test_another_revision_of_a_release_is_refused_with_the_advice(
    tmp_path: Path, torch_folder: Path, cache: Path
) -> None:
    version = _releases.served_torches()[-1].version
    torch = _runtimes.Torch.at(pretend(tmp_path / "site", torch_folder, version, GIT))
    with pytest.raises(_runtimes.UnsupportedTorch, match=ADVICE):
        _runtimes.find(torch)


def test_what_was_built_is_found(runtime, torch: Path, built: Path, torchport) -> None:
    assert _runtimes.find(_runtimes.Torch.at(torch)) == built
    answer = json.loads(runtime("list", "--json").stdout)
    assert answer["chosen"] == str(built)
    assert [row["folder"] for row in answer["runtimes"] if row["built_here"]] == [str(built)]
    assert str(built) in runtime("build").stdout  # and nothing is compiled
    script = "import torch; print(torch.ones(2, device='cuda').add(1).sum().item())"
    env = {"PYTHONPATH": str(torch.parent)}
    done = torchport("run", "-q", "--", sys.executable, "-c", script, env=env)
    assert done.stdout == "4.0\n", done.stderr
    done = torchport("infer", "--help", env=env)
    assert done.returncode == 0, done.stderr


def test_cmake_finds_what_was_built(runtime, torch: Path, built: Path, torchport) -> None:
    project = torchport.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
        "find_package(torchport REQUIRED)\n"
        "get_target_property(path torchport::torchport IMPORTED_LOCATION)\n"
        'message(STATUS "found ${path}")\n',
    ).parent
    prefix = torchport("--cmake-prefix").stdout.strip()

    def configure(torch: Path) -> subprocess.CompletedProcess:
        words = ["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
        words.append(f"-DTORCHPORT_TORCH_ROOT={torch}")
        return subprocess.run(words, env=torchport.env, capture_output=True, text=True, check=False)

    done = configure(torch)
    assert f"found {built}/libtorchport.so" in done.stdout, done.stderr
    shutil.rmtree(built)
    done = configure(torch)
    assert done.returncode and ADVICE in " ".join(done.stderr.split())


def test_clean_deletes_what_was_built(runtime, built: Path, cache: Path) -> None:
    assert f"deleted {built}" in runtime("clean").stdout
    assert not cache.exists()
    assert "there is nothing" in runtime("clean").stdout


def test_all_that_is_missing_is_said_at_once(runtime, tmp_path: Path, cache: Path) -> None:
    done = runtime("build", code=2, PATH=tools(tmp_path / "empty"))
    lines = done.stderr.splitlines()
    assert [re.search(r"no (C\+\+ compiler|cmake)|neither ninja", line)[0] for line in lines] == [
        "no C++ compiler",
        "no cmake",
        "neither ninja",
    ]
    assert all("apt install" in line for line in lines) and not cache.exists()


def test_a_missing_header_is_said_before_anything_is_written(
    runtime, tmp_path: Path, cache: Path
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(
        "#!/bin/sh\n"
        'for last; do :; done; sed -i "s,<tl/expected.hpp>,<absent/absent.hpp>," "$last"\n'
        f'exec {shutil.which("c++")} "$@"\n'
    )
    compiler.chmod(0o755)
    done = runtime("build", code=2, CXX=str(compiler))
    assert "tl/expected.hpp: apt install libexpected-dev" in done.stderr
    assert done.stderr.count("\n") == 1 and not cache.exists()


def test_a_compiler_that_is_too_old(runtime, tmp_path: Path) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text(f'#!/bin/sh\nshift\nexec {shutil.which("c++")} -std=c++17 "$@"\n')
    compiler.chmod(0o755)
    assert "does not know C++20" in runtime("build", code=2, CXX=str(compiler)).stderr


def test_a_torch_without_headers_or_with_the_old_abi(runtime, torch: Path) -> None:
    (torch / "share").unlink()
    config = torch / "share/cmake/Torch/TorchConfig.cmake"
    config.parent.mkdir(parents=True)
    config.write_text('set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n')
    assert "C++ ABI from before C++11" in runtime("build", code=2).stderr
    (torch / "include").unlink()
    assert "it has no include/ATen" in runtime("build", code=2).stderr


@pytest.fixture
def disk(tmp_path: Path):
    """disk(size): a disk of its own for the cache."""
    folder = tmp_path / "cache"

    def make(size: str) -> Path:
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount")
        return folder

    yield make
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def test_a_disk_without_room(runtime, disk) -> None:
    folder = disk("8m")
    done = runtime("build", code=2)
    assert f"{folder} has 8.0 MiB free and compiling takes up to" in done.stderr
    assert done.stderr.count("\n") == 1 and not list(folder.iterdir())


def start(torchport, torch: Path, command: str = "build", **options) -> subprocess.Popen:
    return subprocess.Popen(
        [torchport.program, "runtime", command, "--torch", torch],
        env=torchport.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )


@pytest.mark.long
def test_a_disk_that_becomes_full(torchport, torch: Path, cache: Path, disk) -> None:
    torchport.env["TORCHPORT_CACHE_DIR"] = str(cache.parent)
    folder = disk("700m")
    with start(torchport, torch) as process:
        for line in process.stdout:
            if "compiling" in line:
                break
        with suppress(OSError), (folder / "other").open("wb") as file:
            while True:
                file.write(bytes(1 << 20))
        said = process.communicate(timeout=120)[0]
    assert process.returncode == 2, said
    assert "there is no room left to write in" in said.splitlines()[-1]
    assert left(cache) == []


@pytest.mark.long
def test_a_limit_for_the_size_of_files(torchport, torch: Path, cache: Path) -> None:
    """Precompiled headers are larger."""
    torchport.env["TORCHPORT_CACHE_DIR"] = str(cache.parent)
    limit = 4 << 20
    with start(
        torchport,
        torch,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    ) as process:
        said = process.communicate(timeout=120)[0]
    assert process.returncode == 2, said
    assert "there is no room left to write in" in said.splitlines()[-1]
    assert left(cache) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing(torchport, torch: Path, cache: Path, number) -> None:
    torchport.env["TORCHPORT_CACHE_DIR"] = str(cache.parent)
    with start(torchport, torch) as process:
        for line in process.stdout:
            if "compiling" in line:
                break
        time.sleep(1)
        process.send_signal(number)
        rest = process.communicate(timeout=30)[0]
    assert process.returncode == 130 and rest.endswith("nothing is left of this build\n")
    assert left(cache) == []
    time.sleep(0.5)  # a compiler that survived would write again
    assert left(cache) == []


def test_a_probe_checks_its_needs_first(runtime, tmp_path: Path, cache: Path) -> None:
    done = runtime("probe", code=2, PATH=tools(tmp_path / "empty"))
    assert "no C++ compiler" in done.stderr and not cache.exists()


@compiles
def test_the_libraries_are_compiled_once_and_work(torchport, torch: Path, cache: Path) -> None:
    """Two builds at the same time, and a third one that has nothing to do."""
    torchport.env["TORCHPORT_CACHE_DIR"] = str(cache.parent)
    builds = [start(torchport, torch) for _ in range(2)]
    for process in builds:
        said = process.communicate(timeout=3000)[0]
        assert process.returncode == 0, said
        assert "torchport: trying\n" in said and "torchport has libraries for torch" in said
    folder = _runtimes.find(_runtimes.Torch.at(torch))
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]
    begin = time.monotonic()
    with start(torchport, torch) as process:
        assert str(folder) in process.communicate()[0]
    assert process.returncode == 0 and time.monotonic() - begin < 5
    script = "import torch; print(torch.ones(2, device='cuda').add(1).sum().item())"
    env = {"PYTHONPATH": str(torch.parent)}
    done = torchport("run", "-q", "--", sys.executable, "-c", script, env=env)
    assert done.stdout == "4.0\n", done.stderr


@compiles
def test_what_does_not_compile_is_shown(torchport, torch: Path, cache: Path) -> None:
    torchport.env["TORCHPORT_CACHE_DIR"] = str(cache.parent)
    include = torch / "include"
    real = include.resolve()
    include.unlink()
    shutil.copytree(real, include)
    header = include / "ATen/detail/CUDAHooksInterface.h"
    header.write_text("#error this torch has another interface\n")
    schemas = torch.parent / "torchgen"
    packaged = schemas.resolve() / "packaged"
    schemas.unlink()
    shutil.copytree(packaged, schemas / "packaged")
    yaml = schemas / "packaged/ATen/native/native_functions.yaml"
    yaml.write_text(
        yaml.read_text().replace(
            "- func: _fused_dropout(Tensor self,", "- func: _fused_dropout(Tensor it,"
        )
    )
    with start(torchport, torch, command="probe") as process:
        said = process.communicate(timeout=3000)[0]
    assert process.returncode == 1, said
    assert re.search(r"^\S+/CUDAHooksInterface.h:1 +#error this torch has another", said, re.M)
    assert re.search(r"^src/runtime/\S+:\d+ +_fused_dropout: the schema is", said, re.M)
    assert "not checked: symbols" in said and left(cache) == []
    with start(torchport, torch) as process:
        said = process.communicate(timeout=3000)[0]
    assert process.returncode == 1 and "error: #error this torch has another" in said
    log = Path(said.rstrip().rpartition("all output is in ")[2])
    assert log.is_file() and [path for path in left(cache) if path != log] == []

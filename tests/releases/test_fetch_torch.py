"""deps/fetch_torch.py with wheels that are made here, in indexes of this machine."""

from __future__ import annotations

import ctypes
import errno
import functools
import http.server
import importlib.util
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import fetch_torch
import pytest
import stub_library
import torch_wheel

ROOT = Path(__file__).resolve().parents[2]
VERSION = "2.9.1"
WHEEL = f"torch-{VERSION}-py3-none-any.whl"
METADATA = f"Metadata-Version: 2.1\nName: torch\nVersion: {VERSION}\n"
HEADER = "torch/include/ATen/ATen.h"
KERNELS = 24 << 20  # bytes that nobody needs


@pytest.fixture(scope="module")
def library() -> bytes:
    """A shared library that is there wherever Python is."""
    spec = importlib.util.find_spec("_ctypes")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).read_bytes()


def write_wheel(folder: Path, library: bytes, revision: str | None = None) -> Path:
    """A wheel of torch with the names of a real one, and a page of it for pip."""
    revision = revision or fetch_torch.git_version_of(VERSION)
    page = folder / "torch/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="{WHEEL}" data-core-metadata="true">{WHEEL}</a>')
    (page.parent / f"{WHEEL}.metadata").write_text(METADATA)
    with zipfile.ZipFile(page.parent / WHEEL, "w") as wheel:
        wheel.writestr("torch/__init__.py", "raise ImportError")
        wheel.writestr("torch/lib/libtorch_cuda.so", os.urandom(KERNELS))
        for name in ("c10", "torch", "torch_cpu", "torch_global_deps"):
            wheel.writestr(f"torch/lib/lib{name}.so", library)
        wheel.writestr(HEADER, "int x;\n")
        wheel.writestr("torch/version.py", f"__version__ = '2.9.1'\ngit_version = '{revision}'\n")
        wheel.writestr("torchgen/packaged/ATen/native/native_functions.yaml", "- func: f()\n")
        about = f"torch-{VERSION}.dist-info"
        wheel.writestr(f"{about}/METADATA", METADATA)
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return folder


@pytest.fixture(scope="module")
def index(tmp_path_factory, library) -> Path:
    return write_wheel(tmp_path_factory.mktemp("index"), library)


class Machine:
    """Where fetch_torch.py runs: with an own cache, and with no settings of pip but those given."""

    def __init__(self, folder: Path):
        self.folder = folder
        keep = {k: v for k, v in os.environ.items() if not re.match("pip_|.*_proxy$", k, re.I)}
        self.environment = keep | {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_RETRIES": "0",
            "TORCHPORT_TORCH_CACHE": str(folder / "cache"),
        }

    def run(self, *words: object, **settings: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ROOT / "deps/fetch_torch.py", *words]
        return subprocess.run(
            [str(word) for word in command], env=self.environment | settings, capture_output=True,
            text=True, check=False, timeout=120,
        )  # fmt: skip

    def fetch(self, index: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return self.run(VERSION, self.folder / "torch", PIP_INDEX_URL=index, **settings)

    def refusal(self, index: str, **settings: str) -> str:
        """The line that says why nothing was fetched."""
        done = self.fetch(index, **settings)
        assert done.returncode == 1 and done.stdout == "", done.stdout
        first, line = done.stderr.splitlines()
        assert first.startswith("== fetching the headers and libraries of torch 2.9.1")
        assert not (self.folder / "torch").exists()
        return line


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def check_folder(folder: Path, library: bytes) -> None:
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert names == {
        "ATen.h", "version.py", "native_functions.yaml", "libc10.so", "libtorch.so",
        "libtorch_cpu.so", "libtorch_global_deps.so",
    }  # fmt: skip
    assert (folder / HEADER).read_text() == "int x;\n"
    assert (folder / "torch/lib/libc10.so").read_bytes() == stub_library.stub_of(library)


def test_what_is_fetched_is_kept(machine, index, library):
    done = machine.fetch(index.as_uri())
    assert done.returncode == 0, done.stderr
    check_folder(machine.folder / "torch", library)
    kept = sorted(path.name for path in (machine.folder / "cache").iterdir())
    assert kept == [
        "torch-2.9.1-5811a8d7da87-headers.zip",
        "torch-2.9.1-5811a8d7da87-libraries.zip",
    ]
    # Another checkout needs no index.
    done = machine.run(VERSION, machine.folder / "again", PIP_INDEX_URL="http://127.0.0.1:9/")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check_folder(machine.folder / "again", library)


def test_the_constraints_of_a_machine_do_not_count(machine, index):
    (machine.folder / "constraints.txt").write_text("torch<2.0\n")
    settings = machine.folder / "pip.conf"
    settings.write_text(f"[global]\nconstraint = {machine.folder}/constraints.txt\n")
    done = machine.fetch(index.as_uri(), PIP_CONFIG_FILE=str(settings))
    assert done.returncode == 0, done.stderr
    done = machine.run(
        VERSION, machine.folder / "other", PIP_INDEX_URL=index.as_uri(),
        PIP_CONSTRAINT=str(machine.folder / "constraints.txt"),
        TORCHPORT_TORCH_CACHE=str(machine.folder / "another"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


class Server(http.server.SimpleHTTPRequestHandler):
    """A server of files that sends parts, and counts the bytes of wheels."""

    sends_parts = True
    sent = 0

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if path.suffix != ".whl":
            return super().do_GET()
        data = path.read_bytes()
        if wanted is None or not self.sends_parts:
            type(self).sent += len(data)
            return super().do_GET()
        begin, end = int(wanted[1]), min(int(wanted[2]) + 1, len(data))
        type(self).sent += end - begin
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        self.wfile.write(data[begin:end])

    def log_message(self, format: str, *words: object) -> None:
        pass


@pytest.fixture
def server(index) -> Iterator[tuple[str, type[Server]]]:
    handler = type("OfOneTest", (Server,), {})
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(index))
    ) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}/", handler
        served.shutdown()


def test_only_parts_of_a_wheel_are_read(machine, server, library):
    url, handler = server
    done = machine.fetch(url)
    assert done.returncode == 0, done.stderr
    check_folder(machine.folder / "torch", library)
    assert 0 < handler.sent < KERNELS


def test_a_server_that_sends_only_whole_files(machine, server, library):
    url, handler = server
    handler.sends_parts = False
    done = machine.fetch(url)
    assert done.returncode == 0, done.stderr
    check_folder(machine.folder / "torch", library)
    assert handler.sent > KERNELS


def test_another_revision_is_refused(machine, tmp_path, library):
    index = write_wheel(tmp_path / "index", library, revision="0" * 40)
    line = machine.refusal(index.as_uri())
    assert "it is not the revision 5811a8d7da87" in line
    assert not list((tmp_path / "cache").iterdir())


def test_a_wheel_that_is_none(machine, tmp_path, library):
    index = write_wheel(tmp_path / "index", library)
    (index / "torch" / WHEEL).write_bytes(b"<html>Please log in</html>")
    assert "zip file" in machine.refusal(index.as_uri())


def test_an_index_without_it(machine, tmp_path):
    (tmp_path / "empty/torch").mkdir(parents=True)
    (tmp_path / "empty/torch/index.html").write_text("")
    line = machine.refusal((tmp_path / "empty").as_uri())
    assert "cannot be fetched: no index of pip has it for this system and this Python" in line
    assert "PIP_EXTRA_INDEX_URL" in line


def test_no_connection(machine):
    line = machine.refusal("http://127.0.0.1:9/")
    assert "cannot be fetched: there is no connection to the index; pip config list" in line
    assert "(pip: Could not fetch URL http://127.0.0.1:9/torch/: connection error:" in line


def test_a_proxy_that_refuses(machine, server):
    url, _ = server  # knows no CONNECT
    line = machine.refusal("https://index.invalid/", HTTPS_PROXY=url)
    assert "cannot be fetched: the proxy refuses; set HTTPS_PROXY" in line


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_space(index, monkeypatch, tmp_path, number):
    def full(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    monkeypatch.setenv("TORCHPORT_TORCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch_torch, "write_pack", full)
    with pytest.raises(
        torch_wheel.FetchError, match=r"no space is left in .*TORCHPORT_TORCH_CACHE"
    ):
        fetch_torch.fetched(VERSION, "headers")
    assert not list((tmp_path / "cache").iterdir())


def test_where_packs_are_kept(monkeypatch):
    for name in ("TORCHPORT_TORCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    assert fetch_torch.cache() == Path("/home/me/.cache/torchport/torch")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert fetch_torch.cache() == Path("/caches/torchport/torch")
    monkeypatch.setenv("TORCHPORT_TORCH_CACHE", "/shared")
    assert fetch_torch.cache() == Path("/shared")


def sections(library: bytes) -> list[tuple[int, ...]]:
    fields = stub_library.HEADER.unpack_from(library)
    return [
        stub_library.SECTION.unpack_from(library, fields[6] + i * fields[11])
        for i in range(fields[12])
    ]


def test_a_stub_has_what_a_linker_reads(library, tmp_path):
    stub = stub_library.stub_of(library)
    assert len(stub) < len(library)
    before, after = sections(library), sections(stub)
    assert len(before) == len(after)
    kept = 0
    for old, new in zip(before, after, strict=True):
        # Name, flags, address, size, link, information, alignment, size of an entry.
        assert (old[0], *old[2:4], *old[5:]) == (new[0], *new[2:4], *new[5:])
        if new[1] in stub_library.KEPT_TYPES:
            assert library[old[4] : old[4] + old[5]] == stub[new[4] : new[4] + new[5]]
            kept += 1
    assert kept >= 3
    (tmp_path / "stub.so").write_bytes(stub)
    with pytest.raises(OSError):
        ctypes.CDLL(str(tmp_path / "stub.so"))


def test_what_is_no_library_has_no_stub():
    with pytest.raises(ValueError, match="not a shared library"):
        stub_library.stub_of(b"INPUT(libc10.so.1)")

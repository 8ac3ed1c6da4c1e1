"""Reads members of a release's wheel of torch, which is most of a gigabyte, without the rest of it.

pip says where the wheel is, by the indexes and files that it is configured for. Most servers send any part
of a file, so that only the parts with the members are read; else the whole wheel is fetched into a folder
that is deleted afterwards. The checksum of a wheel is that of the whole, so a part is known by what is in
it: each member by the checksum of its own in the archive, and the whole by torch's git_version
(fetch_torch.py).

The version is pinned by python/torchport/torch_releases.json, so the constraints of a machine, which
choose among versions, have nothing to decide here; they are not read.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TRIES = 3


class FetchError(Exception):
    """Why something cannot be fetched and what to do about it, in one line."""


def pip(*words: str) -> str:
    """The output of pip; a refusal is a FetchError."""
    # A setting by the environment comes before those of pip's files.
    environment = os.environ | {"PIP_CONSTRAINT": os.devnull, "PIP_NO_INPUT": "1"}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        # Only its log says why an index was not read.
        command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--log", str(log)]
        done = subprocess.run(
            [*command, *words], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout
        unread = re.findall(r"Could not fetch URL .*", log.read_text() if log.is_file() else "")
        raise FetchError(reason_of("\n".join([*unread, done.stderr])))


# What pip says, and what to do about it. The first that fits counts.
REASONS = (
    (
        r"No space left on device|Disk quota exceeded",
        "no space is left; name a larger disk by TORCHPORT_TORCH_CACHE and TMPDIR",
    ),
    (
        r"[Pp]roxy",
        "the proxy refuses; set HTTPS_PROXY, or run pip config set global.proxy URL",
    ),
    (
        r"SSLError|CERTIFICATE_VERIFY|certificate",
        "the index's certificate is not trusted; run pip config set global.cert FILE",
    ),
    (
        r"connection error|[Tt]imed? ?out",
        "there is no connection to the index; pip config list shows which one pip uses",
    ),
    (
        r"\b40[13]\b",
        "the index refuses; pip config list shows which one pip uses, and as whom",
    ),
    (
        r"No matching distribution|Could not find a version",
        "no index of pip has it for this system and this Python; name one that has by "
        "PIP_EXTRA_INDEX_URL",
    ),
    (r"No module named pip", "this Python has no pip; run python3 -m ensurepip"),
)


def reason_of(output: str) -> str:
    """One line from pip's output: what to do, and what pip said."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith(("Could not fetch URL", "ERROR"))), "")
    said = said or (lines[-1] if lines else "nothing")
    said = re.sub(r"^ERROR: | - skipping$", "", said)[:300]
    for pattern, advice in REASONS:
        if re.search(pattern, output):
            return f"{advice} (pip: {said})"
    return f"pip: {said}"


def address_of(version: str) -> str:
    """Where pip would take the wheel from."""
    words = ["--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary", ":all:"]
    report = json.loads(pip("install", *words, "--report", "-", f"torch=={version}"))
    url: str = report["install"][0]["download_info"]["url"]
    return url


def trusted() -> ssl.SSLContext:
    """The certificates that pip is told to trust, else the system's."""
    return ssl.create_default_context(
        cafile=os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE") or None
    )


class RemoteFile(io.RawIOBase):
    """A file on a server, read in large blocks. OSError if the server does not send parts."""

    BLOCK = 8 << 20

    def __init__(self, url: str):
        super().__init__()
        self._url = url
        self._context = trusted() if url.startswith("https:") else None
        self._at = 0
        self._block_at, self._block = 0, b""
        _, self._size = self._part(0, 1)

    def _part(self, begin: int, end: int) -> tuple[bytes, int]:
        """The bytes from begin to end, and the size of the file."""
        request = urllib.request.Request(
            self._url, headers={"Range": f"bytes={begin}-{end - 1}", "Accept-Encoding": "identity"}
        )
        for attempt in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=60, context=self._context) as answer:
                    found = re.fullmatch(
                        r"bytes (\d+)-\d+/(\d+)", answer.headers.get("Content-Range", "")
                    )
                    if answer.status != 206 or found is None or int(found[1]) != begin:
                        raise io.UnsupportedOperation("the server sends only whole files")
                    data = answer.read()
                    if len(data) == min(end, int(found[2])) - begin:
                        return data, int(found[2])
            except io.UnsupportedOperation:
                raise
            except OSError:
                if attempt + 1 == TRIES:
                    raise
            time.sleep(2**attempt)
        raise OSError("the server sends less than it says")

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._size:
            return 0
        if not self._block_at <= self._at < self._block_at + len(self._block):
            end = min(self._at + self.BLOCK, self._size)
            self._block, self._block_at = self._part(self._at, end)[0], self._at
        start = self._at - self._block_at
        data = self._block[start : start + len(buffer)]
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


@contextmanager
def wheel_of(version: str, scratch: Path) -> Iterator[zipfile.ZipFile]:
    """The wheel of a release for this Python, open for reading."""
    url = address_of(version)
    if url.startswith("file:"):
        path = urllib.request.url2pathname(urllib.parse.urlparse(url).path)
        with zipfile.ZipFile(path) as archive:
            yield archive
        return
    try:
        remote = io.BufferedReader(RemoteFile(url), 1 << 16)
        archive = zipfile.ZipFile(remote)
    except (OSError, zipfile.BadZipFile) as error:
        print(f"== fetching all of torch {version} (0.5 to 1 GB): {error}", file=sys.stderr)
        archive = zipfile.ZipFile(downloaded(version, scratch))
    with archive:
        yield archive


def downloaded(version: str, scratch: Path) -> Path:
    """The whole wheel, in a folder of `scratch`."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    words = ["--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    pip("download", *words, "--dest", str(folder), f"torch=={version}")
    return next(folder.glob("torch-*.whl"))


def in_a_line(error: Exception, folder: Path) -> str:
    """Why reading or writing failed, in a line with what to do."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no space is left in {folder}; name a larger disk by TORCHPORT_TORCH_CACHE"
    return str(error).splitlines()[0] if str(error) else type(error).__name__

"""Files whose bytes, lines or size are made to hurt."""

from __future__ import annotations

import resource
import subprocess

import pytest
from hostile_file import HEAD, PEAK_MB, TIE, Cases, check_and_fix, measured, note

pytestmark = [pytest.mark.alone("hostile"), pytest.mark.split]


def utf16(text: str, mark: bytes, codec: str) -> bytes:
    return mark + text.encode(codec)


CASES: Cases = {
    "empty": ("a.py", lambda: "", ""),
    "only_comments": ("a.py", lambda: "# torch\n" * 200_000, ""),
    "only_newlines": ("a.py", lambda: "\n" * 5_000_000 + "# torch", ""),
    "only_spaces": ("a.py", lambda: " " * 5_000_000 + "# torch", ""),
    "only_backslashes": ("a.py", lambda: "# torch\n" + "\\\n" * 1_000_000, ""),
    "invalid_utf8": (
        "a.py",
        lambda: HEAD.encode() + b"s = '\xff\xfe'\n",
        "a.py:3: byte 0xff is not UTF-8",
    ),
    "overlong_utf8": (
        "a.py",
        lambda: HEAD.encode() + b"s = '\xc0\xaf'\n",
        "byte 0xc0 is not UTF-8",
    ),
    "surrogate_in_utf8": ("a.py", lambda: HEAD.encode() + b"s = '\xed\xa0\x80'\n", "is not UTF-8"),
    "truncated_utf8": ("a.py", lambda: HEAD.encode() + b"s = '\xe2\x82", "is not UTF-8"),
    "random_bytes": (
        "a.py",
        lambda: b"torch" + bytes((i * 7919 + i // 251) % 256 for i in range(3_000_000)),
        "a.py",
    ),
    "nul": ("a.py", lambda: HEAD.encode() + b"x = 1\0\n", "a.py:3: contains a NUL byte"),
    "all_nul": ("a.py", lambda: b"torch" + bytes(10_000_000), "NUL byte"),
    "cookie_unknown": (
        "a.py",
        lambda: "# -*- coding: klingon -*-\n" + HEAD,
        'unknown encoding "klingon"',
    ),
    "cookie_lies": (
        "a.py",
        lambda: b"# coding: utf-8\n" + HEAD.encode() + b"s = '\xe9'\n",
        "is not UTF-8",
    ),
    "cookie_very_long": (
        "a.py",
        lambda: "# coding: " + "x" * 1_000_000 + "\n" + HEAD,
        "unknown encoding",
    ),
    "utf16_le": ("a.py", lambda: utf16(HEAD, b"\xff\xfe", "utf-16-le"), "UTF-16"),
    "utf16_be": ("a.py", lambda: utf16(HEAD, b"\xfe\xff", "utf-16-be"), "UTF-16"),
    "utf16_no_mark": ("a.py", lambda: utf16(HEAD, b"", "utf-16-le"), "NUL byte"),
    "cr_only": ("a.py", lambda: HEAD.replace("\n", "\r"), ""),
    "mixed_newlines": (
        "a.py",
        lambda: "import torch\r\nx = torch.ones(1).cuda()\ry = 1\n\r\r\n\n",
        "",
    ),
    "line_of_numbers": ("a.py", lambda: HEAD + "y = [" + "1," * 5_000_000 + "]\n", ""),
    "line_of_string": ("a.py", lambda: HEAD + "y = '" + "x" * 10_000_000 + "'\n", ""),
    "line_of_statements": ("a.py", lambda: HEAD + "y = 1;" * 1_700_000 + "\n", ""),
    "line_of_calls": ("a.py", lambda: HEAD + "y.cuda();" * 1_100_000 + "\n", ""),
    "line_of_comment": ("a.py", lambda: HEAD + "#" + "x" * 10_000_000 + "\n", ""),
    "string_of_lines": ("a.py", lambda: HEAD + "y = '''" + "cuda\n" * 2_000_000 + "'''\n", ""),
    "unclosed_string": ("a.py", lambda: HEAD + "y = '''" + "cuda\n" * 2_000_000, "a.py"),
    "larger_than_the_limit": ("a.py", lambda: HEAD + "#" * (40 << 20), "larger than"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_hostile_file(torchport, name: str) -> None:
    check_and_fix(torchport, name, CASES)


def test_memory_is_bounded_with_threads(torchport) -> None:
    """Eight heavy files at once: each keeps within its own bound, and all are reported."""
    for i in range(8):
        torchport.write(f"a{i}.py", HEAD + "y = [" + "1," * 1_000_000 + "]\n")
    run = measured(torchport, "check", "-j", "8", "--no-cache")
    note("eight heavy files", "check", run)
    assert run.returncode == 1
    assert run.peak_mb < 8 * PEAK_MB


def test_out_of_memory_in_one_file_spares_the_others(torchport) -> None:
    torchport.write("a.py", HEAD + "y = [" + "1," * 3_000_000 + "]\n")
    torchport.write("b.py", TIE)
    run = subprocess.run(
        [torchport.program, "check", "-j", "1", "--no-cache", "--format", "json"],
        cwd=torchport.folder,
        env=torchport.env,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20)),
    )
    assert run.returncode in (1, 3), run.stderr

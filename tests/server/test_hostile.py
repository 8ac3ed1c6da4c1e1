"""The process itself: streams that are no protocol, clients that go, and exit codes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from editor import TORCHPORT


def framed(message: object) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def request(number: int, method: str, params: object = None) -> bytes:
    return framed({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})


def notification(method: str, params: object = None) -> bytes:
    return framed({"jsonrpc": "2.0", "method": method, "params": params or {}})


INITIALIZE = request(1, "initialize", {"capabilities": {}})
END = request(99, "shutdown") + notification("exit")


def serve(stream: bytes, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [TORCHPORT, "server"],
        input=stream,
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )


def answers(output: bytes) -> list[dict]:
    found = []
    while output:
        head, _, rest = output.partition(b"\r\n\r\n")
        length = int(head.split(b":")[1])
        found.append(json.loads(rest[:length]))
        output = rest[length:]
    return found


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (INITIALIZE + END, 0),
        (INITIALIZE + notification("exit"), 1),
        (notification("exit"), 1),
        (INITIALIZE, 1),
        (b"", 1),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1),
        (b"Content-Length: 99999999999\r\n\r\n{}", 1),
    ],
)
def test_exit_codes(stream: bytes, code: int, tmp_path: Path):
    run = serve(stream, tmp_path)
    assert run.returncode == code
    assert run.stderr == b""


@pytest.mark.parametrize(
    "noise",
    [
        framed(b"{"),
        framed(b"\xff\xfe\x00"),
        framed(b"[" * 1_000_000),
        framed(b'{"a":' * 300 + b"1" + b"}" * 300),
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1e3\r\n\r\n",
        b"\r\n\r\n\r\n",
        b"X: " + b"y" * 1_000_000 + b"\r\n\r\n",
        framed({"jsonrpc": "2.0", "id": 5, "method": "x" * 100_000}),
        framed({"jsonrpc": "2.0", "id": 10**30, "method": "x"}),
        framed({"id": None, "method": "shutdown"}),
        notification("$/cancelRequest", {"id": {"a": []}}),
        notification("textDocument/didOpen", {"textDocument": {"uri": "file:///%00", "text": "x"}}),
        notification("textDocument/didOpen", {"textDocument": {"uri": "", "text": "import torch"}}),
        notification(
            "textDocument/didOpen",
            {
                "textDocument": {
                    "uri": "file:///deep.py",
                    "languageId": "python",
                    "version": 10**18,
                    "text": "import torch\nx = " + "(" * 100_000,
                }
            },
        ),
    ],
)
def test_noise_is_answered_or_passed_over(noise: bytes, tmp_path: Path):
    run = serve(INITIALIZE + noise + request(7, "textDocument/hover") + END, tmp_path)
    assert run.returncode == 0
    found = {message.get("id"): message for message in answers(run.stdout)}
    assert found[99]["result"] is None


def test_a_stream_that_is_cut_anywhere_ends_the_server(tmp_path: Path):
    document = {"uri": (tmp_path / "a.py").as_uri(), "languageId": "python", "version": 1}
    opened = notification(
        "textDocument/didOpen",
        {"textDocument": document | {"text": "import torch\nx = torch.zeros(3).cuda()\n"}},
    )
    stream = INITIALIZE + opened + END
    for cut in random.Random(1).sample(range(len(stream)), 40):
        run = serve(stream[:cut], tmp_path)
        assert run.returncode == 1
        answers(run.stdout)  # whole messages


def test_random_bytes_in_valid_messages(tmp_path: Path):
    random_bytes = random.Random(2)
    document = {"uri": (tmp_path / "a.py").as_uri(), "languageId": "python", "version": 1}
    bodies = [
        {
            "method": "textDocument/didOpen",
            "params": {"textDocument": document | {"text": "x.cuda()"}},
        },
        {
            "method": "textDocument/didChange",
            "params": {
                "textDocument": document,
                "contentChanges": [
                    {
                        "range": {
                            "start": {"line": 0, "character": 0},
                            "end": {"line": 0, "character": 3},
                        },
                        "text": "torch",
                    }
                ],
            },
        },
        {"id": 8, "method": "textDocument/codeAction", "params": {"textDocument": document}},
    ]
    stream = bytearray()
    for _ in range(500):
        body = bytearray(json.dumps(random_bytes.choice(bodies)).encode())
        for _ in range(random_bytes.randrange(4)):
            body[random_bytes.randrange(len(body))] = random_bytes.randrange(256)
        stream += framed(bytes(body))
    run = serve(INITIALIZE + bytes(stream) + END, tmp_path)
    # A changed byte may say `exit` only by a chance that this seed does not have.
    assert run.returncode == 0
    answers(run.stdout)


def test_the_server_ends_when_its_client_has_gone():
    server = subprocess.Popen(
        [TORCHPORT, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    server.stdin.write(INITIALIZE)
    server.stdin.flush()
    assert server.stdout.read(16) == b"Content-Length: "
    server.stdout.close()
    # Nobody reads any more: the next answers cannot be written.
    try:
        for _ in range(50):
            server.stdin.write(request(2, "textDocument/hover"))
            server.stdin.flush()
            time.sleep(0.01)
    except BrokenPipeError:
        pass
    assert server.wait(timeout=20) == 1
    server.stderr.close()


def test_ctrl_c_ends_it(tmp_path: Path):
    server = subprocess.Popen([TORCHPORT, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server.stdin.write(INITIALIZE)
    server.stdin.flush()
    server.stdout.read(16)
    os.kill(server.pid, signal.SIGINT)
    assert server.wait(timeout=20) == -signal.SIGINT
    server.stdin.close()
    server.stdout.close()

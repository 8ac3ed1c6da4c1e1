"""Measures how long an editor waits for the diagnostics of an edit: `make bench`.

The project is 3,000 real files, and the edited files have about 2,000 lines: one is full of findings,
one is real. Each figure is the time from the message with the edit to the diagnostics of the state
after it. "typing" sends an edit every 30 ms, whether the last one was answered or not, and counts the
last of each 20. "scan" edits while the server checks the whole project (the setting wholeProject).
The ratio is to `torchport check --no-cache` of the same file, which starts a process for it.

With folders as arguments, the project is made of their Python files instead of the bench tree.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Queue

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import ROOT, TORCHPORT, bench_tree

FILES, LINES = 3000, 2000
EDITS = 200
BOUND = 0.100  # seconds, for the 95th percentile


class Client:
    """A client that knows when each message of the server came."""

    def __init__(self, folder: Path, options: dict):
        self.process = subprocess.Popen(
            [TORCHPORT, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.messages: Queue[tuple[float, dict]] = Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.send(
            "initialize",
            {
                "capabilities": {"window": {"workDoneProgress": True}},
                "workspaceFolders": [{"uri": folder.as_uri(), "name": "bench"}],
                "initializationOptions": options,
            },
            identity=1,
        )
        self.receive(lambda message: message.get("id") == 1)
        self.send("initialized", {})

    def _read(self) -> None:
        stream = self.process.stdout
        while head := stream.readline():
            stream.readline()
            body = stream.read(int(head.split(b":")[1]))
            self.messages.put((time.perf_counter(), json.loads(body)))

    def send(self, method: str, params: dict, identity: int | None = None) -> float:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if identity is not None:
            message["id"] = identity
        body = json.dumps(message).encode()
        start = time.perf_counter()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()
        return start

    def receive(self, wanted) -> tuple[float, dict]:
        while True:
            when, message = self.messages.get(timeout=60)
            if wanted(message):
                return when, message

    def diagnostics(self, uri: str, version: int) -> float:
        return self.receive(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["uri"] == uri
                and message["params"].get("version") == version
            )
        )[0]

    def open(self, uri: str, text: str) -> None:
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        self.diagnostics(uri, 1)

    def edit(self, uri: str, version: int, line: int, column: int, text: str) -> float:
        place = {"line": line, "character": column}
        return self.send(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"range": {"start": place, "end": place}, "text": text}],
            },
        )

    def end(self) -> int:
        self.send("shutdown", {}, identity=2)
        self.send("exit", {})
        return self.process.wait(timeout=60)


def one_by_one(client: Client, uri: str, line: int) -> list[float]:
    taken = []
    for i in range(EDITS):
        sent = client.edit(uri, i + 2, line, 1 + i % 60, "x")
        taken.append(client.diagnostics(uri, i + 2) - sent)
    return taken


def while_typing(client: Client, uri: str, line: int) -> list[float]:
    taken, version = [], 1
    for _ in range(EDITS // 20):
        for i in range(20):
            version += 1
            sent = client.edit(uri, version, line, 1 + i, "y")
            time.sleep(0.030 if i < 19 else 0)
        taken.append(client.diagnostics(uri, version) - sent)
    return taken


def full_of_findings() -> str:
    unit = (ROOT / "examples/legacy/train.py").read_text()
    body = "\n".join(
        "    " + line if line.strip() else ""
        for line in unit.splitlines()
        if not line.startswith("from __future__")
    )
    times = -(-LINES // unit.count("\n"))
    return "\n".join(
        "".join(f"def part_{i}():\n{body}\n\n" for i in range(times)).split("\n")[:LINES]
    )


def real_file(files: list[Path]) -> Path:
    """The file about torch whose number of lines is the nearest to LINES."""
    about_torch = (
        f for f in files if f.stat().st_size > 30 * LINES and b"import torch" in f.read_bytes()
    )
    return min(about_torch, key=lambda f: abs(f.read_bytes().count(b"\n") - LINES))


def seconds_of_check(path: Path) -> float:
    taken = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run(
            [TORCHPORT, "check", "-q", "--no-cache", "--exit-zero", path],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def row(what: str, taken: list[float], check: float) -> None:
    taken = sorted(taken)
    middle, high = statistics.median(taken), taken[int(len(taken) * 0.95)]
    verdict = "reached" if high <= BOUND else "MISSED"
    print(
        f"{what:<46} {middle * 1e3:7.1f} ms {high * 1e3:7.1f} ms {taken[-1] * 1e3:7.1f} ms"
        f" {middle / check:7.2f}  <= {BOUND * 1e3:g} ms: {verdict}",
        flush=True,
    )


def main() -> int:
    folders = [Path(word) for word in sys.argv[1:]] or bench_tree()
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch)
        for i, path in enumerate(files[:: max(1, len(files) // FILES)][:FILES]):
            target = project / str(i % 50) / f"m{i}.py"
            target.parent.mkdir(exist_ok=True)
            shutil.copy(path, target)
        dense = project / "dense.py"
        dense.write_text(full_of_findings())
        real = project / "real.py"
        shutil.copy(real_file(files), real)
        count = sum(1 for _ in project.rglob("*.py"))
        print(f"a project of {count} files, {os.cpu_count()} cores\n")
        print(f"{'':<46} {'median':>10} {'p95':>10} {'most':>10} {'/check':>7}")
        for path in (dense, real):
            text, check = path.read_text(), seconds_of_check(path)
            lines = text.count("\n") + 1
            # A comment in the middle of the file, so that it stays Python whatever is typed there.
            text_lines = text.split("\n")
            middle = text_lines.index("", lines // 2)
            text_lines[middle] = "#" + "-" * 70
            text = "\n".join(text_lines)
            for name, options, measure in (
                ("one by one", {}, one_by_one),
                ("typing", {}, while_typing),
                ("scan, one by one", {"wholeProject": True}, one_by_one),
            ):
                client = Client(project, options)
                client.open(path.as_uri(), text)
                taken = measure(client, path.as_uri(), middle)
                assert client.end() == 0
                row(f"{path.name}, {lines} lines: {name}", taken, check)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs the stages of a Dockerfile one by one, without Docker, each in a tree of its own.

    run_stages.py DOCKERFILE CONTEXT OUT [--without-index] [--torch-from SITE] [--image NAME=DIR]

What is done for Docker: the root of a stage is OUT/root, to which absolute paths of the file are
mapped; a finished stage is moved away to OUT/stages, so that nothing of a later one can lean on it.
COPY copies, less what the ignore file leaves out; cache mounts are this machine's; bind mounts are
copies for the time of their RUN. A base image is this machine's Python, and the folders that --image
names. The container's own programs (HEALTHCHECK, ENTRYPOINT) run as its user where this process may
become another one.

What is not: packages of the distribution and making the user (apt-get, groupadd), since both change
the machine; they are listed as left out. --without-index takes `--index-url` out of pip's lines, for
machines that get a build of torch for the CPU from a place of their own; --torch-from puts that
environment's torch in the place of the line that installs it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOTS = r"(?<![\w./-])/(opt/venv|src|app|tmp|usr/local/cuda)(?=[/:\s\"']|$)"
LEFT_OUT = ("apt-get ", "groupadd ")


def instructions(text: str) -> list[tuple[str, str]]:
    """(instruction, rest) of a Dockerfile: comments gone, continued lines joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"[ \t]*\\\n[ \t]*", " ", "\n".join(lines))
    return [tuple(line.split(None, 1)) for line in whole.splitlines() if line.strip()]


def ignored(patterns: list[str], path: str) -> bool:
    """As the documentation of .dockerignore has it: the last pattern that matches decides."""
    out = False
    for pattern in patterns:
        keep = pattern.startswith("!")
        expression = re.escape(pattern.lstrip("!").strip("/"))
        expression = expression.replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        expression = expression.replace(r"\[", "[").replace(r"\]", "]")
        if re.fullmatch(expression + "(?:/.*)?", path):
            out = not keep
    return out


@dataclass
class Runner:
    context: Path
    out: Path
    images: dict[str, Path]
    without_index: bool
    torch_from: str | None
    ignore: list[str]
    root: Path = field(init=False)
    names: dict[str, Path] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    ran: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    result: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.root = self.out / "root"
        (self.out / "image").mkdir(parents=True)
        for name in ("python", "python3"):
            (self.out / "image" / name).symlink_to(sys._base_executable)

    def at(self, path: str) -> Path:
        """A path of the container on this machine."""
        absolute = path if path.startswith("/") else f"{self.folder}/{path}"
        return Path(os.path.normpath(f"{self.root}/{absolute}"))

    def mapped(self, text: str) -> str:
        return re.sub(ROOTS, lambda found: f"{self.root}/{found[1]}", text)

    def environment(self) -> dict[str, str]:
        usual = {
            "PATH": f"{self.out}/image:/usr/bin:/bin",
            "HOME": str(self.out / "home"),
            "PIP_CACHE_DIR": os.path.expanduser("~/.cache/pip"),
            "PIP_NO_COMPILE": "1",
            "MAX_JOBS": "2",
        }
        usual |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        usual |= {n: os.environ[n] for n in ("SSL_CERT_FILE", "CCACHE_DIR") if n in os.environ}
        for name, value in self.variables.items():
            usual[name] = self.mapped(value).replace("$PATH", usual["PATH"])
        return usual

    def run_from(self, rest: str) -> None:
        image, _, name = rest.partition(" AS ")
        if self.root.exists():
            self.finish()
        self.name, self.image = name, image
        self.variables, self.folder, self.user = {}, "/", "0:0"
        (self.root / "tmp").mkdir(parents=True)
        for known, folder in self.images.items():
            if image.startswith(known):
                shutil.copytree(folder, self.root, symlinks=True, dirs_exist_ok=True)

    def finish(self) -> None:
        self.names[self.name] = self.out / "stages" / self.name
        self.names[self.name].parent.mkdir(exist_ok=True)
        self.root.rename(self.names[self.name])

    def run_run(self, rest: str) -> None:
        mounts = re.findall(r"--mount=type=bind,source=(\S+),target=(\S+)\s", rest)
        command = re.sub(r"--mount=\S+\s+", "", rest)
        if self.leaves_out(command):
            self.left_out.append(command)
            return
        if self.without_index:
            command = re.sub(r" --index-url \S+", "", command)
        if self.torch_from and command.startswith('python -c "import importlib.metadata'):
            self.left_out.append(command)  # whether that line brought the right build
            return
        if self.torch_from and re.match(r"pip install torch==", command):
            site = f"import site; site.addsitedir('{self.torch_from}')"
            folder = next(self.at("/opt/venv").glob("lib/python*/site-packages"))
            (folder / "torch-from.pth").write_text(site + "\n")
            self.left_out.append(command)
            return
        self.shell(command, mounts)
        self.ran.append(command)

    def leaves_out(self, command: str) -> bool:
        return command.startswith(LEFT_OUT)

    def shell(self, command: str, mounts: list[tuple[str, str]]) -> None:
        for source, target in mounts:
            shutil.copy(self.context / source, self.at(target))
        # As the image's user root would see it: pip says that this is no good idea, and goes on.
        subprocess.run(
            ["sh", "-ec", self.mapped(command)],
            cwd=self.at("."),
            env=self.environment(),
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
        )
        for _, target in mounts:
            self.at(target).unlink()

    def run_copy(self, rest: str) -> None:
        words = rest.split()
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")]
        stage = next((o.split("=")[1] for o in options if o.startswith("--from=")), None)
        for source in sources:
            origin = Path(f"{self.names[stage]}/{source}") if stage else self.context / source
            to = self.at(target)
            if stage and os.path.islink(os.path.normpath(origin)):
                to.parent.mkdir(parents=True, exist_ok=True)
                to.symlink_to(os.path.realpath(origin))
            elif stage:
                # The stage is done with, so that a move is as good as a copy of gigabytes.
                to.parent.mkdir(parents=True, exist_ok=True)
                os.rename(os.path.normpath(origin), to)
            elif origin.is_dir():
                shutil.copytree(origin, to, True, ignore=self.leave_out, dirs_exist_ok=True)
            else:
                if target.endswith("/"):
                    to = to / origin.name
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(origin, to)
        if any(o.startswith("--chown=") for o in options) and os.geteuid() == 0:
            uid, gid = (int(n) for n in next(o for o in options if "chown" in o)[8:].split(":"))
            for path in (self.at(target), *self.at(target).rglob("*")):
                os.chown(path, uid, gid, follow_symlinks=False)

    def leave_out(self, folder: str, names: list[str]) -> set[str]:
        base = Path(folder).relative_to(self.context)
        # A folder goes on where an exception may lie in it.
        return {
            name
            for name in names
            if ignored(self.ignore, (base / name).as_posix())
            and not any(p.startswith(f"!{(base / name).as_posix()}/") for p in self.ignore)
        }

    def run_env(self, rest: str) -> None:
        for word in shlex.split(rest):
            name, _, value = word.partition("=")
            # What an earlier line set; the base image's own where there is none.
            self.variables[name] = value.replace("$PATH", self.variables.get("PATH", "$PATH"))

    def run_workdir(self, rest: str) -> None:
        self.folder = rest
        self.at(".").mkdir(parents=True, exist_ok=True)

    def as_user(self, words: list[str]) -> dict[str, object]:
        done, user = self.program(words)
        return {
            "words": words,
            "code": done.returncode,
            "stdout": done.stdout,
            "stderr": done.stderr,
            "user": user,
        }

    def program(self, words: list[str]) -> tuple[subprocess.CompletedProcess, int]:
        """Runs a program as the stage's user, if this process may; and the user that it ran as."""
        environment = self.environment()
        program = shutil.which(words[0], path=environment["PATH"])
        may = os.geteuid() == 0 and os.access(self.out, os.X_OK)
        readable = not os.path.realpath(program).startswith("/root/")
        uid, gid = (int(number) for number in self.user.split(":"))
        identity = {"user": uid, "group": gid, "extra_groups": []} if may and readable else {}
        done = subprocess.run(
            [program, *words[1:]],
            cwd=self.at("."),
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            **identity,
        )
        return done, uid if identity else os.geteuid()

    def run(self, text: str) -> None:
        after: dict[str, list[str]] = {}
        for name, rest in instructions(text):
            match name:
                case "FROM":
                    self.run_from(rest)
                case "RUN":
                    self.run_run(rest)
                case "COPY":
                    self.run_copy(rest)
                case "ENV":
                    self.run_env(rest)
                case "WORKDIR":
                    self.run_workdir(rest)
                case "USER":
                    self.user = rest
                case "HEALTHCHECK":
                    after["healthcheck"] = json.loads(rest[rest.index("CMD") + 3 :])
                case "ENTRYPOINT" | "CMD":
                    after["entry"] = json.loads(rest)
                case "LABEL":
                    self.result["labels"] = dict(w.split("=", 1) for w in shlex.split(rest))
                case _:
                    raise SystemExit(f"unknown instruction {name}")
        for what, words in after.items():
            self.result[what] = self.as_user(words)
        self.result |= {"ran": self.ran, "left_out": self.left_out, "root": str(self.root)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("context", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--without-index", action="store_true")
    parser.add_argument("--torch-from")
    parser.add_argument("--image", action="append", default=[])
    options = parser.parse_args()
    beside = options.dockerfile.with_name(options.dockerfile.name + ".dockerignore")
    ignore = beside if beside.exists() else options.context / ".dockerignore"
    runner = Runner(
        options.context,
        options.out,
        {name: Path(folder) for name, folder in (i.split("=") for i in options.image)},
        options.without_index,
        options.torch_from,
        [p for p in ignore.read_text().splitlines() if p and not p.startswith("#")],
    )
    runner.run(options.dockerfile.read_text())
    json.dump(runner.result, sys.stdout)


if __name__ == "__main__":
    main()

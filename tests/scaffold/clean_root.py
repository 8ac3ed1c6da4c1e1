"""Runs what `torchport container` and `torchport ci` write in clean roots of Debian: `make
test-generated`, as root.

    clean_root.py [--build FOLDER] [--roots FOLDER] [RELEASE...]

A small project gets the wheel of this checkout into wheels/, and both commands write their files for it.
The shell lines of the Dockerfile's stages and of the workflow's steps are read from these files and run
in roots that have Python and nothing of this machine but what pip's variables name. A root stands for
the base image, and for the runner with setup-python; a clone stands for actions/checkout. The line that
installs torch is run as it is if its index answers. Else it is run without the index, if pip finds a
build for the CPU by PIP_FIND_LINKS; else it is left out with all that needs torch, and named.
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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "common"))
sys.path.insert(0, str(Path(__file__).parent / "programs"))
sys.path.insert(0, str(Path(__file__).parents[1] / "systems"))
from roots import make
from run_stages import Runner
from workflow_steps import filled, read_yaml, shell_lines

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("bookworm", "trixie")  # Debian 12 is what the images are made of
PACKAGES = ("python3", "python3-venv", "ca-certificates")
TORCH = (ROOT / "deps/torch.txt").read_text().split("torch==")[1].split()[0]
INDEX = "https://download.pytorch.org/whl/cpu/torch/"
CHECKOUT = "/home/runner/work/project"

FILES = {
    "pyproject.toml": '[project]\nname = "small-net"\nversion = "0.3"\n'
    '[tool.setuptools]\npy-modules = ["small_net"]\n',
    "requirements.txt": "torch\npackaging>=20\n",
    "small_net.py": "def size():\n    return 3\n",
    "train.py": "import sys, small_net\nprint('trained', small_net.size(), sys.argv[1:])\n",
    # Each leg of the matrix has to pass, so the test asks for nothing that one of them lacks.
    "tests/test_devices.py": "import torch\n\n\ndef test_devices():\n"
    "    for index in range(torch.cuda.device_count()):\n"
    '        assert torch.ones(3).to(f"cuda:{index}").sum().item() == 3.0\n'
    '    print("devices", torch.cuda.device_count())\n',
    # Something for `torchport check` to find, beside the test.
    "old.py": "import torch\n\nweights = torch.ones(3).cuda()\n",
}


def variables() -> dict[str, str]:
    """How pip reaches its index here. Nothing of it is written into the project."""
    names = [n for n in os.environ if n.startswith("PIP_") or n.lower().endswith("_proxy")]
    names += [n for n in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE") if n in os.environ]
    return {name: os.environ[name] for name in names} | {"PIP_ROOT_USER_ACTION": "ignore"}


def outside() -> list[Path]:
    """What a root gets of this machine: the files that those variables name, and how names resolve."""
    words = [word for value in variables().values() for word in value.split()]
    named = {Path(word) for word in words if word.startswith("/") and Path(word).exists()}
    return [Path("/etc/resolv.conf"), *sorted(named)]


def start(
    root: Path,
    words: list[str],
    environment: dict[str, str],
    *,
    folder: str = "/",
    mounts: Sequence[tuple[Path, str]] = (),
    user: str = "0:0",
    **options,
) -> subprocess.CompletedProcess:
    """Runs a program with the folder as its root. The mounts end with it."""
    script = [f"mount -t proc proc {shlex.quote(str(root / 'proc'))}"]
    for source, target in [*((path, str(path)) for path in outside()), *mounts]:
        place = Path(f"{root}/{target}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(exist_ok=True) if source.is_dir() else place.touch()
        script.append(shlex.join(["mount", "--bind", str(source), str(place)]))
    given = [f"{name}={value}" for name, value in environment.items()]
    inside = ["chroot", f"--userspec={user}", str(root), "env", "-i", "-C", folder, *given, *words]
    script.append("exec " + shlex.join(inside))
    command = ["unshare", "--mount", "sh", "-ec", "\n".join(script)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, text=True, check=False, **options)


@dataclass
class RootRunner(Runner):
    """Runs the stages of a Dockerfile in copies of a root, packages and users included."""

    base: Path = Path()
    torch: str = ""  # see torch_line()

    def mapped(self, text: str) -> str:
        return text

    def leaves_out(self, command: str) -> bool:
        needs_torch = command.startswith(
            ("pip install torch==", 'python -c "import importlib.metadata')
        )
        return needs_torch and self.torch == "left out"

    def environment(self) -> dict[str, str]:
        usual = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"}
        usual |= variables()
        for name, value in self.variables.items():
            usual[name] = value.replace("$PATH", usual["PATH"])
        return usual

    def run_from(self, rest: str) -> None:
        super().run_from(rest)
        shutil.rmtree(self.root)
        copy(self.base, self.root)
        # The name by which Python's images have it.
        (self.root / "usr/local/bin/python").symlink_to("/usr/bin/python3")

    def shell(self, command: str, mounts: list[tuple[str, str]]) -> None:
        cache = Path.home() / ".cache/pip"
        cache.mkdir(parents=True, exist_ok=True)
        done = start(
            self.root,
            ["sh", "-ec", command],
            self.environment(),
            folder=self.folder,
            mounts=[(self.context / source, target) for source, target in mounts]
            + [(cache, "/root/.cache/pip")],
            stdout=sys.stderr,
        )
        if done.returncode != 0:
            sys.exit(f"Dockerfile: {command!r} ended with {done.returncode}")

    def program(self, words: list[str]) -> tuple[subprocess.CompletedProcess, int]:
        environment = self.environment() | {"HOME": "/home/app"}
        done = start(
            *(self.root, words, environment),
            **{"folder": self.folder, "user": self.user, "capture_output": True},
        )
        return done, int(self.user.partition(":")[0])


def copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True)


def python_of(root: Path) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = start(root, ["/usr/bin/python3", "-c", code], {}, capture_output=True)
    return done.stdout.strip()


def torch_line(python: str) -> str:
    """How the line that installs torch is run: "as it is", "without index" or "left out"."""
    index = ["curl", "-sfI", "-m", "30", INDEX]
    if subprocess.run(index, capture_output=True, check=False).returncode == 0:
        return "as it is"
    tag = f"cp{python.replace('.', '')}"
    for place in os.environ.get("PIP_FIND_LINKS", "").split():
        if list(Path(place).glob(f"torch-{TORCH}+cpu-{tag}-*.whl")):
            return "without index"
    return "left out"


def write_project(folder: Path, wheel: Path, python: str) -> None:
    """The project, with the files that the program writes for it, in a repository of git."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "wheels").mkdir()
    shutil.copy(wheel, folder / "wheels")
    program = Path(sys.executable).parent / "torchport"
    common = [folder, "--torch", TORCH, "--python", python]
    for words in (["container", *common, "--entry", "train.py --epochs 2"], ["ci", *common]):
        subprocess.run([program, *words], check=True, stdout=sys.stderr)
    who = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "project"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)


def expect(condition: bool, text: object) -> None:
    if not condition:
        sys.exit(f"not as expected: {text}")


def run_container(base: Path, project: Path, out: Path, torch: str) -> str:
    text = (project / "Dockerfile").read_text()
    expect(str(project) not in text and str(ROOT) not in text, "the Dockerfile names this machine")
    ignore = (project / ".dockerignore").read_text().splitlines()
    patterns = [line for line in ignore if line[:1] not in ("", "#")]
    index = torch == "without index"
    runner = RootRunner(project, out, {}, index, None, patterns, base=base, torch=torch)
    runner.run(text)
    result = runner.result
    entry, health = result["entry"], result["healthcheck"]
    expect(entry["code"] == 0 and entry["stdout"] == "trained 3 ['--epochs', '2']\n", entry)
    expect(entry["user"] == 10001, entry)
    if torch == "left out":
        expect(health["code"] == 1 and "no torch" in health["stdout"] + health["stderr"], health)
    else:
        expect(health["code"] == 0 and f"{TORCH}+cpu" in health["stdout"], health)
    count = len(result["ran"])
    return f"Dockerfile: {count} RUN lines, the entry point and the health check" + (
        f"; left out: {'; '.join(result['left_out'])}" if result["left_out"] else ""
    )


def run_job(base: Path, project: Path, out: Path, torch: str, job: dict) -> int:
    """Runs the steps of a job in a fresh copy of the root, those that name the matrix once for each of
    its legs: the others do the same on each. Returns how many were run."""
    shutil.rmtree(out, ignore_errors=True)
    copy(base, out)
    subprocess.run(["git", "clone", "-q", project, f"{out}{CHECKOUT}"], check=True)
    # setup-python's Python takes packages; Debian's refuses them.
    path = "/opt/python/bin:/usr/bin:/bin"
    done = start(out, ["/usr/bin/python3", "-m", "venv", "/opt/python"], {}, stdout=sys.stderr)
    expect(done.returncode == 0, "python3 -m venv")
    legs = job.get("strategy", {}).get("matrix", {}).get("include", [{}])
    count = 0
    for step in job["steps"]:
        if "run" not in step:
            expect(re.match(r"(actions|github)/[\w./-]+@v\d+$", step["uses"]) is not None, step)
            continue
        environment = variables() | {"PATH": path, "HOME": "/home/runner", "CI": "true"}
        environment |= step.get("env", {})
        for leg in legs if "${{" in step["run"] else legs[:1]:
            lines = filled(step["run"], {f"matrix.{name}": text for name, text in leg.items()})
            if torch == "without index":
                lines = re.sub(r" --index-url \S+", "", lines)
            words = ["bash", "-e", "-c", lines]  # GitHub's command where no shell is named
            done = start(out, words, environment, folder=CHECKOUT, capture_output=True)
            print(done.stdout, done.stderr, file=sys.stderr)
            expected = 1 if step["name"] == "Check" else 0
            expect(done.returncode == expected, f"{lines!r} ended with {done.returncode}")
            count += 1
    return count


def run_workflow(base: Path, project: Path, out: Path, torch: str) -> str:
    jobs = read_yaml(project / ".github/workflows/torchport.yml")["jobs"]
    count = run_job(base, project, out, torch, jobs["check"])
    sarif = json.loads(Path(f"{out}{CHECKOUT}/torchport.sarif").read_text())
    places = [r["locations"][0]["physicalLocation"] for r in sarif["runs"][0]["results"]]
    found = {place["artifactLocation"]["uri"] for place in places}
    expect(found == {"old.py", "tests/test_devices.py"}, found)
    if torch == "left out":
        names = ", ".join(shell_lines(jobs["test"]))
        return f"workflow: {count} steps of the job check; left out: {names}"
    count += run_job(base, project, out, torch, jobs["test"])
    return f"workflow: {count} steps of the jobs check and test, on every device of the matrix"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--roots", type=Path, default=ROOT / "build/generated")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("only root can make and use such roots: sudo make test-generated")
    roots = options.roots.resolve()
    roots.mkdir(parents=True, exist_ok=True)
    maker = [sys.executable, ROOT / "deps/make_wheel.py", "--into", roots / "dist", options.build]
    subprocess.run(maker, check=True)
    wheel = next((roots / "dist").glob("torchport-*.whl"))
    for release in options.releases:
        base = roots / release
        if not make(release, base, PACKAGES):
            print(f"{release}: the mirror does not have it")
            continue
        python = python_of(base)
        torch = torch_line(python)
        work = roots / "work"
        shutil.rmtree(work, ignore_errors=True)
        write_project(work / "project", wheel, python)
        print(f"{release}, Python {python}, the line that installs torch: {torch}", flush=True)
        print("  " + run_container(base, work / "project", work / "image", torch), flush=True)
        print("  " + run_workflow(base, work / "project", work / "runner", torch), flush=True)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()

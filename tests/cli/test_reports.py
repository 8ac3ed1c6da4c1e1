"""The reports for machines and for managers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
from browser import look, needs_chromium

ROOT = Path(__file__).resolve().parents[2]
LEGACY = ROOT / "examples/legacy"
SARIF_SCHEMA = ROOT / "deps/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"


def check(torchport, form: str, *words: object) -> str:
    run = torchport("check", "--no-cache", "--format", form, *words)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


def test_sarif_is_valid_and_says_what_json_says(torchport) -> None:
    torchport.write("odd name %41 é.py", "import torch\nx = torch.ones(1).cuda()\n")
    torchport.write("bad.py", b"import torch\n\0\n")
    shutil.copytree(LEGACY, torchport.folder / "legacy")
    document = json.loads(check(torchport, "sarif"))
    schema = json.loads(SARIF_SCHEMA.read_text())
    jsonschema.Draft7Validator(schema).validate(document)
    (run,) = document["runs"]
    findings = json.loads(check(torchport, "json"))["findings"]
    assert [r["ruleId"] for r in run["results"]] == [f["code"] for f in findings]
    for result, finding in zip(run["results"], findings, strict=True):
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] == finding["line"]
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == finding["code"]
    uris = {
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]
    }
    assert "odd%20name%20%2541%20%C3%A9.py" in uris
    assert run["invocations"][0]["toolExecutionNotifications"], "what could not be read is said"


def sarif_fixes(torchport, *words: object) -> list[dict]:
    document = json.loads(check(torchport, "sarif", *words))
    jsonschema.Draft7Validator(json.loads(SARIF_SCHEMA.read_text())).validate(document)
    (run,) = document["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    return [fix for result in run["results"] for fix in result.get("fixes", [])]


def applied(text: str, change: dict) -> str:
    """The text after one artifactChange, as section 3.57 of SARIF 2.1.0 says."""
    starts = [0] + [end.end() for end in re.finditer(r"\r\n|\n|\r", text)]
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_fix_of_sarif_is_what_fix_writes(torchport, end: str) -> None:
    text = "# Größe 😀\nimport math\n\nimport torch\n\nx = ('😀ä', torch.ones(1).cuda())\n"
    path = torchport.write("größe.py", text.replace("\n", end))
    (fix,) = sarif_fixes(torchport, "--select", "TP101")
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "gr%C3%B6%C3%9Fe.py"
    assert fix["description"]["text"]
    torchport("fix", "--select", "TP101")
    assert applied(text.replace("\n", end), change) == path.read_bytes().decode()


def test_each_fix_of_sarif_stands_alone(torchport) -> None:
    shutil.copytree(LEGACY, torchport.folder / "legacy")
    findings = json.loads(check(torchport, "json"))["findings"]
    safe = [f for f in findings if f["fix"] and f["fix"]["applicability"] == "safe"]
    fixes = sarif_fixes(torchport)
    assert len(fixes) == len([f for f in safe if not f["path"].endswith(".ipynb")]) > 10
    for fix in fixes:
        (change,) = fix["artifactChanges"]
        path = torchport.folder / change["artifactLocation"]["uri"]
        text = path.read_bytes().decode()
        fixed = applied(text, change)
        assert fixed != text
        if path.suffix == ".py":
            compile(fixed, path, "exec")
    unsafe = [f for f in findings if f["fix"] and f["fix"]["applicability"] == "unsafe"]
    assert unsafe and len(fixes) < len(findings), "what needs a review is not offered"


def test_fixes_of_sarif_come_from_the_cache_too(torchport) -> None:
    torchport.write("a.py", "import torch\nx = torch.ones(1).cuda()\n")
    runs = [torchport("check", "--format", "sarif").stdout for _ in range(2)]
    assert runs[0] == runs[1] and '"fixes"' in runs[0]


PROBE = """return {
  score: parseInt(document.querySelector('#score').textContent),
  files: [...document.querySelectorAll('details.file')].map(f => [f.querySelector('b').textContent, f.querySelectorAll('.note.e').length, f.open]),
  notes: document.querySelectorAll('.note').length,
  rules: document.querySelectorAll('#rules tbody tr').length,
  devices: [...document.querySelectorAll('.device b')].map(b => b.textContent),
  scripts: document.scripts.length,
  outside: [...document.querySelectorAll('[src],link[href]')].length,
}"""


@needs_chromium
def test_html_in_a_browser(torchport, tmp_path) -> None:
    shutil.copytree(LEGACY, torchport.folder / "legacy")
    torchport.write(
        "x.py",
        "import torch\nx = torch.ones(1).cuda()  # <script>document.title='owned'</script>\n",
    )
    text = check(torchport, "html")
    document = json.loads(check(torchport, "json"))
    assert "default-src 'none'" in text, "the page forbids scripts and requests"
    view = look({"check": text}, tmp_path, {"check": PROBE})["check", 1280]
    seen = view["probe"]
    assert seen["scripts"] == 0, "source code must not become markup"
    assert seen["outside"] == 0, "the page needs nothing but itself"
    errors = {f["path"]: 0 for f in document["findings"]}
    for finding in document["findings"]:
        errors[finding["path"]] += finding["severity"] == "error"
    assert {path: count for path, count, _ in seen["files"]} == errors
    assert seen["notes"] == document["summary"]["findings"]
    assert seen["rules"] == len(document["summary"]["by_code"])
    assert seen["devices"] == ["cpu", "mps", "xpu", "npu", "cuda"]
    assert 0 <= seen["score"] < 60
    # The files with the most errors come first, and they are open.
    counts = [count for _, count, _ in seen["files"]]
    assert counts == sorted(counts, reverse=True)
    assert [is_open for _, _, is_open in seen["files"]] == [True] * 3 + [False] * (len(counts) - 3)
    assert view["unfolded_height"] > 1.5 * view["height"], "files unfold"


def test_html_of_nothing(torchport) -> None:
    torchport.write("a.py", "print(1)\n")
    page = check(torchport, "html")
    assert "Nothing to report" in page and "No file that was read mentions torch" in page
    assert "id=score" not in page, "there is nothing to count"
    torchport.write("b.py", "import torch\nx = torch.ones(1)\n")
    page = check(torchport, "html")
    assert "Nothing to report" in page and ">100<" in page


def test_html_of_a_program_that_demands_cuda(torchport) -> None:
    for name in ("a", "b", "lib/c"):
        torchport.write(f"{name}.py", "import torch\nx = torch.ones(1)\n")
    torchport.write(
        "lib/run.py", "import torch\n\nassert torch.cuda.is_available()\nx = torch.ones(1)\n"
    )
    page = check(torchport, "html")
    assert ">50<" in page and "lib/run.py:3 ends the program without CUDA" in page
    torchport.write("main.py", "import torch\n\nassert torch.cuda.is_available()\nx = 1\n")
    page = check(torchport, "html")
    assert ">0<" in page

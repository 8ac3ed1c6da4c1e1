"""An observation under `torchport run --report` and `prove`'s trace."""

from __future__ import annotations

import json
from pathlib import Path

UNDER_A_REPORT = """
import json, sys, torch, torchport
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        y = self.fc(x)
        if y.nonzero().numel() > 100:  # read
            return y
        return y * torch.ones(4)  # mixed

torch.manual_seed(0)
model, x = Model(), torch.randn(2, 4)
y = model.cuda().fc(x.cuda())
if VERIFIED:
    result = torchport.verify(Model(), x, device="cuda")
    print(json.dumps({"mixed": result.mixed.culprit.name, "findings": result.to_dict()["findings"]}))
print(torch.relu(y).sum().get_device())
"""


def run_under(python, tmp_path: Path, *, verified: bool) -> tuple[str, dict, list[str]]:
    folder = tmp_path / str(verified)
    folder.mkdir()
    program = folder / "program.py"
    program.write_text(UNDER_A_REPORT.replace("VERIFIED", str(verified)))
    done = python(
        program,
        devices="cuda:1",
        cwd=folder,
        TORCHPORT_REPORT=f"json:{folder / 'report.json'}",
        TORCHPORT_TRACE=str(folder / "trace"),
        TORCHPORT_SEED="0",
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text())
    # Without the numbers of lines, which differ by what is between.
    trace = [line.split("\t") for line in (folder / "trace").read_text().splitlines()]
    return done.stdout, report, ["\t".join([name, *rest]) for name, _, *rest in trace]


def test_verified_under_a_report_and_a_trace(python, tmp_path) -> None:
    """All three see the same calls: none of them excludes another."""
    _, report, trace = run_under(python, tmp_path, verified=False)
    out, reported, traced = run_under(python, tmp_path, verified=True)
    assert json.loads(out.splitlines()[0])["mixed"] == "torch.ones(4)"
    # verify runs the model, and a copy of it with the changed line.
    assert reported["operators"]["aten::linear"] == report["operators"]["aten::linear"] + 2 == 3
    reads = [t["line"] for t in reported["transfers"] if t["kind"] == "synchronising read"]
    assert [line.rsplit(":", 1)[1] for line in reads] == ["11"], (
        "nonzero waits, get_device does not"
    )
    assert [t for t in report["transfers"] if t["kind"] == "synchronising read"] == []
    assert traced[0] == trace[0] and traced[-2:] == trace[-2:], "what verify does changes no result"
    assert len(traced) > len(trace) and any("aten::nonzero" in line for line in traced)

"""The report of `verify` as text for a terminal."""

from __future__ import annotations

import re

from torchport._files import short_path
from torchport._quantities import counted, size
from torchport.observe.result import Line, Mixed, ModuleInfo, Side, TensorInfo, Verification

_MARKS = {"yes": "yes", "no": "NO", "not applicable": "-"}
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_TRANSFERS = 20
_NOTES = 20


def report(result: Verification) -> str:
    """Returns the whole report. It ends with the verdict."""
    parts = [_head(result), _tree(result)]
    if result.mixed is not None:
        parts.append(_mixed(result.mixed))
    parts += [_transfers(result), _checklist(result), _findings(result), verdict(result)]
    # Names and source lines come from the program. Control characters in them are replaced.
    return _STEERING.sub("?", "\n\n".join(part for part in parts if part)) + "\n"


def short(line: Line) -> str:
    """The place as file:line, with the relative path if that is shorter."""
    return f"{short_path(line.file)}:{line.line}"


def _head(result: Verification) -> str:
    return (
        f"torchport verify: {result.model} on {result.device}, {result.operators} operators, "
        f"torch {result.torch}\n"
        f"tensors were on {', '.join(result.devices)}; {autocast(result)}"
    )


def autocast(result: Verification) -> str:
    """Says whether autocast was on around the call, and for how many operators within it."""
    within = sum(module.with_autocast for module in result.modules)
    around = ", ".join(result.autocast) or "off"
    return f"autocast {around}" + (f", on for {counted(within, 'op')}" if within else "")


def _tensor(info: TensorInfo) -> str:
    return f"{info.device} {info.dtype} {list(info.sizes)}".replace(" []", " scalar")


def _tree(result: Verification) -> str:
    rows = []
    for info in result.inputs:
        rows.append((f"input {info.name}", _tensor(info), "", size(info.bytes)))
    for module in result.modules:
        rows.extend(_rows(module, result.model))
    for info in result.outputs:
        rows.append((info.name, _tensor(info), "", size(info.bytes)))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>10}".rstrip()
        for a, b, c, d in rows
    )


def _rows(module: ModuleInfo, model: str) -> list[tuple[str, str, str, str]]:
    depth = module.name.count(".") + 1 if module.name and module.type else 0
    name = module.name.rpartition(".")[2] if module.type else module.name
    indent = "  " * depth
    title = f"{indent}{name} ({module.type})" if name and module.type else indent + (name or model)
    output = _tensor(module.outputs[0]) if module.outputs else ""
    ran = counted(module.operators, "op") if module.operators else ""
    rows = [(title, output and f"-> {output}", ran, "")]
    for info in module.tensors:
        mark = "" if info.kind == "parameter" else f" ({info.kind})"
        rows.append((f"{indent}  .{info.name}{mark}", _tensor(info), "", size(info.bytes)))
    if len({amount.device for amount in module.made}) > 1:
        for amount in module.made:
            what = f"{amount.count} made: {amount.device} {amount.dtype}"
            rows.append((f"{indent}  intermediates", what, "", size(amount.bytes)))
    return rows


def _side(side: Side) -> list[str]:
    sizes = list(side.sizes) if side.sizes else "scalar"
    out = [f"  {side.name}: {side.device} {side.dtype} {sizes}, {side.kind}"]
    steps = (("made", side.made), ("last moved", side.moved))
    for what, step in steps:
        if step is None:
            continue
        where = f" at {short(step.line)}" if step.line else ""
        module = f" in {step.module}" if step.module else ""
        way = f", {step.source} -> {step.target}" if what == "last moved" else ""
        out.append(f"    {what} by {step.op.removeprefix('aten::')}{module}{where}{way}")
        if step.line and step.line.text:
            out.append(f"      {step.line.text}")
    if side.made is None:
        out.append("    made before the run")
    if side.moved is None:
        out.append("    not moved during the run")
    return out


def _mixed(mixed: Mixed) -> str:
    where = f" at {short(mixed.line)}" if mixed.line else ""
    module = f" in {mixed.module}" if mixed.module else ""
    out = [f"Mixed devices: {mixed.op.removeprefix('aten::')}{module}{where}"]
    if mixed.line and mixed.line.text:
        out.append(f"      {mixed.line.text}")
    if mixed.backward:
        step = mixed.forward
        of = f", of {step.op.removeprefix('aten::')} in {step.module}" if step else ""
        out.append(f"  in the backward pass{of}")
    out += [*_side(mixed.culprit), *_side(mixed.other)]
    if mixed.pattern:
        out.append(f"  pattern: {mixed.pattern}")
    out.append(f"  fix: {mixed.fix}")
    if mixed.fixed_line:
        out.append(f"    {short(mixed.fix_at)}" if mixed.fix_at else "")
        if mixed.fix_at and mixed.fix_at.text:
            out.append(f"    - {mixed.fix_at.text}")
        out.append(f"    + {mixed.fixed_line}")
    if mixed.tried:
        out.append(f"    tried: {mixed.tried}")
    out.append(f"  torch said: {mixed.message}")
    return "\n".join(out)


def _transfers(result: Verification) -> str:
    if not result.transfers:
        return ""
    out = ["Copies between devices and synchronising reads"]
    for t in result.transfers[:_TRANSFERS]:
        way = f"{t.source} -> {t.target}"
        line = short(t.line) if t.line else "(no line of the program)"
        backward = ", backward" if t.backward else ""
        amount = size(t.bytes) if t.bytes else ""
        out.append(
            f"  {t.count:>6}  {t.op.removeprefix('aten::'):<24} {way:<16} {amount:>10}  "
            f"{t.module or result.model}{backward}  {line}"
        )
    if len(result.transfers) > _TRANSFERS:
        out.append(
            f"  and {len(result.transfers) - _TRANSFERS} more lines; --json lists all of them"
        )
    return "\n".join(out)


def _checklist(result: Verification) -> str:
    out = ["Before deployment"]
    for answer in result.checklist:
        out.append(f"  {_MARKS[answer.status]:<4} {answer.question} {answer.seen}")
        if answer.status == "no" and answer.fix:
            out.append(f"       {answer.fix}")
    return "\n".join(out)


def _findings(result: Verification) -> str:
    out = []
    notes = 0
    for finding in result.findings:
        notes += finding.severity == "note"
        if finding.severity == "note" and notes > _NOTES:
            continue
        where = f"{short(finding.line)}: " if finding.line else ""
        out.append(f"  {finding.severity}: {where}{finding.message} [{finding.code}]")
        if finding.fix and finding.severity != "note":
            out.append(f"       {finding.fix}")
    if notes > _NOTES:
        out.append(f"  and {notes - _NOTES} more notes; --json lists all of them")
    return "\n".join(["Findings", *out]) if out else ""


def verdict(result: Verification) -> str:
    """Returns the last line of the report, such as "not verified: 1 error"."""
    counts = [
        (sum(f.severity == severity for f in result.findings), severity)
        for severity in ("error", "warning")
    ]
    told = ", ".join(counted(n, s) for n, s in counts if n)
    return ("verified" if result.ok else "not verified") + (f": {told}" if told else "")

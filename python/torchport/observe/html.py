"""The report as one page: no script, nothing from outside, light and dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from torchport._quantities import size
from torchport.observe.graph import Drawing
from torchport.observe.result import Line, Mixed, ModuleInfo, Side, TensorInfo, Verification
from torchport.observe.text import autocast, short

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#d9dee5;--ground:#fff;--panel:#f5f7f9;--bad:#b3261e;--badbg:#fdecea;--warn:#8a5a00;--good:#1a7f37;
--cpu:#64748b;--d0:#15803d;--d1:#7c3aed;--d2:#0e7490;--d3:#be185d;--d4:#4d7c0f;--in:#1d4ed8;--out:#c2410c;--none:#9ca3af}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa6b5;--line:#333c48;--ground:#14181d;--panel:#1c2229;--bad:#ff8a80;--badbg:#3a1f1f;--warn:#f2c063;--good:#5fd07f;
--cpu:#94a3b8;--d0:#4ade80;--d1:#c4b5fd;--d2:#67e8f9;--d3:#f9a8d4;--d4:#bef264;--in:#93c5fd;--out:#fdba74;--none:#6b7280}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1080px;margin:0 auto;padding:24px 16px 80px}h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:36px 0 10px}
td:first-child,td .severity{white-space:nowrap}p{margin:4px 0}.soft{color:var(--soft);fill:var(--soft)}.scroll{overflow-x:auto}
.verdict{font-size:20px;font-weight:700}.ok{color:var(--good)}.bad,.error{color:var(--bad)}.warning{color:var(--warn)}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:5px 10px;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code,pre{font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}pre{margin:4px 0;overflow-x:auto;white-space:pre}
.panel{border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:8px;padding:12px 16px;background:var(--panel)}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(320px,1fr));gap:8px 24px}.plus{color:var(--good)}.minus{color:var(--bad)}
.d-cpu{--c:var(--cpu)}.d0{--c:var(--d0)}.d1{--c:var(--d1)}.d2{--c:var(--d2)}.d3{--c:var(--d3)}.d4{--c:var(--d4)}.d-none{--c:var(--none)}
.chip{display:inline-block;border-left:6px solid var(--c);background:var(--panel);border-radius:3px;padding:0 8px;margin:0 8px 4px 0}
.key{display:inline-block;width:26px;border-top:3px solid var(--k);margin:0 6px 4px 12px}.key.dash{border-top-style:dashed}
svg{display:block;font:13px system-ui,sans-serif}svg text{fill:var(--ink)}svg .soft{font-size:12px}
.lane line{stroke:var(--c);stroke-width:3;opacity:.55}.lane text{font-size:12px;fill:var(--c)}
.box rect{fill:var(--panel);stroke:var(--line)}.box .mark{fill:var(--c);stroke:none}.box.wrong rect:first-of-type{stroke:var(--bad);stroke-width:2.5;fill:var(--badbg)}
.flow{fill:none;stroke:var(--c);stroke-width:1.4;opacity:.8}
.move path{fill:none;stroke:var(--k);stroke-width:2.6}.move text{font-size:10px;fill:var(--k)}
.to-device,.between-devices{--k:var(--in)}.to-host{--k:var(--out)}.read{--k:var(--out)}.read path{stroke-dasharray:4 3}.mixed{--k:var(--bad)}.mixed path{stroke-width:3.5;stroke-dasharray:7 3}
#arrow path{fill:context-stroke}
"""

_MARKER = (
    '<svg width="0" height="0" aria-hidden="true"><defs><marker id="arrow" viewBox="0 0 8 8" '
    'refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" '
    'orient="auto"><path d="M0,0 L8,4 L0,8 z"/></marker></defs></svg>'
)

_LEGEND = (
    '<p class="soft"><span class="key to-device"></span>moved to a device'
    '<span class="key to-host"></span>moved to the host'
    '<span class="key dash read"></span>read, the host waits'
    '<span class="key dash mixed"></span>mixed devices'
    " &middot; thin lines to the right: tensors passed on, in their device's colour</p>"
).replace('class="key', 'style="border-top-color:var(--k)" class="key')


def page(result: Verification) -> str:
    drawing = Drawing(result)
    sections = [
        _head(result, drawing),
        _mixed(result.mixed) if result.mixed else "",
        _findings(result),
        f"<h2>Device flow</h2>{_LEGEND}<div class=scroll>{drawing.svg()}</div>",
        _checklist(result),
        _transfers(result),
        _modules(result, drawing),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(result.model)}: torchport verify</title><style>{_STYLE}</style></head>"
        f"<body>{_MARKER}<main>\n{''.join(sections)}\n</main></body></html>\n"
    )


def _head(result: Verification, drawing: Drawing) -> str:
    verdict = "verified" if result.ok else "not verified"
    chips = "".join(
        f'<span class="chip {drawing.color(d)}">{escape(d)}</span>' for d in result.devices
    )
    return (
        f"<h1>{escape(result.model)} on {escape(result.device)}</h1>"
        f'<p class="verdict {"ok" if result.ok else "bad"}" id="verdict">{verdict}</p>'
        f'<p class="soft">{result.operators} operators, torch {escape(result.torch)}, '
        f"{escape(autocast(result))}</p><p>{chips}</p>"
    )


def _place(line: Line | None) -> str:
    return f"<code>{escape(short(line))}</code>" if line else ""


def _side(side: Side) -> str:
    rows = [
        f"<p><b>{escape(side.name)}</b>: {escape(side.device)} {escape(side.dtype)} "
        f"{list(side.sizes)}, {escape(side.kind)}</p>"
    ]
    for what, step in (("made", side.made), ("last moved", side.moved)):
        if step is None:
            rows.append(f'<p class="soft">{what}: not during the run</p>')
            continue
        module = f" in {escape(step.module)}" if step.module else ""
        rows.append(f"<p>{what} by {escape(step.op)}{module} {_place(step.line)}</p>")
        if step.line and step.line.text:
            rows.append(f"<pre>{escape(step.line.text)}</pre>")
    return f"<div>{''.join(rows)}</div>"


def _mixed(mixed: Mixed) -> str:
    module = f" in {escape(mixed.module)}" if mixed.module else ""
    change = ""
    if mixed.fixed_line:
        old = mixed.fix_at.text if mixed.fix_at else ""
        change = (
            f"<p>{_place(mixed.fix_at)}</p><pre><span class=minus>- {escape(old)}</span>\n"
            f"<span class=plus>+ {escape(mixed.fixed_line)}</span></pre>"
        )
    text = f"<pre>{escape(mixed.line.text)}</pre>" if mixed.line and mixed.line.text else ""
    return (
        f'<h2>Mixed devices</h2><div class="panel" id="mixed"><p><b>{escape(mixed.op)}</b>{module} '
        f"{_place(mixed.line)}{' (backward pass)' if mixed.backward else ''}</p>{text}"
        f'<div class="sides">{_side(mixed.culprit)}{_side(mixed.other)}</div>'
        + (f"<p>pattern: <b>{escape(mixed.pattern)}</b></p>" if mixed.pattern else "")
        + f"<p>fix: {escape(mixed.fix)}</p>{change}"
        f'<p class="soft">torch said: {escape(mixed.message)}</p></div>'
    )


def _table(identity: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th>{h}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>\n" for row in rows)
    return f'<div class="scroll"><table id="{identity}"><tr>{head}</tr>\n{body}</table></div>'


def _findings(result: Verification) -> str:
    if not result.findings:
        return ""
    rows = [
        (
            f'<span class="{f.severity}">{f.severity}</span>',
            escape(f.message) + (f'<br><span class="soft">{escape(f.fix)}</span>' if f.fix else ""),
            _place(f.line),
            escape(f.code),
        )
        for f in result.findings
    ]
    return "<h2>Findings</h2>" + _table("findings", ("", "what", "where", "code"), rows)


def _checklist(result: Verification) -> str:
    rows = [
        (
            f'<b class="{ {"yes": "ok", "no": "bad"}.get(a.status, "soft") }">{a.status}</b>',
            escape(a.question),
            escape(a.seen) + (f'<br><span class="soft">{escape(a.fix)}</span>' if a.fix else ""),
        )
        for a in result.checklist
    ]
    return "<h2>Before deployment</h2>" + _table("checklist", ("", "question", "seen"), rows)


def _transfers(result: Verification) -> str:
    if not result.transfers:
        return ""
    rows = [
        (
            str(t.count),
            escape(t.kind),
            escape(t.op),
            escape(f"{t.source} → {t.target}"),
            size(t.bytes) if t.bytes else "",
            escape(t.module or result.model),
            _place(t.line),
        )
        for t in result.transfers[:200]
    ]
    heads = ("times", "what", "operator", "way", "bytes", "module", "where")
    return "<h2>Copies between devices, and reads</h2>" + _table("transfers", heads, rows)


def _chip(info: TensorInfo, drawing: Drawing) -> str:
    mark = "" if info.kind in ("parameter", "input", "output") else f" ({info.kind})"
    return (
        f'<span class="chip {drawing.color(info.device)}">{escape(info.name)}{mark} '
        f"{escape(info.device)} {escape(info.dtype)} {list(info.sizes)}</span>"
    )


def _modules(result: Verification, drawing: Drawing) -> str:
    def row(module: ModuleInfo) -> tuple[str, ...]:
        chips = "".join(_chip(info, drawing) for info in module.tensors[:40])
        gave = "".join(_chip(info, drawing) for info in module.outputs[:4])
        return (
            escape(module.name or result.model),
            escape(module.type),
            _place(module.called_at),
            str(module.calls),
            str(module.operators),
            chips,
            gave,
        )

    heads = ("module", "type", "called at", "calls", "ops", "holds", "gave")
    table = _table("modules", heads, (row(module) for module in result.modules[:600]))
    return f"<h2>Modules</h2><details><summary>{len(result.modules)} modules</summary>{table}</details>"

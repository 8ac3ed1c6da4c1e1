"""The results of a verification as values; the text, JSON and HTML reports use only these."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
Pattern = Literal["model/input", "parameter/buffer", "intermediate", "data loader"]

# Grows when a key is added; a key that is there keeps its name and its meaning within a number.
SCHEMA = 1
# The module of what ran outside of all modules.
OUTSIDE = "(outside the model)"


@dataclass(frozen=True)
class Line:
    """A place in the program. ``text`` is the source line; ``expression`` what of it ran."""

    file: str
    line: int
    function: str
    text: str = ""
    expression: str = ""
    column: int = 0  # of the expression within the text

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class TensorInfo:
    """A tensor that the model holds, was given or gave."""

    name: str
    kind: Literal["parameter", "buffer", "stray attribute", "input", "output", "intermediate"]
    device: str
    dtype: str
    sizes: tuple[int, ...]
    bytes: int
    requires_grad: bool = False


@dataclass(frozen=True)
class Amount:
    """Tensors made within a module, of one device and type."""

    device: str
    dtype: str
    count: int
    bytes: int


@dataclass
class ModuleInfo:
    """A module: what it holds, what it was given and gave in its first call, what it computed."""

    name: str
    type: str
    training: bool
    called_at: Line | None = None  # first
    calls: int = 0
    operators: int = 0
    tensors: list[TensorInfo] = field(default_factory=list)
    inputs: list[TensorInfo] = field(default_factory=list)
    outputs: list[TensorInfo] = field(default_factory=list)
    made: list[Amount] = field(default_factory=list)
    with_grad: int = 0
    with_autocast: int = 0


@dataclass(frozen=True)
class Step:
    """One call in the story of a tensor."""

    op: str
    kind: Literal["computed", "made", "moved", "read"]
    module: str
    line: Line | None
    source: str
    target: str


@dataclass(frozen=True)
class Side:
    """One of two tensors that met on different devices. ``origin`` is what its story begins with."""

    argument: str
    name: str
    kind: str
    device: str
    dtype: str
    sizes: tuple[int, ...]
    made: Step | None
    moved: Step | None
    origin: str
    story: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Mixed:
    """The first operator whose tensors were on several devices, and that raised an error for it."""

    op: str
    module: str
    line: Line | None
    backward: bool
    forward: Step | None
    culprit: Side
    other: Side
    pattern: Pattern | None
    fix: str
    fixed_line: str
    fix_at: Line | None
    message: str
    caught: bool


@dataclass(frozen=True)
class Transfer:
    """Copies between devices, or reads that the host waits for, at one line."""

    kind: Literal["to device", "to host", "between devices", "read"]
    op: str
    module: str
    line: Line | None
    source: str
    target: str
    waits: bool
    backward: bool
    count: int
    bytes: int


@dataclass(frozen=True)
class NotFinite:
    """The first operator that made a NaN, or an infinity, out of finite numbers."""

    what: Literal["NaN", "infinity"]
    op: str
    module: str
    line: Line | None
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Flow:
    """Tensors that one module made and another used."""

    source: str
    target: str
    device: str
    count: int
    bytes: int


@dataclass(frozen=True)
class Answer:
    """A question of the deployment checklist."""

    question: str
    status: Literal["yes", "no", "not applicable"]
    seen: str
    fix: str = ""


@dataclass(frozen=True)
class Finding:
    """Something to change or to know. Errors and warnings make a model not verified."""

    severity: Severity
    code: str
    message: str
    fix: str = ""
    line: Line | None = None


@dataclass
class Verification:
    """The outcome of :func:`torchport.verify`.

    ``ok`` is true if only notes were found. ``output`` is what the model returned, or None if it
    did not finish. ``str()`` is the text report; :meth:`to_dict` the JSON one, :meth:`html`
    a self-contained page.
    """

    model: str
    device: str
    purpose: Literal["inference", "training"]
    torch: str
    devices: list[str]
    autocast: list[str]
    operators: int
    unrecorded: int
    modules: list[ModuleInfo]
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    intermediates: list[dict[str, Any]]
    flows: list[Flow]
    transfers: list[Transfer]
    mixed: Mixed | None
    not_finite: list[NotFinite]
    checklist: list[Answer]
    findings: list[Finding]
    output: Any = field(default=None, repr=False)

    @property
    def ok(self) -> bool:
        return not any(f.severity in ("error", "warning") for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict for JSON; docs/verify.md describes the keys."""
        keys = [f.name for f in fields(self) if f.name != "output"]
        return {"schema": SCHEMA, "ok": self.ok} | {k: _plain(getattr(self, k)) for k in keys}

    def html(self) -> str:
        """The report as one self-contained page, with the flow between devices drawn."""
        from torchport.observe.html import page

        return page(self)

    def __str__(self) -> str:
        from torchport.observe.text import report

        return report(self)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value

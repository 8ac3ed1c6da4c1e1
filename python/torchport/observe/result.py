"""The results of a verification as values; the text, JSON and HTML reports use only these."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, is_dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
Pattern = Literal["model/input", "parameter/buffer", "intermediate", "data loader"]

# The version of the JSON report. It grows when a key is added. Within a version, keys keep their
# names and meanings.
SCHEMA = 1
# The module name for calls outside of all modules.
OUTSIDE = "(outside the model)"


@dataclass(frozen=True)
class Line:
    """A place in the program. ``text`` is the source line; ``expression`` is the part that ran."""

    file: str
    line: int
    function: str
    text: str = ""
    expression: str = ""
    column: int = 0  # the position of the expression in the text

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class TensorInfo:
    """A tensor that the model holds, gets or returns."""

    name: str
    kind: Literal["parameter", "buffer", "unregistered tensor", "input", "output", "intermediate"]
    device: str
    dtype: str
    sizes: tuple[int, ...]
    bytes: int
    requires_grad: bool = False


@dataclass(frozen=True)
class Amount:
    """The number and bytes of the tensors that a module made on one device with one dtype."""

    device: str
    dtype: str
    count: int
    bytes: int


@dataclass
class ModuleInfo:
    """A module: the tensors that it holds, the inputs and outputs of its first call, and the
    tensors that it computed."""

    name: str
    type: str
    training: bool
    called_at: Line | None = None  # the line of the first call
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
    """One call in the history of a tensor."""

    op: str
    kind: Literal["computed", "made", "moved", "read"]
    module: str
    line: Line | None
    source: str
    target: str


@dataclass(frozen=True)
class Side:
    """One of two tensors of an operator that are on different devices. ``origin`` says where it
    comes from."""

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
    """The first operator that raised an error because its tensors were on several devices."""

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
    tried: str = ""  # what came of the fixed line, or of what was tried in vain


@dataclass(frozen=True)
class Transfer:
    """The copies between devices, or the reads that the host waits for, of one kind at one line."""

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
    """The first operator that computed a NaN, or an infinity, from finite numbers."""

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
    """A problem or a remark. With an error, and by default with a warning, the model is not
    verified."""

    severity: Severity
    code: str
    message: str
    fix: str = ""
    line: Line | None = None


@dataclass
class Verification:
    """The outcome of :func:`torchport.verify`. Its text (``str()``) is the report for a terminal.

    Attributes:
        model: The type of the model.
        device: The device that most of the model is on, or "none".
        purpose: "inference" or "training".
        torch: The version of torch.
        devices: All devices that a tensor was on.
        autocast: The devices for which autocast was on, with its dtype: "cuda: float16".
        operators: The number of operators that ran.
        unrecorded: The number of operators that were only counted, because the run was long.
        modules: The modules with their tensors and their first calls.
        inputs: The tensors that the model got.
        outputs: The tensors that it returned.
        intermediates: The numbers and bytes of the tensors that each module made.
        flows: The tensors that one module made and another used.
        transfers: The copies between devices and the reads that the host waited for, by line.
        mixed: The first error because of tensors on several devices; None if there was none.
        not_finite: The first operators that made a NaN or an infinity.
        checklist: The answers to the deployment checklist.
        findings: The problems and remarks, most important first.
        output: The value that the model returned; None if it did not finish.
        fail_on: The least severe finding with which the model is not verified.
        ok: Whether the model is verified: no error, and no warning unless ``fail_on`` is "error".

    Example:
        >>> result = torchport.verify(torch.nn.Linear(2, 1), torch.ones(3, 2), evaluate=True)
        >>> result.ok, result.device, result.operators
        (True, 'cpu', 1)
        >>> [(one.name, one.kind, one.sizes) for one in result.modules[0].tensors]
        [('weight', 'parameter', (1, 2)), ('bias', 'parameter', (1,))]
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
    fail_on: Severity = "warning"

    @property
    def ok(self) -> bool:
        refused = ("error",) if self.fail_on == "error" else ("error", "warning")
        return not any(f.severity in refused for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Makes the report as a dict for JSON; docs/verify.md describes the keys.

        Returns:
            The dict, which holds only values that JSON has.
        """
        keys = [f.name for f in fields(self) if f.name != "output"]
        return {"schema": SCHEMA, "ok": self.ok} | {k: _plain(getattr(self, k)) for k in keys}

    def html(self) -> str:
        """Makes the report as one self-contained HTML page with the device flow graph.

        Returns:
            The page.
        """
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

"""The drawing of `verify`'s page: the model as nested boxes, with the moves in the box that did them.

Each module is a box within that of the module around it, so that the page folds and unfolds parts of
the model without a script. Only copies between devices, reads and mixed devices are drawn; tensors
that stay on their device are not. The template lays out and writes the boxes (`_pages/verify.html`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchport._quantities import counted, size
from torchport.observe.result import OUTSIDE, Line, ModuleInfo, TensorInfo, Transfer, Verification

_MOST_BOXES = (
    1500  # more do not help a reader; deeper modules are then counted in the box around them
)
_DEEPEST = 40  # as deep as boxes nest
_UNFOLDED = 64  # a model with more boxes is folded where nothing moves
_MOST_LINES = 3


@dataclass
class Move:
    """The copies or reads of one kind between the same two devices, done by one module."""

    kind: str
    source: str
    target: str
    count: int
    bytes: int
    lines: list[Line]
    more_lines: int
    backward: bool

    @property
    def style(self) -> str:
        """The CSS class of the kind."""
        return self.kind.replace(" ", "-")


@dataclass
class Box:
    """A module with the modules within it.

    ``label`` is its name relative to the box around it; ``detail`` says what it did and holds.
    ``device`` is where most of it is. ``wrong`` marks the module that got tensors on several devices.
    ``inside`` says in words what moves in the boxes within, for when they are folded.
    """

    name: str
    label: str
    type: str
    detail: str
    device: str
    moves: list[Move] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    wrong: bool = False
    open: bool = True
    inside: str = ""


def _depth(name: str) -> int:
    return name.count(".") + 1 if name else 0


def _around(name: str) -> str:
    return name.rpartition(".")[0]


def _ran(result: Verification) -> list[ModuleInfo]:
    return [m for m in result.modules if m.type and (m.calls or m.operators or m.tensors)]


def _drawn(result: Verification) -> set[str]:
    """The names of the modules to draw: all levels that fit, and the modules that move something."""
    ran = _ran(result)
    depths = Counter(_depth(m.name) for m in ran)
    deepest, total = 0, 0
    for depth in sorted(depths):
        total += depths[depth]
        if depth > 1 and (total > _MOST_BOXES or depth > _DEEPEST):
            break
        deepest = depth
    wanted = {m.name for m in ran if _depth(m.name) <= deepest} | {""}
    matter = [t.module for t in result.transfers[:8]]
    if result.mixed:
        matter.append(result.mixed.module)
    known = {m.name for m in ran if _depth(m.name) <= _DEEPEST}
    for name in matter:
        while name in known and name not in wanted:
            wanted.add(name)
            name = _around(name)
    return wanted


def _main_device(modules: list[ModuleInfo]) -> str:
    sizes: Counter[str] = Counter()
    for module in modules:
        for tensor in module.tensors:
            sizes[tensor.device] += tensor.bytes + 1
        for amount in module.made:
            sizes[amount.device] += amount.bytes + 1
    return sizes.most_common(1)[0][0] if sizes else "none"


def _moves(transfers: list[Transfer]) -> list[Move]:
    """One move for each kind, source and target, the most frequent first."""
    grouped: dict[tuple[str, str, str], list[Transfer]] = defaultdict(list)
    for t in transfers:
        grouped[t.kind, t.source, t.target].append(t)
    moves = []
    for (kind, source, target), every in grouped.items():
        lines = list(dict.fromkeys(t.line for t in every if t.line))
        moves.append(
            Move(
                kind,
                source,
                target,
                sum(t.count for t in every),
                sum(t.bytes for t in every),
                lines[:_MOST_LINES],
                len(lines[_MOST_LINES:]),
                all(t.backward for t in every),
            )
        )
    return sorted(moves, key=lambda move: -move.count)


def _in_words(moves: list[Move], wrong: bool) -> str:
    copies = sum(move.count for move in moves if move.kind != "read")
    reads = sum(move.count for move in moves if move.kind == "read")
    said = [
        counted(copies, "move") if copies else "",
        counted(reads, "read") if reads else "",
        "mixed devices" if wrong else "",
    ]
    return ", ".join(text for text in said if text)


class Drawing:
    """The boxes of one verification, and the colours of its devices."""

    def __init__(self, result: Verification):
        self._result = result
        self._devices = list(result.devices)
        for t in result.transfers:
            self._devices += [d for d in (t.source, t.target) if d not in self._devices]
        self._names = _drawn(result)
        self._moving: dict[str, list[Transfer]] = defaultdict(list)
        for t in result.transfers:
            self._moving[self._home(t.module)].append(t)
        self._wrong = self._home(result.mixed.module) if result.mixed else None
        self._folds = len(self._names) > _UNFOLDED
        self.model = self._tree()

    @property
    def outside(self) -> Box | None:
        """What moved outside of the model's modules; None if nothing did."""
        moves, wrong = _moves(self._moving.get(OUTSIDE, [])), self._wrong == OUTSIDE
        if not moves and not wrong:
            return None
        return Box(OUTSIDE, "outside the model", "", "", "none", moves, wrong=wrong)

    @property
    def inputs(self) -> list[TensorInfo]:
        """The first inputs of the model; more would push the model off the page."""
        return self._result.inputs[:6]

    @property
    def outputs(self) -> list[TensorInfo]:
        return self._result.outputs[:6]

    def color(self, device: str) -> str:
        """The CSS class for the colour of a device."""
        if device not in self._devices:
            return "d-none"
        if device == "cpu":
            return "d-cpu"
        return f"d{[d for d in self._devices if d != 'cpu'].index(device) % 5}"

    def _home(self, name: str) -> str:
        """The box for what a module did: its own, or that of the nearest module around it."""
        if name.startswith("("):  # not a module of the model
            return OUTSIDE
        while name not in self._names:
            name = _around(name)
        return name

    def _tree(self) -> Box:
        parts: dict[str, list[ModuleInfo]] = defaultdict(list)
        within: dict[str, list[ModuleInfo]] = defaultdict(list)
        for module in _ran(self._result):
            parts[self._home(module.name)].append(module)
        for module in self._result.modules:
            if module.type:
                for name in self._homes(self._home(module.name)):
                    within[name].append(module)
        boxes: dict[str, Box] = {}
        types = {module.name: module.type for module in self._result.modules}
        for name in [m.name for m in self._result.modules if m.name in self._names and m.name]:
            boxes[name] = self._box(name, types[name], parts[name], within[name])
        root = self._box("", types.get("", ""), parts[""], within[""])
        for name, box in boxes.items():
            boxes.get(self._home(_around(name)), root).boxes.append(box)
        self._fold(root, 0)
        return root

    def _homes(self, name: str) -> Iterator[str]:
        """A drawn module and all drawn modules around it."""
        yield name
        while name:
            name = self._home(_around(name))
            yield name

    def _box(
        self, name: str, type_name: str, parts: list[ModuleInfo], within: list[ModuleInfo]
    ) -> Box:
        operators = sum(part.operators for part in parts)
        held = sum(tensor.bytes for part in parts for tensor in part.tensors)
        merged = sum(part.name != name for part in parts)
        said = [
            counted(operators, "op") if operators else "",
            size(held) if held else "",
            f"and {counted(merged, 'module')} within" if merged else "",
        ]
        around = self._home(_around(name)) if name else ""
        return Box(
            name,
            (name[len(around) + 1 :] if around else name) or self._result.model,
            type_name if name else "",
            ", ".join(text for text in said if text),
            _main_device(within),
            _moves(self._moving.get(name, [])),
            wrong=self._wrong == name,
        )

    def _fold(self, box: Box, depth: int) -> tuple[list[Move], bool]:
        """Decides which boxes are open, and returns what moves in this box and within it."""
        moves, wrong = [], False
        for inner in box.boxes:
            some, bad = self._fold(inner, depth + 1)
            moves += some
            wrong = wrong or bad
        box.inside = _in_words(moves, wrong)
        box.open = depth == 0 or not self._folds or bool(box.inside or box.moves or box.wrong)
        return moves + box.moves, wrong or box.wrong

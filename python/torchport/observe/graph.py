"""Draws the device flow graph as an SVG without a script.

Each module is a box. The boxes stand below each other in the model's order, and nested modules are
indented. On the left, each device has a vertical line: the arrow of a move or a read connects the
line of a device with the module that did it. On the right, arrows connect the module that made
tensors with the module that used them, in the colour of the tensors' device.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from torchport._quantities import counted, size
from torchport.observe.result import ModuleInfo, Transfer, Verification

_MOST_BOXES = 48
_GAP = 10
_HEIGHT = 30  # height of a box without moves
_MOVE = 17  # height of a move in its box
_INDENT = 16
_LANE = 26
_BOX = 420
_TOP = 44
_ARCS = 210


@dataclass
class Box:
    """One box: a module, several modules drawn as one, or an input or output of the model."""

    name: str
    title: str
    detail: str
    depth: int
    device: str
    row: int = 0
    y: float = 0
    height: float = _HEIGHT


def _depth(name: str) -> int:
    return name.count(".") + 1 if name else 0


def _visible(result: Verification) -> set[str]:
    """The modules to draw: all levels that fit, and all modules with a problem."""
    ran = [m for m in result.modules if m.type and (m.calls or m.operators or m.tensors)]
    depths = Counter(_depth(m.name) for m in ran)
    deepest, total = 0, 0
    for depth in sorted(depths):
        total += depths[depth]
        if total > _MOST_BOXES and depth > 1:
            break
        deepest = depth
    wanted = {m.name for m in ran if _depth(m.name) <= deepest}
    matter = [t.module for t in result.transfers[:8]]
    if result.mixed:
        matter.append(result.mixed.module)
    known = {m.name for m in ran}
    for name in matter:
        while name in known and name not in wanted:
            wanted.add(name)
            name = name.rpartition(".")[0]
    return wanted


def _nearest(name: str, visible: set[str]) -> str | None:
    while name not in visible:
        if not name:
            return None
        name = name.rpartition(".")[0]
    return name


def _is_within(name: str, parent: str) -> bool:
    return not parent or name == parent or name.startswith(parent + ".")


def _main_device(modules: list[ModuleInfo]) -> str:
    sizes: Counter[str] = Counter()
    for module in modules:
        for tensor in module.tensors:
            sizes[tensor.device] += tensor.bytes + 1
        for amount in module.made:
            sizes[amount.device] += amount.bytes + 1
    return sizes.most_common(1)[0][0] if sizes else "none"


def _boxes(result: Verification, visible: set[str]) -> list[Box]:
    groups: dict[str, list[ModuleInfo]] = defaultdict(list)
    for module in result.modules:
        home = _nearest(module.name, visible) if module.type else None
        if home is not None:
            groups[home].append(module)
    boxes = [
        Box(f"<{i.name}>", f"input {i.name}", f"{i.dtype} {list(i.sizes) or 'scalar'}", 0, i.device)
        for i in result.inputs[:6]
    ]
    for module in result.modules:
        if not module.type or module.name not in visible:
            continue
        parts = [m for m in groups[module.name] if m.calls or m.operators or m.tensors]
        title = _title(module.name, module.type, visible) if module.name else result.model
        operators = sum(part.operators for part in parts)
        held = sum(tensor.bytes for part in parts for tensor in part.tensors)
        detail = ", ".join(
            text
            for text in (
                counted(operators, "op") if operators else "",
                size(held) if held else "",
                f"+{counted(len(parts) - 1, 'module')}" if len(parts) > 1 else "",
            )
            if text
        )
        within = [m for m in result.modules if m.type and _is_within(m.name, module.name)]
        boxes.append(Box(module.name, title, detail, _depth(module.name), _main_device(within)))
    boxes += [
        Box(f"<{o.name}>", o.name, f"{o.dtype} {list(o.sizes) or 'scalar'}", 0, o.device)
        for o in result.outputs[:4]
    ]
    for row, box in enumerate(boxes):
        box.row = row
    return boxes


def _title(name: str, type_name: str, drawn: set[str]) -> str:
    """The name of a module, relative to the drawn module around it, and its type."""
    parent = name.rpartition(".")[0]
    while parent and parent not in drawn:
        parent = parent.rpartition(".")[0]
    own = name[len(parent) + 1 :] if parent else name
    return f"{own}: {type_name}"


class Drawing:
    """One graph, in SVG."""

    def __init__(self, result: Verification):
        self._result = result
        self._visible = _visible(result)
        self._boxes = _boxes(result, self._visible)
        self._of = {box.name: box for box in self._boxes}
        self._devices = list(result.devices)
        for t in result.transfers:
            self._devices += [d for d in (t.source, t.target) if d not in self._devices]
        if result.transfers and "cpu" not in self._devices:
            self._devices.insert(0, "cpu")
        self._moving = self._grouped_moves()
        y = float(_TOP)
        for box in self._boxes:
            moves = len(self._moving.get(box.name, {})) + (box is self._wrong())
            box.y, box.height = y, max(_HEIGHT, _MOVE * moves + 10)
            y += box.height + _GAP
        self._bottom = y
        self._left = 24 + _LANE * len(self._devices) + 70

    def color(self, device: str) -> str:
        """The CSS class for the colour of a device."""
        if device not in self._devices:
            return "d-none"
        return "d-cpu" if device == "cpu" else f"d{self._number(device) % 5}"

    def _number(self, device: str) -> int:
        return [d for d in self._devices if d != "cpu"].index(device)

    def _lane(self, device: str) -> float:
        return 24 + _LANE * self._devices.index(device)

    def _middle(self, box: Box) -> float:
        return box.y + box.height / 2

    def _wrong(self) -> Box | None:
        """The box of the module that got tensors on several devices."""
        mixed = self._result.mixed
        home = _nearest(mixed.module, self._visible) if mixed is not None else None
        return self._of.get(home) if home is not None else None

    def _grouped_moves(self) -> dict[str, dict[tuple[str, str, str], list[Transfer]]]:
        """The transfers by the box that did them, and by kind, source and target."""
        grouped: dict[str, dict[tuple[str, str, str], list[Transfer]]] = {}
        for t in self._result.transfers:
            home = _nearest(t.module, self._visible)
            if home is not None:
                ways = grouped.setdefault(home, {})
                ways.setdefault((t.kind, t.source, t.target), []).append(t)
        return grouped

    def _x(self, box: Box) -> float:
        return self._left + box.depth * _INDENT

    def _right(self) -> float:
        deepest = max((box.depth for box in self._boxes), default=0)
        return self._left + deepest * _INDENT + _BOX

    def svg(self) -> Markup:
        width = self._right() + _ARCS
        height = self._bottom + 6
        parts = [
            f'<svg id="graph" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" role="img" '
            'aria-label="Modules and the tensors that move between devices">',
            *self._lanes(height),
            *self._flows(),
            *(self._box(box) for box in self._boxes),
            *self._moves(),
            self._mixed(),
            "</svg>",
        ]
        return Markup("\n".join(part for part in parts if part))

    def _lanes(self, height: float) -> list[str]:
        drawn = []
        for device in self._devices:
            x = self._lane(device)
            drawn.append(
                f'<g class="lane {self.color(device)}"><line x1="{x}" y1="{_TOP - 6}" x2="{x}" '
                f'y2="{height - 8}"/><text x="{x - 4}" y="{_TOP - 12}" '
                f'transform="rotate(-35 {x - 4} {_TOP - 12})">{escape(device)}</text></g>'
            )
        return drawn

    def _box(self, box: Box) -> str:
        wrong = " wrong" if box is self._wrong() else ""
        x, y = self._x(box), box.y
        width = self._right() - x
        detail = _cut(box.detail, 34)
        title = _cut(box.title, int((width - 34 - 6.6 * len(detail)) / 7.4))
        name = box.name.strip("<>") or self._result.model
        return (
            f'<g class="box {self.color(box.device)}{wrong}">'
            f"<title>{escape(name)}: {escape(box.device)}</title>"
            f'<rect x="{x}" y="{y}" width="{width}" height="{box.height}" rx="5"/>'
            f'<rect class="mark" x="{x}" y="{y}" width="6" height="{box.height}" rx="2"/>'
            f'<text x="{x + 14}" y="{y + 19}">{escape(title)}</text>'
            f'<text class="soft" x="{x + width - 8}" y="{y + 19}" text-anchor="end">'
            f"{escape(detail)}</text></g>"
        )

    def _flows(self) -> list[str]:
        sums: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
        for flow in self._result.flows:
            ends = [_nearest(name, self._visible) for name in (flow.source, flow.target)]
            if None not in ends and ends[0] != ends[1]:
                total = sums[(ends[0], ends[1], flow.device)]  # type: ignore[index]
                total[0] += flow.count
                total[1] += flow.bytes
        drawn = []
        for (source, target, device), (count, amount) in sums.items():
            start, end = self._of[source], self._of[target]
            y1, y2, x = self._middle(start) + 5, self._middle(end) - 5, self._right()
            bend = x + min(_ARCS - 20, 16 + abs(end.row - start.row) * 7)
            names = [name or self._result.model for name in (source, target)]
            drawn.append(
                f'<path class="flow {self.color(device)}" d="M{x},{y1} C{bend},{y1} {bend},{y2} '
                f'{x + 7},{y2}" marker-end="url(#arrow)"><title>{escape(names[0])} to '
                f"{escape(names[1])}: {count} tensors, {size(amount)} on {escape(device)}</title>"
                "</path>"
            )
        return drawn

    def _moves(self) -> list[str]:
        return [
            self._move(self._of[home], number, way, transfers)
            for home, ways in self._moving.items()
            for number, (way, transfers) in enumerate(ways.items())
        ]

    def _move(
        self, box: Box, number: int, way: tuple[str, str, str], transfers: list[Transfer]
    ) -> str:
        kind, source, target = way
        y = box.y + 14 + _MOVE * number
        inward = kind in ("to device", "between devices")
        x1, x2 = self._lane(source if inward else target), self._x(box) - 4
        ends = f"M{x1},{y} H{x2}" if inward else f"M{x2},{y} H{x1}"
        count = sum(t.count for t in transfers)
        amount = sum(t.bytes for t in transfers)
        lines = ", ".join(sorted({str(t.line) for t in transfers if t.line})[:3])
        told = f"{kind}, {source} to {target}, {count} times" + (
            f", {size(amount)}" if amount else ""
        )
        return (
            f'<g class="move {kind.replace(" ", "-")}"><title>{escape(told)} ({escape(lines)})'
            f'</title><path d="{ends}" marker-end="url(#arrow)"/>'
            f'<text x="{x2 - 8}" y="{y - 3}" text-anchor="end">{count}x</text></g>'
        )

    def _mixed(self) -> str:
        mixed, box = self._result.mixed, self._wrong()
        if mixed is None or box is None or mixed.culprit.device not in self._devices:
            return ""
        y = box.y + 14 + _MOVE * len(self._moving.get(box.name, {}))
        x1, x2 = self._lane(mixed.culprit.device), self._x(box) - 4
        told = f"{mixed.culprit.name} on {mixed.culprit.device}"
        return (
            f'<g class="move mixed"><title>mixed devices: {escape(told)}</title>'
            f'<path d="M{x1},{y} H{x2}" marker-end="url(#arrow)"/>'
            f'<text x="{x2 - 8}" y="{y - 3}" text-anchor="end">'
            f"{escape(_cut(mixed.culprit.name, 14))}</text></g>"
        )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: max(1, longest - 1)] + "…"

"""Where a number goes that a line of a program reads, as far as the file's source says: whether it is only told
(printed, logged, averaged), or may decide what the program does.

Names stand for all variables, attributes and functions of the file that have the name. What is not understood is
taken as a use that matters.
"""

from __future__ import annotations

import ast
import enum
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchport.virtual.without_data import texts
from torchport.virtual.without_data.known_calls import (
    KEPT,
    MAKERS,
    PICKS,
    SIZED,
    called,
    counters,
    imported,
    is_passed_on,
    is_told,
    may_stop,
    saves,
)

_READS = {"int", "float", "bool", "item", "tolist", "any", "all", "max", "min", "sorted", "round"}
_DECIDES = (ast.Compare, ast.BoolOp, ast.IfExp)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# What an array is whatever its values are.
_OF_SHAPE = {"shape", "ndim", "dtype", "device", "nbytes"}
_MAKE_ARRAYS = {"numpy", "array", "asarray", "__array__"}
_BLOCKS = {"body", "orelse", "finalbody", "handlers", "cases"}


class Matters(enum.Enum):
    """Whether a number may decide what the program does."""

    NO = enum.auto()
    ENDS = enum.auto()  # no more than when a loop ends
    YES = enum.auto()


class _MattersError(Exception):
    """The number may decide what the program does."""


def _header(statement: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement but for the statements in it."""
    for name, value in ast.iter_fields(statement):
        if name in _BLOCKS and not isinstance(statement, ast.expr):
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                yield one


def _ends(statement: ast.stmt) -> int:
    inner = [
        getattr(node, "end_lineno", 0) or 0
        for part in _header(statement)
        for node in ast.walk(part)
    ]
    return max([statement.lineno, *inner])


def _only_tells(statements: Iterable[ast.stmt]) -> bool:
    """Whether statements but check and tell: what follows is the same with and without them."""
    for one in statements:
        if isinstance(one, (ast.Raise, ast.Pass, ast.Assert)):
            continue
        if not (isinstance(one, ast.Expr) and isinstance(one.value, (ast.Call, ast.Constant))):
            return False
        if isinstance(one.value, ast.Call) and not (is_told(one.value) or saves(one.value)):
            return False
    return True


class _Flow:
    """Where a number goes from one statement, by names. An array goes on through functions that are not known: what
    decides is a number of it."""

    def __init__(self, tree: ast.Module, start: ast.stmt, how: str) -> None:
        self.names: set[str] = set()
        self.texts: set[str] = set()  # names of texts that show the number
        self.is_condition = how == "condition"
        self.is_array = how == "array"
        self.is_cut = False  # the array's size hangs on its values
        self.is_picked = (
            False  # some of several numbers were chosen by their values: how many is not known
        )
        self.ends = False  # it decides when a loop ends
        self.start = start
        self.found = False  # what reads the number is in the first statement
        self.statements = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
        self.functions = {
            one.name: one
            for one in self.statements
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self.imported = imported(self.statements)
        self.counters = counters(self.statements)
        self.owners = {
            id(inner): one.name for one in self.functions.values() for inner in ast.walk(one)
        }

    def follow(self) -> None:
        before = None
        while before != (now := (len(self.names), len(self.texts), self.is_cut, self.is_picked)):
            before = now
            for statement in self.statements:
                self.judge(statement)

    def judge(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assert)):
            return
        first = statement is self.start
        try:
            texts.follow(self, statement, _header(statement), first)
        except texts.DecidesError:
            raise _MattersError from None
        goes = [part for part in _header(statement) if self.has(part, first)]
        if not goes or isinstance(statement, ast.Raise):
            return
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if statement.value in goes:
                self.taint(targets)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self.taint([statement.target])
            self.repeats(statement.body)
        elif isinstance(statement, ast.If):
            self.under(statement)
        elif isinstance(statement, ast.Return):
            self.returns(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)) and self.is_array:
            self.taint([one.optional_vars for one in statement.items if one.optional_vars])
        elif not isinstance(statement, (ast.Expr, ast.Delete)):
            raise _MattersError

    def under(self, condition: ast.If) -> None:
        """What a branch may do: tell, save tensors to a file, end a loop, and set variables to one number each:
        constants, counters of loops, what was compared. Where these variables go is followed."""
        compared = {
            ast.dump(one)
            for node in ast.walk(condition.test)
            if isinstance(node, ast.Compare)
            for one in [node.left, *node.comparators]
        }
        for one in [*condition.body, *condition.orelse]:
            if isinstance(one, ast.If):
                self.under(one)
            elif isinstance(one, (ast.Assign, ast.AugAssign)):
                if not self.is_number(one.value, compared):
                    raise _MattersError
                self.taint(one.targets if isinstance(one, ast.Assign) else [one.target])
            elif isinstance(one, ast.Break):
                self.ends = True
            elif isinstance(one, ast.Return) and self.is_number(one.value, compared):
                self.returns(one)
            elif not _only_tells([one]):
                raise _MattersError

    def is_number(self, value: ast.AST | None, compared: set[str]) -> bool:
        """Whether a value is a number or a text, or some in a list."""
        if isinstance(value, (ast.Constant, ast.JoinedStr)):
            return True
        if isinstance(value, (ast.Tuple, ast.List)):
            return all(self.is_number(one, compared) for one in value.elts)
        if isinstance(value, ast.BinOp):
            return self.is_number(value.left, compared) and self.is_number(value.right, compared)
        if isinstance(value, ast.UnaryOp):
            return self.is_number(value.operand, compared)
        if isinstance(value, ast.Name) and value.id in self.counters:
            return True
        return value is not None and ast.dump(value) in compared

    def returns(self, statement: ast.Return) -> None:
        name = self.owners.get(id(statement), "")
        calls = [
            node
            for one in self.statements
            for part in _header(one)
            for node in ast.walk(part)
            if isinstance(node, ast.Call) and called(node) == name
        ]
        if not name or not calls:  # another file may use it
            if self.is_array:
                return
            raise _MattersError
        self.names.add(name)

    def taint(self, targets: Iterable[ast.AST]) -> None:
        for target in targets:
            if isinstance(target, (ast.Tuple, ast.List)):
                self.taint(target.elts)
            elif isinstance(target, ast.Name):
                self.names.add(target.id)
            elif isinstance(target, ast.Attribute):
                self.names.add(target.attr)
            elif isinstance(target, (ast.Subscript, ast.Starred)):
                self.taint([target.value])

    def has(self, node: ast.AST, first: bool) -> bool:
        """Whether the number is in an expression's value."""
        if isinstance(node, ast.Name):
            return node.id in self.names
        if isinstance(node, ast.Call):
            return self.of_call(node, first)
        parts = [self.has(part, first) for part in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Attribute):
            if node.attr in _OF_SHAPE and not self.is_chosen():
                return False
            return node.attr in self.names or any(parts)
        if isinstance(node, _COMPREHENSIONS):
            self.picks(node, first)
        if isinstance(node, ast.Compare):
            parts.append(
                any([texts.is_text(self, one, first) for one in ast.iter_child_nodes(node)])
            )
        if isinstance(node, _DECIDES) or (
            isinstance(node, _COMPREHENSIONS) and any(one.ifs for one in node.generators)
        ):
            return self.of_decision(node, first, parts)
        if isinstance(node, ast.Subscript) and self.has(node.slice, first):
            is_other = not self.has(node.value, first)
            if not self.is_array or (
                is_other and (self.is_picked or isinstance(node.slice, ast.Slice))
            ):
                raise _MattersError
            self.is_cut = True
        leaves = isinstance(node, (ast.Yield, ast.YieldFrom, ast.Lambda)) and any(parts)
        if leaves and not self.is_array:
            raise _MattersError
        if isinstance(node, ast.BinOp) and any(parts):
            return self.of_arithmetic(node)
        if isinstance(node, ast.comprehension) and parts[1]:
            self.taint([node.target])
        if isinstance(node, ast.NamedExpr) and parts[1]:
            self.taint([node.target])
        return any(parts) and not isinstance(node, ast.JoinedStr)

    def is_chosen(self) -> bool:
        """Whether how many numbers there are hangs on their values."""
        return self.is_cut or self.is_picked

    def picks(self, node: ast.AST, first: bool) -> None:
        """Of a comprehension: whether values decide how many it has, and whether it does something for each."""
        assert isinstance(node, _COMPREHENSIONS)
        conditions = [one for part in node.generators for one in part.ifs]
        by_value = any([self.has(one, first) for one in conditions])
        if by_value or (conditions and first and self.is_condition):
            self.is_picked = True
        value = node.key if isinstance(node, ast.DictComp) else node.elt
        if isinstance(node, (ast.SetComp, ast.DictComp)) and self.has(value, first):
            self.is_picked = True
        if any([self.has(part.iter, first) for part in node.generators]):
            values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            self.repeats(values)

    def repeats(self, body: Iterable[ast.AST]) -> None:
        """What is done once for each of some numbers, where values decide how many there are."""
        if not self.is_picked:
            return
        for node in (inner for one in body for inner in ast.walk(one)):
            if not isinstance(node, ast.Call) or is_told(node) or is_passed_on(node):
                continue
            if saves(node) or called(node) in KEPT or called(node) in (_READS | {"len"}):
                continue
            raise _MattersError

    def of_decision(self, node: ast.AST, first: bool, parts: list[bool]) -> bool:
        if not (first or any(parts)):
            return False
        self.found = True
        if isinstance(node, ast.Compare) or self.is_array:
            return True
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        if any(not (is_told(one) or is_passed_on(one) or called(one) in _READS) for one in calls):
            raise _MattersError
        return True

    @staticmethod
    def of_arithmetic(node: ast.BinOp) -> bool:
        if isinstance(node.op, ast.Mult) and isinstance(node.left, (ast.List, ast.Tuple)):
            raise _MattersError
        text = isinstance(node.left, (ast.JoinedStr, ast.Constant)) and not (
            isinstance(node.left, ast.Constant) and not isinstance(node.left.value, str)
        )
        return not (isinstance(node.op, ast.Mod) and text)

    def of_call(self, call: ast.Call, first: bool) -> bool:
        name = called(call)
        own = self.has(call.func, first)
        values = [*call.args, *(one.value for one in call.keywords)]
        given = [self.has(one, first) for one in values]
        if is_told(call):
            self.found = True
            return False
        if own and not self.is_array and self.is_chosen_function(call):
            raise _MattersError
        if first and name in (_MAKE_ARRAYS if self.is_array else _READS):
            self.found = True
            return True
        if texts.is_read_again(self, call, first):
            return True
        if name == "len":
            return self.is_chosen() and any(given)
        if name in PICKS and any(given):
            self.is_picked = True
        if name in KEPT and isinstance(call.func, ast.Attribute):
            if any(given):
                self.taint([call.func.value])
            return own
        if any(given) and not is_passed_on(call) and name not in self.names:
            return self.of_unknown(call, name)
        if self.is_array and self.is_chosen() and name in MAKERS and (own or any(given)):
            raise _MattersError
        return own or any(given)

    def is_chosen_function(self, call: ast.Call) -> bool:
        """Whether the number chose what is called: `(a if v > 0 else b)(x)`, `f = table.get(v)` and `f(x)`."""
        if isinstance(call.func, (ast.Call, ast.IfExp, ast.Subscript)):
            return True
        if not isinstance(call.func, ast.Name) or is_passed_on(call) or may_stop(call):
            return False
        return call.func.id not in (self.functions.keys() | self.imported | _READS)

    def of_unknown(self, call: ast.Call, name: str) -> bool:
        """Of a function that is given the number, and whose name says nothing."""
        if asked := may_stop(call):
            self.names.add(asked)
            return True
        if self.is_array and (name in SIZED or (self.is_chosen() and name in MAKERS)):
            raise _MattersError
        if name not in self.functions or (
            isinstance(call.func, ast.Attribute) and not self.is_array
        ):
            if not self.is_array:
                raise _MattersError
            return True
        taken = self.functions[name].args
        self.names.update(one.arg for one in [*taken.args, *taken.kwonlyargs] if one.arg != "self")
        return False


@functools.cache
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def matters(how: str, file: str, line: int) -> Matters:
    """Whether a number that a line reads may decide what the program does. `how` it is read: for a "condition", as a
    "number", as a "size", many of them as an "array"."""
    tree = _tree(file)
    if tree is None or how == "size":
        return Matters.YES
    around = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.stmt) and one.lineno <= line <= _ends(one)
    ]
    innermost = max((one.lineno for one in around), default=0)
    starts = [one for one in around if one.lineno == innermost]
    answers = [_goes_on(how, tree, one) for one in starts]
    for worst in (Matters.YES, Matters.ENDS, Matters.NO):
        if worst in answers:
            return worst
    return Matters.YES


def _goes_on(how: str, tree: ast.Module, start: ast.stmt) -> Matters | None:
    """Whether what a statement reads may decide; none if it is not known to read anything."""
    if isinstance(start, (ast.Assert, ast.Raise)):
        return Matters.NO
    if how == "condition" and isinstance(start, (ast.While, ast.For)):
        return Matters.YES
    flow = _Flow(tree, start, how)
    try:
        if how == "condition" and isinstance(start, ast.If):
            flow.under(start)
            flow.found = True
        else:
            flow.judge(start)
        if how == "condition" and isinstance(start, ast.Return):
            flow.returns(start)
        flow.follow()
    except (_MattersError, RecursionError):
        return Matters.YES
    if flow.ends:
        return Matters.ENDS
    return Matters.NO if flow.found else None

"""Where a number goes that a line of a program reads, as far as the file's source says: whether it is only told
(printed, logged, averaged), or may decide what the program does.

Names stand for all variables, attributes and functions of the file that have the name. What is not understood is
taken as a use that matters.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

_TOLD = {
    *("print", "warn", "info", "debug", "warning", "error", "critical", "exception", "write"),
    *("log", "log_dict", "log_metrics", "add_scalar", "add_scalars", "set_postfix"),
    *("set_description", "set_postfix_str", "set_description_str", "format", "str", "repr"),
    *("exit", "_exit", "abort", "dump", "dumps", "isinstance", "flush"),
}
_PASSED_ON = {
    *("int", "float", "bool", "complex", "round", "abs", "sum", "min", "max", "len", "sorted"),
    *("list", "tuple", "dict", "set", "zip", "enumerate", "reversed", "iter", "next", "pow"),
    *("mean", "median", "std", "var", "sqrt", "exp", "log2", "log10", "log1p", "fmean", "array"),
    *("asarray", "isnan", "isfinite", "isinf", "Counter", "any", "all", "divmod", "argmax"),
    *("average", "nanmean", "percentile", "cumsum", "ceil", "floor", "min", "max", "item"),
}
_KEPT = {"append", "extend", "update", "add", "insert", "setdefault", "appendleft", "put"}
_READS = {"int", "float", "bool", "item", "tolist", "any", "all", "max", "min", "sorted", "round"}
_DECIDES = (ast.Compare, ast.BoolOp, ast.IfExp)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BLOCKS = {"body", "orelse", "finalbody", "handlers", "cases"}


class _MattersError(Exception):
    """The number may decide what the program does."""


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


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
        if isinstance(one.value, ast.Call) and _called(one.value) not in _TOLD:
            return False
    return True


def _saves(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) == "torch.save"


class _Flow:
    """Where a number goes from one statement, by names."""

    def __init__(self, tree: ast.Module, start: ast.stmt) -> None:
        self.names: set[str] = set()
        self.start = start
        self.found = False  # what reads the number is in the first statement
        self.statements = [one for one in ast.walk(tree) if isinstance(one, ast.stmt)]
        self.functions = {
            one.name: one
            for one in self.statements
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        self.owners = {
            id(inner): one.name for one in self.functions.values() for inner in ast.walk(one)
        }

    def follow(self) -> None:
        before = -1
        while before != len(self.names):
            before = len(self.names)
            for statement in self.statements:
                self.judge(statement)

    def judge(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assert)):
            return
        first = statement is self.start
        goes = [part for part in _header(statement) if self.has(part, first)]
        if not goes or isinstance(statement, ast.Raise):
            return
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if statement.value in goes:
                self.taint(targets)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self.taint([statement.target])
        elif isinstance(statement, ast.If):
            self.under(statement)
        elif isinstance(statement, ast.Return):
            self.returns(statement)
        elif not isinstance(statement, (ast.Expr, ast.Delete)):
            raise _MattersError

    def under(self, condition: ast.If) -> None:
        """What a branch may do: tell, save tensors to a file, and set variables to constants or to what was compared,
        which are one number each. Where these variables go is followed."""
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
                if not isinstance(one.value, ast.Constant) and ast.dump(one.value) not in compared:
                    raise _MattersError
                self.taint(one.targets if isinstance(one, ast.Assign) else [one.target])
            elif not (_only_tells([one]) or _saves(one)):
                raise _MattersError

    def returns(self, statement: ast.Return) -> None:
        name = self.owners.get(id(statement), "")
        calls = [
            node
            for one in self.statements
            for part in _header(one)
            for node in ast.walk(part)
            if isinstance(node, ast.Call) and _called(node) == name
        ]
        if not name or not calls:  # another file may use it
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
            return node.attr in self.names or any(parts)
        if isinstance(node, _DECIDES) or (
            isinstance(node, _COMPREHENSIONS) and any(one.ifs for one in node.generators)
        ):
            return self.of_decision(node, first, parts)
        if isinstance(node, ast.Subscript) and self.has(node.slice, first):
            raise _MattersError
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Lambda)) and any(parts):
            raise _MattersError
        if isinstance(node, ast.BinOp) and any(parts):
            return self.of_arithmetic(node)
        if isinstance(node, ast.comprehension) and parts[1]:
            self.taint([node.target])
        if isinstance(node, ast.NamedExpr) and parts[1]:
            self.taint([node.target])
        return any(parts) and not isinstance(node, ast.JoinedStr)

    def of_decision(self, node: ast.AST, first: bool, parts: list[bool]) -> bool:
        if not (first or any(parts)):
            return False
        self.found = True
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        if not isinstance(node, ast.Compare) and any(
            _called(one) not in _TOLD | _PASSED_ON | _READS for one in calls
        ):
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
        name = _called(call)
        own = self.has(call.func, first)
        values = [*call.args, *(one.value for one in call.keywords)]
        given = [self.has(one, first) for one in values]
        if name in _TOLD:
            self.found = True
            return False
        if first and name in _READS:
            self.found = True
            return True
        if name in _KEPT and isinstance(call.func, ast.Attribute):
            if any(given):
                self.taint([call.func.value])
            return own
        if any(given) and name not in _PASSED_ON and name not in self.names:
            if name not in self.functions or isinstance(call.func, ast.Attribute):
                raise _MattersError
            taken = self.functions[name].args
            self.names.update(one.arg for one in [*taken.args, *taken.kwonlyargs])
            return False
        return own or any(given)


@functools.cache
def _tree(file: str) -> ast.Module | None:
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def matters(how: str, file: str, line: int) -> bool:
    """Whether a number that a line reads may decide what the program does. `how` it is read: for a "condition", as a
    "number", as a "size"."""
    tree = _tree(file)
    if tree is None or how == "size":
        return True
    around = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.stmt) and one.lineno <= line <= _ends(one)
    ]
    innermost = max((one.lineno for one in around), default=0)
    starts = [one for one in around if one.lineno == innermost]
    answers = [_goes_on(how, tree, one) for one in starts]
    return True in answers or False not in answers


def _goes_on(how: str, tree: ast.Module, start: ast.stmt) -> bool | None:
    """Whether what a statement reads may decide; none if it is not known to read anything."""
    if isinstance(start, (ast.Assert, ast.Raise)):
        return False
    if how == "condition" and isinstance(start, (ast.While, ast.For)):
        return True
    flow = _Flow(tree, start)
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
        return True
    return False if flow.found else None

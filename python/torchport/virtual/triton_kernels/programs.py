"""A kernel's source as a Python function that runs one program of a launch.

The differences between Triton's language and Python are few. An assigned number becomes a tensor, so does
the variable of a loop that is not unrolled; `min`, `max`, `print` and `assert` are the language's; and
`and`, `or`, `not` work on tensors. Lines stay where they are in the user's file.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from torchport.virtual.triton_kernels import errors

_PREFIX = "__torchport_"


class Language:
    """What a rewritten kernel calls; `language` fills it."""

    def __init__(
        self, helpers: dict[str, Callable[..., Any]], replacements: dict[int, Any], constexpr: Any
    ) -> None:
        self.helpers = helpers  # by name: value, and_, or_, not_, check, plain, type_of
        self.replacements = replacements  # by the id of a function of Triton
        self.constexpr = constexpr


class _Rewriter(ast.NodeTransformer):
    def __init__(self, bound: dict[str, Any]) -> None:
        self._bound = bound  # names that stand for something else

    @staticmethod
    def _helper(name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(
            func=ast.Name(id=_PREFIX + name, ctx=ast.Load()), args=list(arguments), keywords=[]
        )

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self._bound:
            return ast.copy_location(ast.Name(id=_PREFIX + "of_" + node.id, ctx=node.ctx), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr in ("value", "type") and isinstance(node.ctx, ast.Load):
            name = "plain" if node.attr == "value" else "type_of"
            return ast.copy_location(self._helper(name, node.value), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = ast.copy_location(self._helper("value", node.value), node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        call = self._helper("check", node.test, node.msg or ast.Constant(value=""))
        return ast.copy_location(ast.Expr(value=call), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        result = node.values[0]
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        for value in node.values[1:]:
            result = self._helper(name, result, ast.Lambda(args=nothing, body=value))
        return ast.copy_location(result, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return ast.copy_location(self._helper("not_", node.operand), node)
        return node


def captured(function: Any) -> dict[str, Any]:
    """The variables of the functions around a kernel that it uses."""
    held = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return held


def _line_of_def(kernel: Any) -> int:
    """The line of `def` in the user's file."""
    first = kernel.starting_line_number if hasattr(kernel, "starting_line_number") else None
    lines = getattr(kernel, "raw_src", None)
    if first is None or lines is None:
        lines, first = inspect.getsourcelines(kernel.fn)
    for offset, line in enumerate(lines):
        if line.lstrip().startswith(("def ", "async def ")):
            return int(first) + offset
    return int(first)


def _codes(code: CodeType) -> list[CodeType]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [code, *(found for one in inner for found in _codes(one))]


def of(kernel: Any, language: Language) -> Callable[..., Any]:
    """The Python function for a JITFunction. It sees the globals of the kernel as they are when it runs,
    and the captured variables as they are now."""
    function = kernel.fn
    source = textwrap.dedent(kernel.src)
    tree = ast.parse(source)
    definition = next(one for one in tree.body if isinstance(one, ast.FunctionDef))
    held = captured(function)
    names = {one.id for one in ast.walk(definition) if isinstance(one, ast.Name)}
    stored = {
        one.id for one in ast.walk(definition)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    } | {one.arg for one in ast.walk(definition) if isinstance(one, ast.arg)}  # fmt: skip
    bound = {}
    for name in names - stored:
        if name in held:
            value = held[name]
        elif name in function.__globals__:
            value = function.__globals__[name]
        else:
            value = getattr(builtins, name, None)
        if isinstance(value, language.constexpr):
            bound[name] = value.value
        elif id(value) in language.replacements:
            bound[name] = language.replacements[id(value)]
    definition.decorator_list = []
    definition.returns = None
    parameters = definition.args
    for one in [*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs]:
        one.annotation = None
    parameters.defaults, parameters.kw_defaults = [], [None] * len(parameters.kwonlyargs)
    definition = _Rewriter(bound).visit(definition)
    outer = {
        **{_PREFIX + name: helper for name, helper in language.helpers.items()},
        **{_PREFIX + "of_" + name: value for name, value in bound.items()},
        **{name: value for name, value in held.items() if name not in bound},
    }
    factory = ast.FunctionDef(
        name=_PREFIX + "factory",
        args=ast.arguments(
            posonlyargs=[], args=[ast.arg(arg=name) for name in outer], kwonlyargs=[],
            kw_defaults=[], defaults=[],
        ),
        body=[definition, ast.Return(value=ast.Name(id=definition.name, ctx=ast.Load()))],
        decorator_list=[], returns=None,
    )  # fmt: skip
    if sys.version_info >= (3, 12):
        factory.type_params = []
    module = ast.fix_missing_locations(ast.Module(body=[factory], type_ignores=[]))
    ast.increment_lineno(module, _line_of_def(kernel) - definition.lineno)
    code = compile(module, function.__code__.co_filename, "exec")
    (made,) = [one for one in code.co_consts if isinstance(one, CodeType)]
    result: Any = FunctionType(made, function.__globals__)(**outer)
    defaults = function.__defaults__
    if defaults is not None:
        result.__defaults__ = tuple(
            one.value if isinstance(one, language.constexpr) else one for one in defaults
        )
    result.__kwdefaults__ = function.__kwdefaults__
    if not (function.__module__ or "").startswith("triton."):
        errors.kernel_codes.update(_codes(result.__code__))
    return result  # type: ignore[no-any-return]

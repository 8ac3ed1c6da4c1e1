"""Triton's language while a kernel runs: its functions compute at once.

Each function of `triton.language` wants a `_semantic` that says how. The changes here give it one that
computes (`arithmetic`). They are made when a launch begins and undone when it ends, because Triton's
compiler uses the same functions.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from torchport.virtual.triton_kernels import arithmetic, programs, reductions

_MISSING = object()


class _Change(NamedTuple):
    owner: Any
    name: str
    before: Any
    after: Any


class Interpreted:
    """Triton's language, made once, when the first kernel is launched."""

    def __init__(self) -> None:
        import triton.language as tl

        self.tl = tl
        self.core = core = tl.core
        self.interpreter = interpreter = importlib.import_module("triton.runtime.interpreter")
        self.jit = importlib.import_module("triton.runtime.jit")
        semantic = importlib.import_module("triton.language.semantic").TritonSemantic
        self.builder = arithmetic.builder_class(interpreter)()
        self.semantic = semantic(self.builder)
        self.combiner = reductions.Combiner(tl, interpreter, self.semantic.to_tensor)
        self._changes: list[_Change] = []
        self._extra = self._extra_modules()
        for module in dict.fromkeys([tl, core, tl.math, *self._extra]):
            self._change_functions(module)
        for one in dict.fromkeys(v for v in vars(core).values() if inspect.isclass(v)):
            self._change_methods(one)
        self._change_the_rest()
        replacements = {
            id(change.before): change.after
            for change in self._changes
            if isinstance(change.owner, types.ModuleType)
        }
        replacements[id(range)] = self.range
        replacements[id(min)] = self._minimum
        replacements[id(max)] = self._maximum
        replacements[id(print)] = self._computing(core.device_print)
        helpers: dict[str, Callable[..., Any]] = {
            "value": self.value, "and_": self._and, "or_": self._or, "not_": self._not,
            "check": self._computing(core.device_assert), "plain": self._value_of,
            "type_of": self._type_of,
        }  # fmt: skip
        self.language = programs.Language(helpers, replacements, tl.constexpr)

    @staticmethod
    def _extra_modules() -> list[types.ModuleType]:
        names = ("triton.language.extra.cuda", "triton.language.extra.cuda.libdevice",
                 "triton.language.extra.cuda.utils", "triton.language.extra.cuda.gdc")  # fmt: skip
        found = []
        for name in names:
            try:
                found.append(importlib.import_module(name))
            except ImportError:
                continue
        # triton/language/extra/__init__.py executes a package twice: there are two of some modules.
        cuda = importlib.import_module("triton.language.extra").cuda
        return [
            *found,
            cuda,
            *(vars(cuda)[one] for one in ("libdevice", "utils", "gdc") if one in vars(cuda)),
        ]

    # Making the changes.
    def _set(self, owner: Any, name: str, after: Any) -> None:
        self._changes.append(_Change(owner, name, vars(owner).get(name, _MISSING), after))

    def _computing(self, function: Any) -> Callable[..., Any]:
        semantic = self.semantic

        def computed(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("_generator", None)
            kwargs["_semantic"] = semantic
            return function(*args, **kwargs)

        computed.__name__ = getattr(function, "__name__", "computed")
        setattr(computed, self.core.TRITON_BUILTIN, True)
        return computed

    def _change_functions(self, module: types.ModuleType) -> None:
        for name, member in list(vars(module).items()):
            if inspect.isfunction(member) and self.core.is_builtin(member):
                self._set(module, name, self._computing(member))

    def _change_methods(self, owner: type) -> None:
        for name, member in list(vars(owner).items()):
            if inspect.isfunction(member) and self.core.is_builtin(member):
                self._set(owner, name, self._computing(member))
            elif owner is self.tl.tensor and isinstance(member, self.jit.JITFunction):
                self._set(owner, name, _method(member))

    def _change_the_rest(self) -> None:
        tl, core, combiner = self.tl, self.core, self.combiner
        tensor = tl.tensor
        scaled = self._computing(core.dot_scaled)

        def truth(value: Any) -> bool:
            data = value.handle.data
            if data.size != 1 and combiner.by_halves:
                raise reductions.NeedsElements
            return bool(data) if data.size == 1 else True

        def turned(value: Any) -> Any:
            rank = len(value.shape)
            return self.semantic.permute(value, (*builtins.range(rank - 2), rank - 1, rank - 2))

        self._set(tensor, "__bool__", truth)
        self._set(tensor, "__index__", lambda value: int(value.handle.data.item()))
        self._set(tensor, "__repr__", lambda value: repr(value.handle.data))
        self._set(tensor, "__str__", lambda value: str(value.handle.data))
        self._set(tensor, "T", property(turned))
        self._set(tl.dtype, "to_ir", lambda kind, builder: kind)

        def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False, **_: Any) -> Any:
            return combiner.reduce(
                input, self._plain(axis), combine_fn, bool(self._plain(keep_dims))
            )

        def associative_scan(
            input: Any, axis: Any, combine_fn: Any, reverse: Any = False, **_: Any
        ) -> Any:
            return combiner.scan(input, self._plain(axis), combine_fn, bool(self._plain(reverse)))

        def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1, **_: Any) -> Any:
            given = [self.semantic.to_tensor(one) for one in args]
            return combiner.map(scalar_fn, given, int(self._plain(pack)))

        def dot_scaled(*args: Any, **named: Any) -> Any:
            """Triton asks the formats for their `value`."""
            named.pop("_semantic", None)
            given = [tl.constexpr(one) if isinstance(one, str) else one for one in args]
            keys = {k: tl.constexpr(v) if isinstance(v, str) else v for k, v in named.items()}
            return scaled(*given, **keys)

        def static_assert(cond: Any, msg: Any = "", **_: Any) -> None:
            if not self._plain(cond):
                self._fail_at_compile_time(str(self._plain(msg)))

        def same(input: Any, values: Any, **_: Any) -> Any:
            return input

        def printed(*values: Any, _semantic: Any = None, **named: Any) -> None:
            builtins.print(*(self._plain(one) for one in values), **named)

        free = {
            "reduce": reduce, "associative_scan": associative_scan, "static_assert": static_assert,
            "map_elementwise": map_elementwise, "range": self.range, "static_range": _static_range,
            "multiple_of": same, "max_contiguous": same, "max_constancy": same,
            "static_print": printed, "dot_scaled": dot_scaled, "condition": lambda value, **_: value,
        }  # fmt: skip
        for name, function in free.items():
            for owner in (tl, core):
                if name in vars(owner):
                    self._set(owner, name, function)
        for name in ("reduce", "associative_scan"):
            if name in vars(tensor):
                self._set(tensor, name, free[name])
        self._set(tensor, "__init__", _remembering_parts(vars(tensor)["__init__"], tl.dtype))
        self._set(tl.block_type, "__init__", _remembering_types(vars(tl.block_type)["__init__"]))
        self._change_libdevice()

    def _change_libdevice(self) -> None:
        """The functions of triton.language.extra.libdevice are empty; the compiler takes those of the
        device's library."""
        common = importlib.import_module("triton.language.extra.libdevice")
        cuda = importlib.import_module("triton.language.extra.cuda.libdevice")
        for name, member in list(vars(common).items()):
            there = getattr(cuda, name, None)
            if inspect.isfunction(member) and there is not None:
                self._set(common, name, self._computing(there))

    # The state.
    def enter(self) -> None:
        for owner, name, _, after in self._changes:
            setattr(owner, name, after)

    def leave(self) -> None:
        for owner, name, before, _ in reversed(self._changes):
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

    def _fail_at_compile_time(self, message: str) -> None:
        made = importlib.import_module("triton.compiler.errors").CompileTimeAssertionFailure
        raise made(None, None, message)

    def type_of_text(self, text: str) -> Any:
        """The type that Triton's compiler writes so: "*fp32"."""
        function = self.tl.str_to_ty
        several = len(inspect.signature(function).parameters) > 1  # since Triton 3.5
        return function(text, None) if several else function(text)

    # What rewritten kernels call.
    def value(self, one: Any) -> Any:
        """What is assigned to a name: a number becomes a tensor."""
        if isinstance(one, self.tl.tensor) or one is None:
            return one
        if isinstance(one, tuple) and type(one) is tuple:
            return tuple(self.value(part) for part in one)
        return self.semantic.to_tensor(one, False)

    def range(self, *bounds: Any, **named: Any) -> Any:
        """The loop of `range` and `tl.range`: its variable is a tensor of 32 bits, or 64."""
        kinds = [one.dtype for one in bounds if isinstance(one, self.tl.tensor)]
        keys = [named[key] for key in ("arg1", "arg2", "step") if named.get(key) is not None]
        numbers = [int(self._plain(one)) for one in (*bounds, *keys)]
        wide = any(kind.primitive_bitwidth > 32 for kind in kinds) or any(
            not -(2**31) <= one < 2**31 for one in numbers
        )
        kind, stored = (self.tl.int64, np.int64) if wide else (self.tl.int32, np.int32)
        handle, tensor = self.interpreter.TensorHandle, self.tl.tensor
        for one in builtins.range(*numbers):
            yield tensor(handle(np.array([one], stored), kind), kind)

    def _plain(self, one: Any) -> Any:
        """A number that the compiler knows, without its wrapper."""
        return one.value if isinstance(one, self.tl.constexpr) else one

    def _value_of(self, one: Any) -> Any:
        """`x.value` in a kernel, whose constants are plain here."""
        return one.value if hasattr(one, "value") else one

    def _type_of(self, one: Any) -> Any:
        return one.type if hasattr(one, "type") else self.core.constexpr_type(one)

    def _is_block(self, one: Any) -> bool:
        return isinstance(one, self.tl.tensor) and one.handle.data.size > 1

    def _and(self, left: Any, right: Callable[[], Any]) -> Any:
        if self._is_block(left):
            return self.semantic.logical_and(left, self.semantic.to_tensor(right()))
        return left and right()

    def _or(self, left: Any, right: Callable[[], Any]) -> Any:
        if self._is_block(left):
            return self.semantic.logical_or(left, self.semantic.to_tensor(right()))
        return left or right()

    def _not(self, one: Any) -> Any:
        return self.semantic.not_(one) if self._is_block(one) else not one

    def _minimum(self, *values: Any, **named: Any) -> Any:
        return self._least(builtins.min, self.core.minimum, values, named)

    def _maximum(self, *values: Any, **named: Any) -> Any:
        return self._least(builtins.max, self.core.maximum, values, named)

    def _least(self, plain: Any, of_tensors: Any, values: Any, named: Any) -> Any:
        if not any(isinstance(one, self.tl.tensor) for one in values):
            return plain(*(self._plain(one) for one in values), **named)
        result = values[0]
        for one in values[1:]:
            result = of_tensors(result, one)
        return result


# Triton makes several wrappers for each tensor and its type: a third of the time that a program takes.
def _remembering_parts(make: Callable[..., None], scalar: Any) -> Callable[..., None]:
    """tensor.__init__ that takes what follows from the type from a tensor of an equal type."""

    scalars: dict[str, dict[str, Any]] = {}

    def init(self: Any, handle: Any, type: Any) -> None:
        held = type.__dict__.get("_torchport_parts")
        if held is None:
            if type.__class__ is not scalar:
                make(self, handle, type)
                return
            held = scalars.setdefault(type.name, {})
        if not held:
            make(self, handle, type)
            held.update({k: v for k, v in vars(self).items() if k not in ("handle", "type")})
            return
        own = vars(self)
        own.update(held)
        own["handle"], own["type"] = handle, type

    return init


def _remembering_types(make: Callable[..., None]) -> Callable[..., None]:
    """block_type.__init__ that copies an equal type."""
    known: dict[Any, dict[str, Any]] = {}

    def init(self: Any, element_ty: Any, shape: Any) -> None:
        space = getattr(element_ty, "address_space", None)
        key = (element_ty.name, space, *(getattr(one, "value", one) for one in shape))
        found = known.get(key)
        if found is None:
            make(self, element_ty, shape)
            self._torchport_parts = {}
            known[key] = dict(vars(self))
        else:
            vars(self).update(found)

    return init


def _method(function: Any) -> Callable[..., Any]:
    return lambda value, *args, **kwargs: function(value, *args, **kwargs)


def _static_range(arg1: Any, arg2: Any = None, step: Any = None, **_: Any) -> Any:
    bounds = (0, arg1) if arg2 is None else (arg1, arg2)
    start, stop = (int(one) for one in bounds)
    return builtins.range(start, stop, 1 if step is None else int(step))

"""Reductions and scans by a program's own function.

Triton's interpreter calls the function for each element. Here it is called on whole halves of the tensors,
as often as the logarithm of the length; a device combines in such a tree, too. A function that decides
something by an element (`if`) is called for each element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any
Tensor = Any


class NeedsElements(Exception):
    """The function asked whether a whole tensor is true."""


class Combiner:
    """Reduces and scans; made with the classes of Triton that it needs."""

    def __init__(self, tl: Any, interpreter: Any, to_tensor: Callable[[Any], Tensor]) -> None:
        self._tl = tl
        self._handle = interpreter.TensorHandle
        self._np_dtype = interpreter._get_np_dtype
        self._to_tensor = to_tensor
        self.by_halves = False  # whether the function is called on halves

    def tensor(self, data: Array, dtype: Any) -> Tensor:
        """A tensor of Triton; an array without dimensions becomes a scalar."""
        if data.shape == ():
            return self._tl.tensor(self._handle(data.reshape(1), dtype), dtype)
        shape = [int(size) for size in data.shape]
        return self._tl.tensor(self._handle(data, dtype), self._tl.block_type(dtype, shape))

    def _called(
        self, function: Any, left: list[Array], right: list[Array], types: Any
    ) -> list[Array]:
        given = [
            self.tensor(one, kind) for one, kind in zip([*left, *right], [*types] * 2, strict=True)
        ]
        result = function(*given)
        values = list(result) if isinstance(result, (tuple, self._tl.tuple)) else [result]
        made = []
        for value, kind, like in zip(values, types, left, strict=True):
            data = self._to_tensor(value).handle.data.astype(self._np_dtype(kind))
            size = like.shape or (1,)
            made.append(np.broadcast_to(data, size).reshape(like.shape))
        return made

    def _each(
        self, function: Any, left: list[Array], right: list[Array], types: Any
    ) -> list[Array]:
        results = [np.empty_like(one) for one in left]
        for index in np.ndindex(left[0].shape):
            one = self._called(
                function, [np.asarray(v[index]) for v in left], [np.asarray(v[index]) for v in right],
                types,
            )  # fmt: skip
            for result, value in zip(results, one, strict=True):
                result[index] = value
        return results

    def _combined(
        self, function: Any, left: list[Array], right: list[Array], types: Any
    ) -> list[Array]:
        before, self.by_halves = self.by_halves, True
        try:
            return self._called(function, left, right, types)
        except NeedsElements:
            self.by_halves = False
            return self._each(function, left, right, types)
        finally:
            self.by_halves = before

    def reduce(self, inputs: Any, axis: int | None, function: Any, keep_dims: bool = False) -> Any:
        """The tensors, one or a tuple, reduced along an axis; along all if it is None."""
        if not isinstance(inputs, (tuple, self._tl.tuple)):
            return self.reduce((inputs,), axis, function, keep_dims)[0]
        types = [one.dtype for one in inputs]
        rank = len(inputs[0].handle.data.shape) if inputs[0].type.is_block() else 0
        if rank == 0:
            return tuple(inputs)
        data = [one.handle.data for one in inputs]
        along = 0 if axis is None else axis % rank
        if axis is None:
            data = [one.ravel() for one in data]
        quick = self._quick(function, types)
        if quick is not None:
            data = [quick.reduce(data[0], axis=along, dtype=data[0].dtype, keepdims=True)]
        while data[0].shape[along] > 1:
            size = data[0].shape[along]
            even = [_part(one, along, 0, size - size % 2, 2) for one in data]
            odd = [_part(one, along, 1, size, 2) for one in data]
            last = [_part(one, along, size - size % 2, size, 1) for one in data]
            data = self._combined(function, even, odd, types)
            if size % 2:
                data = [
                    np.concatenate([one, more], axis=along)
                    for one, more in zip(data, last, strict=True)
                ]
        data = [np.squeeze(one, axis=along) for one in data]
        if keep_dims:
            places = tuple(range(rank)) if axis is None else along
            data = [np.expand_dims(one, places) for one in data]
        return tuple(
            self.tensor(np.ascontiguousarray(one) if one.shape else one, kind)
            for one, kind in zip(data, types, strict=True)
        )

    def _quick(self, function: Any, types: list[Any]) -> Any:
        """The function of NumPy that does the same, if there is one."""
        standard = self._tl.standard
        kind = types[0]
        if (
            len(types) != 1
            or kind.is_int1()
            or not (kind.is_int() or kind.is_fp32() or kind.is_fp64())
        ):
            return None
        floats = kind.is_floating()
        names = {
            "_sum_combine": np.add, "_xor_combine": None if floats else np.bitwise_xor,
            "_or_combine": None if floats else np.bitwise_or,
            "_elementwise_max": np.fmax if floats else np.maximum,
            "_elementwise_min": np.fmin if floats else np.minimum,
        }  # fmt: skip
        for name, found in names.items():
            if function is getattr(standard, name, None):
                return found
        return None

    def scan(self, inputs: Any, axis: int, function: Any, reverse: bool = False) -> Any:
        """The tensors, one or a tuple, scanned along an axis, its first element first."""
        if not isinstance(inputs, (tuple, self._tl.tuple)):
            return self.scan((inputs,), axis, function, reverse)[0]
        types = [one.dtype for one in inputs]
        data = [one.handle.data for one in inputs]
        if not inputs[0].type.is_block():
            return tuple(inputs)
        along = axis % data[0].ndim
        if reverse:
            data = [np.flip(one, along) for one in data]
        size, step = data[0].shape[along], 1
        quick = self._quick(function, types)
        if quick is np.add and len(data) == 1:
            data, step = [np.cumsum(data[0], axis=along, dtype=data[0].dtype)], size
        while step < size:
            # Whole tensors, because Triton's have sizes of powers of two; the first results are dropped.
            left = [np.roll(one, step, along) for one in data]
            made = self._combined(function, left, data, types)
            data = [one.copy() for one in data]
            for one, new in zip(data, made, strict=True):
                _part(one, along, step, size, 1)[...] = _part(new, along, step, size, 1)
            step *= 2
        if reverse:
            data = [np.flip(one, along) for one in data]
        return tuple(
            self.tensor(np.ascontiguousarray(one), kind)
            for one, kind in zip(data, types, strict=True)
        )

    def map(self, function: Any, inputs: list[Tensor], pack: int) -> Any:
        """A function of elements, of `pack` neighbours at a time, applied to tensors of one shape."""
        types = [one.dtype for one in inputs]
        shape = np.broadcast_shapes(*(one.handle.data.shape for one in inputs))
        data = [np.broadcast_to(one.handle.data, shape).ravel() for one in inputs]
        results: list[list[Any]] = []
        kinds: list[Any] = []
        single = False
        for at in range(0, data[0].size, pack):
            given = [
                self.tensor(np.asarray(one[at + i]), kind)
                for one, kind in zip(data, types, strict=True)
                for i in range(pack)
            ]
            result = function(*given)
            single = not isinstance(result, (tuple, self._tl.tuple))
            values = [self._to_tensor(v) for v in ([result] if single else result)]
            kinds = [value.dtype for value in values][::pack]
            rows = [
                np.concatenate([v.handle.data.ravel() for v in values[i : i + pack]])
                for i in range(0, len(values), pack)
            ]
            results.append(rows)
        made = tuple(
            self.tensor(np.concatenate([row[i] for row in results]).reshape(shape), kind)
            for i, kind in enumerate(kinds)
        )
        return made[0] if single and len(made) == 1 else made


def _part(values: Array, axis: int, start: int, stop: int, step: int) -> Array:
    index = [slice(None)] * values.ndim
    index[axis] = slice(start, stop, step)
    return values[tuple(index)]

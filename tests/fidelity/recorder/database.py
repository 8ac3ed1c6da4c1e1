"""PyTorch's own database of operators, and samples of it that are the same for every device."""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import types
import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree

from recorder.asking import NotAnswered
from recorder.registry import Question

LACKS = "torch's own database of operators needs numpy: pip install numpy"


def database() -> list[Any]:
    """The database. Its modules derive a class from one of expecttest's, and nothing here uses it.

    Raises:
        NotAnswered: A library that it needs is not installed.
    """
    if "expecttest" not in sys.modules and importlib.util.find_spec("expecttest") is None:
        stub = types.ModuleType("expecttest")
        stub.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stub
    try:
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        raise NotAnswered(f"{LACKS} ({error})") from error
    return op_db


def name_of(entry: Any) -> str:
    return entry.name + (f".{entry.variant_test_name}" if entry.variant_test_name else "")


def operators(
    asks: dict[str, Callable[[Any], Any]], **settings: Any
) -> Callable[[], Iterator[Question]]:
    """A generator of questions "OPERATOR: WORD" for each entry of the database; each answer is what
    the function of that word returns for the entry."""

    def generator() -> Iterator[Question]:
        try:
            entries = database()
        except NotAnswered as error:
            yield Question("(the database)", _refusing(str(error)))
            return
        for entry in entries:
            for word, ask in asks.items():
                name = f"{name_of(entry)}: {word}"
                yield Question(
                    name, lambda ask=ask, entry=entry: ask(entry), seconds=300, **settings
                )

    return generator


def _refusing(reason: str) -> Callable[[], None]:
    def ask() -> None:
        raise NotAnswered(reason)

    return ask


def samples_of(
    entry: Any, dtype: torch.dtype, count: int, *, requires_grad: bool = False
) -> list[Any]:
    """The first samples, made on the CPU. Empty if the database makes none of this type."""
    torch.manual_seed(0)
    random.seed(0)
    made = []
    try:
        for one in itertools.islice(
            entry.sample_inputs("cpu", dtype, requires_grad=requires_grad), count
        ):
            made.append(one)
    except Exception:
        return made
    return made


def on_device(sample: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A sample's arguments on device 0. Tensors keep their strides, and leaves stay leaves."""
    given = (sample.input, tuple(sample.args), dict(sample.kwargs))
    return pytree.tree_map(_moved, given)


def _moved(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        moved = value.detach().cuda()
        overlaps = 0 in value.stride()
        if value.layout == torch.strided and not overlaps and moved.stride() != value.stride():
            moved = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype, device="cuda"
            ).copy_(value.detach())
        return moved.requires_grad_(value.requires_grad)
    if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
        return "cuda"
    return value


def first_working(entry: Any, **settings: Any) -> Any:
    """The arguments of the first sample that works on the device, one with elements if there is one."""
    for dtype in (torch.float32, torch.int64, torch.cfloat, torch.bool):
        samples = samples_of(entry, dtype, 5, **settings)
        samples.sort(key=lambda one: not all(t.numel() for t in tensors_in(one.input)))
        for sample in samples:
            try:
                given = on_device(sample)
                entry(given[0], *given[1], **given[2])
                torch.cuda.synchronize()
            except Exception:
                continue
            return on_device(sample)
    return None


def tensors_in(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def outline(value: torch.Tensor) -> str:
    """Type, shape, strides and layout: "float32[3, 4] (4, 1)"."""
    told = f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if value.layout == torch.strided:
        told += f" {tuple(value.stride())}" + (" nested" if value.is_nested else "")
        told += " conj" if value.is_conj() else ""
        return told + (" neg" if value.is_neg() else "")
    return f"{told} {value.layout}"


def few_numbers(value: torch.Tensor, count: int = 6) -> list[Any]:
    """Some elements at equal distances, as numbers with six digits."""
    from recorder.described import numbers

    with torch.no_grad():
        value = value.detach()
        if value.layout != torch.strided:
            value = value.to_dense()
        if value.is_quantized:
            value = value.int_repr()
        flat = value.resolve_conj().resolve_neg().cpu().reshape(-1)
        if flat.numel() > count:
            places = [(flat.numel() - 1) * i // (count - 1) for i in range(count)]
            flat = flat[torch.tensor(places)]
        return [_short(one) for one in _flat(numbers(flat))]


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def refusal(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"

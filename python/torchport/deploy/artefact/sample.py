"""One call of a model: its arguments, and the tensors among them by the names of the parameters."""

from __future__ import annotations

import inspect
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from torchport.deploy.artefact.errors import ExportError


@dataclass(frozen=True)
class Sample:
    """The arguments of one call. ``names`` are the names of its tensors, in the order of
    ``tensors``. ``positional`` are the names of the parameters that get ``args``.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    names: tuple[str, ...]
    positional: tuple[str, ...] = ()

    @staticmethod
    def of(module: torch.nn.Module, inputs: Any) -> Sample:
        """Makes a sample. ``inputs`` is a tensor, a tuple or list of positional arguments, or a
        mapping of named ones.

        A mapping whose keys are not parameters of ``forward`` is passed as its only argument.
        Raises ExportError if ``forward`` does not accept the arguments or no argument is a tensor.
        """
        signature = signature_of(module)
        args: tuple[Any, ...]
        kwargs: dict[str, Any]
        if isinstance(inputs, Mapping) and _are_parameters(signature, inputs):
            args, kwargs = (), dict(inputs)
        elif isinstance(inputs, (tuple, list)) and not hasattr(inputs, "_fields"):
            args, kwargs = tuple(inputs), {}
        else:
            args, kwargs = (inputs,), {}
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ExportError(
                f"{type(module).__name__}.forward{signature} cannot be called with these inputs: {error}"
            ) from None
        # The artefact's inputs have the order of forward's parameters.
        kwargs = {name: kwargs[name] for name in bound.arguments if name in kwargs} | kwargs
        positional = _positional(signature, len(args))
        sample = Sample(args, kwargs, _names(positional, args, kwargs), positional)
        if not sample.names:
            raise ExportError("no input is a tensor; pass at least one tensor")
        for name, tensor in sample.items():
            if kind := _other_than_dense(tensor):
                raise ExportError(
                    f"the input {name} is a {kind} tensor, and an artefact takes only dense ones: let "
                    "the model make it of dense tensors"
                )
        return sample

    @property
    def tensors(self) -> list[torch.Tensor]:
        return [leaf for leaf in pytree.tree_leaves((self.args, self.kwargs)) if _is_tensor(leaf)]

    def items(self) -> list[tuple[str, torch.Tensor]]:
        return list(zip(self.names, self.tensors, strict=True))

    def map(self, change: Callable[[str, torch.Tensor], torch.Tensor]) -> Sample:
        """The same call with each tensor replaced by ``change(name, tensor)``."""
        names = iter(self.names)
        args, kwargs = pytree.tree_map(
            lambda leaf: change(next(names), leaf) if _is_tensor(leaf) else leaf,
            (self.args, self.kwargs),
        )
        return replace(self, args=args, kwargs=kwargs)

    def spread(
        self, value: Callable[[str, torch.Tensor], Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with ``value(name, tensor)`` for each tensor and None for all else."""
        names = iter(self.names)
        args, kwargs = pytree.tree_map(
            lambda leaf: value(next(names), leaf) if _is_tensor(leaf) else None,
            (self.args, self.kwargs),
        )
        return args, kwargs

    def copy(self) -> Sample:
        """The same call with copies of the tensors: a model may change its inputs in place."""
        return self.map(lambda _, tensor: tensor.clone())

    def constants(self, module: torch.nn.Module) -> dict[str, Any]:
        """The arguments of the call that are no tensors, and the defaults that it uses. An artefact
        has these values in it. A value that JSON does not have is given by the name of its type.
        """
        signature = signature_of(module)
        bound = signature.bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        found: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            value = bound.arguments[name]
            if parameter.kind is parameter.VAR_KEYWORD:
                named = list(value.items())
            else:
                named = [(name, value)]
            for key, item in named:
                for path, leaf in pytree.tree_leaves_with_path(item):
                    if not _is_tensor(leaf):
                        found["_".join([key, *map(_word, path)])] = _plain_value(leaf)
        return found

    def call(self, function: Callable[..., Any]) -> Any:
        return function(*self.args, **self.kwargs)


@dataclass(frozen=True)
class Form:
    """The form of a result: its outputs by name, and what holds them, as text. ``plain`` is that of
    `plain_result`.
    """

    names: tuple[str, ...]
    text: str
    is_tensor: bool
    plain: str = ""

    @staticmethod
    def of(result: Any) -> Form:
        return Form(
            tuple(named_outputs(result)[0]),
            _form(result),
            _is_tensor(result),
            _form(plain_result(result)),
        )


def plain_result(value: Any) -> Any:
    """The value with tuples, lists and dicts in place of named tuples, dataclasses and other classes
    that torch's pytree knows. The order of its leaves is the same."""
    if _is_tensor(value) or value is None:
        return value
    if type(value) in (dict, OrderedDict):
        return {key: plain_result(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [plain_result(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    known = pytree.SUPPORTED_NODES.get(type(value))
    if known is None:
        return value
    if known.flatten_with_keys_fn is None:
        return tuple(plain_result(item) for item in known.flatten_fn(value)[0])
    children, _ = known.flatten_with_keys_fn(value)
    return {_word(key): plain_result(item) for key, item in children}


def _form(value: Any) -> str:
    """The form of a result of ``forward``: tensor, tuple(tensor, None), dict(logits: tensor)."""
    if _is_tensor(value) or value is None:
        return "None" if value is None else "tensor"
    kind = type(value).__name__
    if isinstance(value, Mapping):
        return f"{kind}({', '.join(f'{key}: {_form(item)}' for key, item in value.items())})"
    plain = plain_result(value)
    if isinstance(plain, dict):
        return f"{kind}({', '.join(f'{key}: {_form(item)}' for key, item in plain.items())})"
    if isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", None)
        parts = [_form(item) for item in value]
        if names:
            parts = [f"{name}: {part}" for name, part in zip(names, parts, strict=True)]
        return f"{kind}({', '.join(parts)})"
    return kind


def named_outputs(result: Any) -> tuple[list[str], list[torch.Tensor]]:
    """The names and tensors of a result of ``forward``. Names are the keys of a mapping, otherwise
    output, output_1, ...

    Raises ExportError if the result has a value that an artefact cannot return.
    """
    names, tensors = [], []
    for path, leaf in pytree.tree_leaves_with_path(result):
        if leaf is None:
            continue
        if not _is_tensor(leaf):
            raise ExportError(
                f"the model returns a {type(leaf).__name__} at {pytree.keystr(path) or 'the top'}, "
                "not a tensor: an artefact can return only tensors. Wrap the model in a module "
                "that returns the tensors you need"
                + (" (here: use_cache=False)" if "Cache" in type(leaf).__name__ else "")
            )
        if kind := _other_than_dense(leaf):
            raise ExportError(
                f"the model returns a {kind} tensor at {pytree.keystr(path) or 'the top'}: an artefact "
                "can return only dense tensors. Wrap the model in a module that returns dense ones "
                "(to_dense(), dequantize(), to_padded_tensor(0))"
            )
        words = [_word(key) for key in path]
        if not words or words[0].isdigit():
            words = ["output", *([] if words in ([], ["0"]) else words)]
        names.append("_".join(words))
        tensors.append(leaf)
    if not tensors:
        raise ExportError("the model returns no tensor, and an artefact can return only tensors")
    return names, tensors


def signature_of(module: torch.nn.Module) -> inspect.Signature:
    """The parameters of ``forward``, also of compiled TorchScript, which Python cannot inspect."""
    if not isinstance(module, torch.jit.ScriptModule):
        return inspect.signature(module.forward)
    parameters = []
    forward: Any = module.forward
    for argument in forward.schema.arguments[1:]:
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if argument.kwarg_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        default = argument.default_value if argument.has_default_value() else inspect._empty
        parameters.append(inspect.Parameter(argument.name, kind, default=default))
    return inspect.Signature(parameters)


def _plain_value(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value)
    return type(value).__name__


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor)


def _other_than_dense(tensor: torch.Tensor) -> str:
    """The kind of a tensor whose elements are not all in memory as they are; "" for others."""
    if tensor.is_nested:
        return "nested"
    if tensor.is_quantized:
        return "quantized"
    return "" if tensor.layout == torch.strided else str(tensor.layout).removeprefix("torch.")


def _are_parameters(signature: inspect.Signature, inputs: Mapping[Any, Any]) -> bool:
    kinds = signature.parameters.values()
    return all(isinstance(key, str) for key in inputs) and (
        all(key in signature.parameters for key in inputs)
        or any(parameter.kind is parameter.VAR_KEYWORD for parameter in kinds)
    )


def _word(key: Any) -> str:
    """The name of one step of a pytree path, such as "0" or "logits"."""
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key).strip("[].'\"")


def _positional(signature: inspect.Signature, count: int) -> tuple[str, ...]:
    names: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{index}" for index in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return tuple(names[:count])


def _names(
    positional: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[str, ...]:
    return tuple(
        "_".join([name, *map(_word, path)])
        for name, value in [*zip(positional, args, strict=True), *kwargs.items()]
        for path, leaf in pytree.tree_leaves_with_path(value)
        if _is_tensor(leaf)
    )

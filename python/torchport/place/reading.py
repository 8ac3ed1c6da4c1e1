"""Reads checkpoints and finds the state dict in them. No code of a file is run."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from torchport._files import open_to_read
from torchport._native.checkpoints import FileSummary, LoadReport, load_tensors, summarize
from torchport.place import distributed_checkpoints
from torchport.place.moving import to
from torchport.place.unpickling import allowed_beside

_LOG = logging.getLogger("torchport")
_INDEX = ".index.json"
_ARCHIVES = ("TorchScript", "torch.export")  # programs; only their weights are loaded
_DEEPEST = 3  # how many names a key of a state dict has at most, when one is looked for

Named = list[tuple[str, torch.Tensor]]


class CheckpointError(RuntimeError):
    """A checkpoint cannot be loaded or does not fit the module.

    Attributes:
        report: The names that do not fit; None if the file cannot be read at all.
    """

    def __init__(self, message: str, report: LoadReport | None = None) -> None:
        super().__init__(message)
        self.report = report


@dataclass
class StateDict:
    """A state dict of a file. ``others`` are its values that are no tensors, such as those of
    quantized modules; ``versions`` are those of its modules, as ``state_dict()`` adds them; ``key``
    is its name in the file."""

    key: str
    tensors: Named
    others: dict[str, Any] = field(default_factory=dict)
    versions: Mapping[str, Any] | None = None


def load_object(path: str, device: torch.device, mmap: bool, key: str | None) -> Any:
    """The saved object, or what it has under ``key``."""
    with _file_errors(path):
        return _chosen(_load_object(path, device, mmap), key, path)


def state_dict_of(
    path: str,
    device: torch.device,
    key: str | None,
    mmap: bool,
    report: Callable[[Named], LoadReport],
) -> StateDict:
    """The state dict that is meant: the one under ``key``, else the only one, else the only one whose
    ``report`` is complete. Raises CheckpointError if the choice is not clear.
    """
    with _file_errors(path):
        found = _torch_summary(path)
        if found is not None and _needs_own_reader(found, path):
            _LOG.warning(
                "%s: only its tensors are read, and no objects of %s", path, _few(found.refused)
            )
            return _of_names(
                load_tensors(path, torch.device("cpu"), map=mmap)[1], key, path, report
            )
        state = _load_object(path, device, mmap)
    if key is not None:
        choices = list(_state_dicts(_chosen(state, key, path), key))
        if choices and choices[0].key == key:
            return choices[0]
        raise CheckpointError(f'torchport: {path} has no tensors under "{key}"{_has(choices)}')
    if isinstance(state, torch.nn.Module):
        state = state.state_dict()
    if not isinstance(state, Mapping):
        raise CheckpointError(f"torchport: {path} holds a {type(state).__name__}, not a state dict")
    return _best(list(_state_dicts(state, "")), path, report)


# --- Files -------------------------------------------------------------------------------------------


class _file_errors:
    """Turns errors of reading a file into CheckpointErrors that name it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OSError):
            raise CheckpointError(f"torchport: {self._path}: {error.strerror or error}") from error
        if isinstance(error, RuntimeError) and not isinstance(
            error, (CheckpointError, torch.OutOfMemoryError)
        ):
            raise CheckpointError(str(error)) from None


def _is_safetensors(path: str) -> bool:
    if os.path.isdir(path):
        return not distributed_checkpoints.is_one(path)
    if path.endswith(_INDEX):
        return True
    with open_to_read(path) as file:
        head = file.read(9)
    return len(head) == 9 and head[8:] == b"{" and head[:2] != b"PK"


def _is_distributed(path: str) -> bool:
    return os.path.isdir(path) and distributed_checkpoints.is_one(path)


def _torch_summary(path: str) -> FileSummary | None:
    return None if _is_distributed(path) or _is_safetensors(path) else summarize(path)


def _needs_own_reader(found: FileSummary, path: str) -> bool:
    """Whether a file has objects that are not unpickled, beside tensors that can be read."""
    return bool(found.refused) and not found.fault and allowed_beside(found.refused) is None


def _load_object(path: str, device: torch.device, mmap: bool) -> Any:
    if _is_distributed(path):
        return to(distributed_checkpoints.load(path), device)
    if _is_safetensors(path):
        return dict(load_tensors(path, device, map=mmap)[1])
    return _torch_load(path, device, mmap)


def _torch_load(path: str, device: torch.device, mmap: bool) -> Any:
    found = summarize(path)
    allowed = allowed_beside(found.refused) if found.refused else nullcontext()
    if allowed is None:
        raise CheckpointError(f"torchport: {path} {_refusal(found)}")
    if found.fault:
        raise CheckpointError(f"torchport: {path} {found.fault}")
    if found.format in _ARCHIVES:
        return dict(load_tensors(path, device, map=mmap)[1])
    mmap = mmap and found.mappable and found.format == "torch.save"
    try:
        with allowed:
            return torch.load(path, map_location=device, weights_only=True, mmap=mmap)
    except torch.OutOfMemoryError:
        raise
    except (pickle.UnpicklingError, EOFError, LookupError, TypeError, ValueError, AttributeError,
            ImportError, RuntimeError, MemoryError) as error:  # fmt: skip
        words = str(error).splitlines() or [type(error).__name__]
        raise CheckpointError(f"torchport: {path} cannot be loaded: {words[0]}") from None


def _refusal(found: FileSummary) -> str:
    asked = (
        f"asks for {_few(found.refused)}, which a file of weights does not need; nothing in it was "
        "run. `torchport inspect` shows what the file holds, and `torchport inspect FILE --extract "
        "weights.safetensors` writes its tensors and runs nothing"
    )
    if found.fault:
        return f"{asked}; {found.fault}"
    return (
        f"{asked}, as into=... reads only them. If you made it yourself, save the state_dict() "
        "instead of the object, or pass its classes to torch.serialization.add_safe_globals()"
    )


def _few(names: Sequence[str], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# --- The state dict ----------------------------------------------------------------------------------


def _chosen(value: Any, key: str | None, path: str) -> Any:
    for part in key.split(".") if key else ():
        if not isinstance(value, Mapping) or part not in value:
            has = (
                f"it has {', '.join(map(str, value))}"
                if isinstance(value, Mapping)
                else "it is not a dict"
            )
            raise CheckpointError(f'torchport: {path} has no "{key}"; {has}')
        value = value[part]
    return value


def _state_dicts(value: Any, key: str, depth: int = 0) -> Iterator[StateDict]:
    """The state dicts in a value: mappings with tensors."""
    if isinstance(value, torch.nn.Module):
        value = value.state_dict()
    if not isinstance(value, Mapping):
        return
    tensors = [(str(n), item) for n, item in value.items() if isinstance(item, torch.Tensor)]
    if tensors:
        others = {str(n): v for n, v in value.items() if not isinstance(v, torch.Tensor)}
        yield StateDict(key, tensors, others, getattr(value, "_metadata", None))
    if depth < _DEEPEST:
        for name, item in value.items():
            if isinstance(name, str):
                yield from _state_dicts(item, f"{key}.{name}" if key else name, depth + 1)


def _of_names(
    tensors: Named, key: str | None, path: str, report: Callable[[Named], LoadReport]
) -> StateDict:
    """The state dict among tensors that are only known by their whole names."""
    if key is not None:
        inner = _under(tensors, key)
        if not inner:
            raise CheckpointError(f'torchport: {path} has no tensors under "{key}"')
        return StateDict(key, inner)
    prefixes = dict.fromkeys(
        ".".join(name.split(".")[:count])
        for count in range(1, _DEEPEST)
        for name, _ in tensors
        if name.count(".") >= count
    )
    choices = [StateDict("", tensors)] if tensors else []
    choices += [StateDict(prefix, _under(tensors, prefix)) for prefix in prefixes]
    return _best(choices, path, report)


def _under(tensors: Named, key: str) -> Named:
    return [(n.removeprefix(f"{key}."), item) for n, item in tensors if n.startswith(f"{key}.")]


def _best(choices: list[StateDict], path: str, report: Callable[[Named], LoadReport]) -> StateDict:
    if not choices:
        raise CheckpointError(f"torchport: {path} has no tensors at its top level")
    if len(choices) == 1:
        return choices[0]
    reports = [report(choice.tensors) for choice in choices]
    complete = [one for one, told in zip(choices, reports, strict=True) if told.complete]
    if complete and not complete[0].key:
        return complete[0]
    if len(complete) == 1:
        others = [choice.key for choice in choices if choice.key and choice is not complete[0]]
        if others:
            words = '%s: took "%s", which fits; it also has tensors in %s'
            _LOG.warning(words, path, complete[0].key, _few(others))
        return complete[0]
    if complete:
        raise CheckpointError(f"torchport: {path} has several state dicts that fit{_has(complete)}")
    matched = [
        len(choice.tensors) - len(told.unexpected)
        for choice, told in zip(choices, reports, strict=True)
    ]
    most = max(matched)
    if most > 0 and matched.count(most) == 1:
        return choices[matched.index(most)]
    if not choices[0].key and not most:
        return choices[0]
    raise CheckpointError(f"torchport: {path} has several state dicts{_has(choices)}")


def _has(choices: Sequence[StateDict]) -> str:
    names = [repr(choice.key) for choice in choices if choice.key]
    if not names:
        return ""
    return f"; it has {_few(names, 10)}: choose one, for example key={names[0]}"

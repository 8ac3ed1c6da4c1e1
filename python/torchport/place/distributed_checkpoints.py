"""Loads checkpoints of torch.distributed.checkpoint without running code in them.

torch's own reader loads the folder's `.metadata` with `pickle.load` and objects with
`torch.load(weights_only=False)`, and both can run code. This module accepts only the classes of
such metadata, reads objects with `weights_only=True`, and refuses files outside the folder.
"""

from __future__ import annotations

import os
import pickle
from pathlib import Path, PurePosixPath
from typing import Any

import torch

from torchport._files import open_to_read

METADATA = ".metadata"

# The classes that torch 2.12 and 2.13 write (torch/distributed/checkpoint/metadata.py,
# filesystem.py).
_METADATA = {
    "torch.distributed.checkpoint.metadata": {
        "BytesStorageMetadata",
        "ChunkStorageMetadata",
        "Metadata",
        "MetadataIndex",
        "StorageMeta",
        "TensorProperties",
        "TensorStorageMetadata",
        "_MEM_FORMAT_ENCODING",
    },
    "torch.distributed.checkpoint.filesystem": {"_StorageInfo", "_StoragePrefix"},
    "torch.serialization": {"_get_layout"},
    "torch": {"Size"},
    "collections": {"OrderedDict"},
    "builtins": {"set", "frozenset", "dict", "list"},
    "pathlib": {"Path", "PosixPath", "PurePosixPath"},
    "pathlib._local": {"Path", "PosixPath", "PurePosixPath"},  # Python 3.13
}


class _SafeUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        dtype = getattr(torch, name, None) if module == "torch" else None
        if name in _METADATA.get(module, ()) or isinstance(dtype, torch.dtype):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def is_one(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, METADATA))


def read_metadata(folder: str) -> Any:
    """Reads the folder's metadata. RuntimeError if it is damaged or asks for another class."""
    path = os.path.join(folder, METADATA)
    with open_to_read(path) as file:
        try:
            metadata = _SafeUnpickler(file).load()
        except pickle.UnpicklingError as error:
            raise RuntimeError(
                f"torchport: {path} asks for {error}, which the metadata of a checkpoint does "
                "not need; nothing in it was run. `torchport inspect` shows what the folder holds"
            ) from None
        except (EOFError, IndexError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise RuntimeError(f"torchport: {path} is damaged: {error}") from None
    if not hasattr(metadata, "state_dict_metadata") or not isinstance(metadata.storage_data, dict):
        raise RuntimeError(f"torchport: {path} is not metadata of torch.distributed.checkpoint")
    for info in metadata.storage_data.values():
        name = PurePosixPath(str(info.relative_path))
        if name.is_absolute() or ".." in name.parts:
            raise RuntimeError(
                f"torchport: {path} names the file {name}, which is outside its folder"
            )
    return metadata


def _reader(folder: str) -> Any:
    from torch.distributed.checkpoint.filesystem import FileSystemReader
    from torch.distributed.checkpoint.metadata import StorageMeta

    class Reader(FileSystemReader):
        def read_metadata(self, *args: Any, **kwargs: Any) -> Any:
            metadata = read_metadata(folder)
            if getattr(metadata, "storage_meta", None) is None:
                metadata.storage_meta = StorageMeta()
            metadata.storage_meta.load_id = self.load_id
            return metadata

    return Reader(folder)


def _planner() -> Any:
    from torch.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner

    class Planner(_EmptyStateDictLoadPlanner):
        def load_bytes(self, read_item: Any, value: Any) -> None:
            from torch.distributed.checkpoint._traverse import set_element

            loaded = torch.load(value, weights_only=True)
            name = read_item.dest_index.fqn
            if self.flatten_state_dict:
                set_element(self.original_state_dict, self.mappings[name], loaded)
            else:
                self.state_dict[name] = loaded

    return Planner()  # type: ignore[no-untyped-call]  # torch has not annotated it


def load(folder: str) -> dict[str, Any]:
    """Loads the whole state dict in this process on the CPU. RuntimeError if it cannot be read."""
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.state_dict_loader import _load_state_dict

    read_metadata(folder)  # reports a damaged file clearly; torch would look for other files first
    state: dict[str, Any] = {}
    try:
        _load_state_dict(state, storage_reader=_reader(folder), planner=_planner(), no_dist=True)
    except CheckpointException as error:  # a BaseException that holds the error of each process
        cause = _innermost(error)
        if isinstance(cause, pickle.UnpicklingError):
            raise RuntimeError(
                f"torchport: an object in {folder} asks for more than weights; nothing in it was "
                f"run: {_first_sentence(cause)}"
            ) from None
        raise RuntimeError(
            f"torchport: {folder} cannot be loaded: {_first_sentence(cause)}"
        ) from None
    return state


def _first_sentence(error: BaseException) -> str:
    """The important line of an error: torch's message about a refused global has many lines, and
    one of them names the global."""
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line.strip() for line in lines if "GLOBAL" in line), lines[0])


def _innermost(error: BaseException) -> BaseException:
    from torch.distributed.checkpoint.api import CheckpointException

    while isinstance(error, CheckpointException) and error.failures:
        error = next(iter(error.failures.values()))[0]
    return error


def save(state: dict[str, Any], folder: str) -> None:
    """Each process of the group writes its own part. Without a group, this process writes all."""
    import torch.distributed as dist
    from torch.distributed.checkpoint.filesystem import FileSystemWriter
    from torch.distributed.checkpoint.state_dict_saver import save as save_all

    alone = not (dist.is_available() and dist.is_initialized())
    Path(folder).mkdir(parents=True, exist_ok=True)
    save_all(state, storage_writer=FileSystemWriter(folder), no_dist=alone)

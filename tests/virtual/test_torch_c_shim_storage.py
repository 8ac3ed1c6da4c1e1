"""Storages, files, sharing between processes, CUDA graphs."""

from __future__ import annotations

from pathlib import Path


def test_storages_files_and_array_interfaces(run_virtual) -> None:
    run_virtual(Path("shim_storage.py"))


def test_tensors_in_several_processes(run_virtual) -> None:
    run_virtual(Path("shim_sharing.py"))


def test_cuda_graphs(run_virtual) -> None:
    run_virtual(Path("shim_graphs.py"))

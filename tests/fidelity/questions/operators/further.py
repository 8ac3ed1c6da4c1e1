"""Samples of PyTorch's own database that `samples.py` does not ask: other types, and later ones."""

import itertools
import random
import zlib

import torch
from recorder.database import operators, samples_of
from recorder.outputs import output_of
from recorder.registry import generated

COUNTS = {torch.bfloat16: 2, torch.float64: 2, torch.int32: 2, torch.uint8: 1, torch.bool: 1,
          torch.cdouble: 1, torch.int16: 1}  # fmt: skip
AFTER, AT_MOST, LATER = 8, 200, 6


def outputs(entry):
    told = {}
    for dtype, count in COUNTS.items():
        for index, sample in enumerate(samples_of(entry, dtype, count)):
            told[f"{str(dtype).removeprefix('torch.')} {index}"] = output_of(entry, sample)
    for index, sample in later(entry):
        told[f"float32 {index}"] = output_of(entry, sample)
    return told


def later(entry):
    """Some of the float32 samples after the eighth, chosen by the operator's name."""
    torch.manual_seed(0)
    random.seed(0)
    made = []
    try:
        for one in itertools.islice(entry.sample_inputs("cpu", torch.float32), AT_MOST):
            made.append(one)
    except Exception:
        return []
    places = range(AFTER, len(made))
    start = zlib.crc32(entry.name.encode())
    chosen = {places[(start + 7919 * i) % len(places)] for i in range(LATER)} if places else ()
    return [(index, made[index]) for index in sorted(chosen)]


generated(operators({"further": outputs}, tolerance=2e-3))

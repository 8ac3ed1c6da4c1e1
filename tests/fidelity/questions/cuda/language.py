"""What the CUDA language does on this device: warps, numbers, fragments, groups, atomics."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _programs import program

HEAVY = True

NAMES = """
shuffles votes groups atomics fragments products matrix_moves integers half_functions small_floats
double_functions random_numbers textures printing heap
"""
for name in NAMES.split():
    program(name)
program("printing", arguments=["missing", "null_string", "null_format"])

program("float_functions")
program("float_functions", flags=["-use_fast_math"])
for flags in ([], ["-fmad=false"], ["-ftz=true"], ["-prec-div=false", "-prec-sqrt=false"]):
    program("contraction", flags=flags)

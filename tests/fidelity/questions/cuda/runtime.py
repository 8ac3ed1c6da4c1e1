"""What the CUDA runtime says: of the device, of good and bad calls, and after faults of kernels."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from _programs import program

HEAVY = True

NAMES = "device_facts launches occupancy copies pools graphs_and_streams driver_calls"
FAULTS = """
none write_null write_far write_host misaligned misaligned_vector misaligned_shared
misaligned_atomic shared_far shared_near shared_2048 assert trap breakpoint exit divide_by_zero
stack stack_enough stack_larger write_constant after_free
"""
for name in NAMES.split():
    program(name)

program("faults", arguments=FAULTS.split())

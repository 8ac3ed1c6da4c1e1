"""What of the gate a change can affect; `.ci/affected.py` prints it."""

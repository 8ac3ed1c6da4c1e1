"""Placement: chooses the device, moves tensors and modules to it, loads and saves checkpoints."""

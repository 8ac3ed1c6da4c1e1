"""Virtual devices: CUDA programs on a machine without CUDA."""

from __future__ import annotations

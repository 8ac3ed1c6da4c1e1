"""Fixes of the packages are those for the oldest torch, whatever is installed beside the tests."""

from __future__ import annotations

import os

os.environ["VIRTUAL_ENV"] = "/no/torch/here"

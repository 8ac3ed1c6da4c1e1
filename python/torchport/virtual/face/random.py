"""Random numbers."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def bindings(torch: ModuleType) -> dict[str, Any]:
    return {}

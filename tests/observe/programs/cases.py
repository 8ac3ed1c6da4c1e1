"""Cases of a program: each is run, and what it gives is printed as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from torchport.observe.result import Verification

CASES: dict[str, Callable[[], Any]] = {}


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def run_all() -> None:
    for name, function in CASES.items():
        try:
            given = function()
        except Exception as error:
            given = {"raised": type(error).__name__, "message": str(error)}
        if isinstance(given, Verification):
            given = given.to_dict()
        print(json.dumps({"case": name, **given}), flush=True)

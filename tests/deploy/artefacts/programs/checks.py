"""@check: functions that run_checks() runs in turn, each telling that it passed."""

from __future__ import annotations

import os
import sys
import traceback

_checks = []


def check(function):
    _checks.append(function)
    return function


def raises(kind, *fragments):
    """with raises(ExportError, "what it says"): ..."""
    return _Raises(kind, fragments)


class _Raises:
    def __init__(self, kind, fragments):
        self.kind, self.fragments = kind, fragments

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        assert kind is not None, f"no {self.kind.__name__} was raised"
        if not issubclass(kind, self.kind):
            return False
        self.error = error
        for fragment in self.fragments:
            assert fragment in str(error), f"{fragment!r} is not in: {error}"
        return True


def run_checks() -> None:
    for function in _checks:
        try:
            function()
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        print(f"passed: {function.__name__}", flush=True)

"""What the programs share: checks that run one after another in one process."""

from __future__ import annotations

import traceback
from collections.abc import Callable

_checks: list[Callable[[], None]] = []


def check(function: Callable[[], None]) -> Callable[[], None]:
    _checks.append(function)
    return function


def run_checks() -> None:
    """Runs all; each failure is printed, and the exit code is their number."""
    failures = 0
    for function in _checks:
        try:
            function()
        except Exception:
            failures += 1
            print(f"failed: {function.__name__}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"passed: {function.__name__}\n", end="", flush=True)
    raise SystemExit(min(failures, 100))


def raises(kind: type[BaseException], *texts: str) -> _Raises:
    return _Raises(kind, texts)


class _Raises:
    """`with raises(TypeError, "part of the message"):`"""

    def __init__(self, kind: type[BaseException], texts: tuple[str, ...]) -> None:
        self.kind, self.texts = kind, texts

    def __enter__(self) -> None: ...

    def __exit__(self, kind, error, trace) -> bool:  # type: ignore[no-untyped-def]
        assert error is not None, f"no {self.kind.__name__}"
        if not isinstance(error, self.kind):
            return False
        for text in self.texts:
            assert text in str(error), f"{text!r} is not in: {error}"
        return True


def error_of(kind: type[BaseException], function: Callable, *args: object, **kwargs: object) -> str:
    """What the call says when it fails, as it has to."""
    try:
        function(*args, **kwargs)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")

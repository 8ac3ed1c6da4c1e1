"""What programs check themselves with."""

from collections.abc import Callable


def raises(kind: type[BaseException], text: str, call: Callable[[], object]) -> None:
    """The call raises an error of this kind, with this text in it."""
    try:
        call()
    except kind as error:
        assert text in str(error), f"{text!r} is not in: {error}"
    else:
        raise AssertionError(f"nothing was raised; expected {kind.__name__}: {text}")

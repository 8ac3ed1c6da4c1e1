"""The settings of TunableOp. Virtual devices have nothing to tune, so there are no results."""

from __future__ import annotations

from types import ModuleType
from typing import Any

KINDS = ("cuda",)

# The defaults of aten/src/ATen/cuda/tunable/Tunable.h.
DEFAULTS: dict[str, Any] = {
    "enable": False,
    "tuning_enable": True,
    "record_untuned_enable": False,
    "max_tuning_duration": 30,
    "max_tuning_iterations": 100,
    "filename": "",
    "rotating_buffer_size": 0,
    "tolerances": (False, 1e-5, 1e-5),
}


# As torch/csrc/cuda/Module.cpp names the types of Python.
_NAMES = {bool: "a bool", int: "an int", str: "a string"}


def _check(function: str, kind: type, value: Any) -> None:
    # What counts as an int there is no bool.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RuntimeError(f"{function} expects {_NAMES[kind]}, but got {type(value).__name__}")


def bindings(torch: ModuleType) -> dict[str, Any]:
    kept = dict(DEFAULTS)

    def setter(name: str, of: str, kind: type) -> Any:
        def set_value(value: Any) -> None:
            _check(f"cuda_{of}", kind, value)
            kept[name] = value

        return set_value

    def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
        _check("cuda_tunableop_set_filename", str, filename)
        _check("cuda_tunableop_set_filename", bool, insert_device_ordinal)
        if insert_device_ordinal:
            stem, dot, ending = filename.rpartition(".")
            index = torch.cuda.current_device()
            filename = f"{stem}{index}{dot}{ending}" if dot else f"{filename}{index}"
        kept["filename"] = filename

    def validators() -> tuple[tuple[str, str], ...]:
        return (("PT_VERSION", torch.__version__.split("+")[0]),)

    def read_file(filename: str | None) -> bool:
        """Returns whether the file of results can be read. The results are not used."""
        if filename is not None:
            _check("cuda_tunableop_read_file", str, filename)
        try:
            with open(filename or kept["filename"]):
                return True
        except OSError:
            return False

    return {
        "_cuda_tunableop_enable": setter("enable", "tunableop_enable", bool),
        "_cuda_tunableop_is_enabled": lambda: kept["enable"],
        "_cuda_tunableop_tuning_enable": setter("tuning_enable", "tunableop_tuning_enable", bool),
        "_cuda_tunableop_tuning_is_enabled": lambda: kept["tuning_enable"],
        "_cuda_record_untuned_enable": setter(
            "record_untuned_enable", "record_untuned_enable", bool
        ),
        "_cuda_record_untuned_is_enabled": lambda: kept["record_untuned_enable"],
        "_cuda_tunableop_set_max_tuning_duration": setter(
            "max_tuning_duration", "tunableop_set_max_tuning_duration", int
        ),
        "_cuda_tunableop_get_max_tuning_duration": lambda: kept["max_tuning_duration"],
        "_cuda_tunableop_set_max_tuning_iterations": setter(
            "max_tuning_iterations", "tunableop_set_max_tuning_iterations", int
        ),
        "_cuda_tunableop_get_max_tuning_iterations": lambda: kept["max_tuning_iterations"],
        "_cuda_tunableop_set_filename": set_filename,
        "_cuda_tunableop_get_filename": lambda: kept["filename"],
        "_cuda_tunableop_get_results": tuple,
        "_cuda_tunableop_get_validators": validators,
        "_cuda_tunableop_read_file": read_file,
        "_cuda_tunableop_set_rotating_buffer_size": setter(
            "rotating_buffer_size", "tunableop_set_rotating_buffer_size", int
        ),
        "_cuda_tunableop_get_rotating_buffer_size": lambda: kept["rotating_buffer_size"],
        "_cuda_tunableop_set_numerical_check_tolerances": lambda *values: kept.update(
            tolerances=values
        ),
    }

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


def bindings(torch: ModuleType) -> dict[str, Any]:
    kept = dict(DEFAULTS)

    def setter(name: str) -> Any:
        return lambda value: kept.update({name: value})

    def set_filename(filename: str, insert_device_ordinal: bool = False) -> None:
        if insert_device_ordinal:
            stem, dot, ending = filename.rpartition(".")
            index = torch.cuda.current_device()
            filename = f"{stem}{index}{dot}{ending}" if dot else f"{filename}{index}"
        kept["filename"] = filename

    def validators() -> tuple[tuple[str, str], ...]:
        return (("PT_VERSION", torch.__version__.split("+")[0]),)

    def read_file(filename: str | None) -> bool:
        """Returns whether the file of results can be read. The results are not used."""
        try:
            with open(filename or kept["filename"]):
                return True
        except OSError:
            return False

    return {
        "_cuda_tunableop_enable": setter("enable"),
        "_cuda_tunableop_is_enabled": lambda: kept["enable"],
        "_cuda_tunableop_tuning_enable": setter("tuning_enable"),
        "_cuda_tunableop_tuning_is_enabled": lambda: kept["tuning_enable"],
        "_cuda_record_untuned_enable": setter("record_untuned_enable"),
        "_cuda_record_untuned_is_enabled": lambda: kept["record_untuned_enable"],
        "_cuda_tunableop_set_max_tuning_duration": setter("max_tuning_duration"),
        "_cuda_tunableop_get_max_tuning_duration": lambda: kept["max_tuning_duration"],
        "_cuda_tunableop_set_max_tuning_iterations": setter("max_tuning_iterations"),
        "_cuda_tunableop_get_max_tuning_iterations": lambda: kept["max_tuning_iterations"],
        "_cuda_tunableop_set_filename": set_filename,
        "_cuda_tunableop_get_filename": lambda: kept["filename"],
        "_cuda_tunableop_get_results": tuple,
        "_cuda_tunableop_get_validators": validators,
        "_cuda_tunableop_read_file": read_file,
        "_cuda_tunableop_set_rotating_buffer_size": setter("rotating_buffer_size"),
        "_cuda_tunableop_get_rotating_buffer_size": lambda: kept["rotating_buffer_size"],
        "_cuda_tunableop_set_numerical_check_tolerances": lambda *values: kept.update(
            tolerances=values
        ),
    }
